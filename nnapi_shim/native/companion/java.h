/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in for Java. An object is a block of memory with a count of references, and a reference,
 * local or global, is its address. An environment belongs to a thread and knows the thread's local
 * references, so that a frame of them can go at once.
 */
#ifndef NNAPI_SHIM_JAVA_H
#define NNAPI_SHIM_JAVA_H

#include <jni.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* JNI's functions get an environment, which most of them have no use for. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum java_kind {
  JAVA_PLAIN,
  JAVA_CLASS,
  JAVA_STRING,
  JAVA_PRIMITIVE_ARRAY,
  JAVA_OBJECT_ARRAY,
  JAVA_BUFFER,
  JAVA_THROWABLE,
  JAVA_ASSET_MANAGER
};

struct java_object {
  /* The first word of every object, and of nothing else. */
  uint64_t mark;
  atomic_size_t references;
  enum java_kind kind;
  /* A class; NULL only in classes. */
  struct java_object* type;
  /* Number of elements; of a string, of UTF-16 units; of a buffer, of bytes. */
  int64_t length;
  /*
   * By kind: the name, the units, the elements, the references, the buffer's address, the message
   * or NULL, the AAssetManager. All but the last and the buffer's belong to the object.
   */
  void* content;
};

struct java_env {
  /* What a JNIEnv* points to. */
  JNIEnv functions;
  /* The thread's local references; NULL where a frame begins. */
  struct java_object** locals;
  size_t local_count;
  size_t local_capacity;
  /* The exception that is pending, or NULL. */
  struct java_object* thrown;
};

/* Ends the program with a line: what JNI function does, or gets, that cannot be. */
_Noreturn void java_abort(const char* function, const char* what, ...)
    __attribute__((format(printf, 2, 3)));

/* The object that a reference is, of this kind; ends the program if it is something else. */
struct java_object* java_expect(jobject reference, enum java_kind kind, const char* function);

/* The object that a reference is; ends the program if it is none. */
struct java_object* java_expect_any(jobject reference, const char* function);

/*
 * Makes an object with one reference, which is local. content, or NULL, comes from malloc() and is
 * taken over.
 */
struct java_object* java_new(
    JNIEnv* env, enum java_kind kind, struct java_object* type, int64_t length, void* content);

/* The class of a name; it lives for ever. */
struct java_object* java_class(const char* name);

/* Memory for elements, zeros; ends the program where there is none. */
void* java_allocate(size_t count, size_t size);

/* Adds a local reference to an object that may be NULL. */
jobject java_local(JNIEnv* env, struct java_object* object);

/* Adds a reference, and gives one up; NULL is ignored. */
struct java_object* java_acquire(struct java_object* object);
void java_release(struct java_object* object);

/* Makes an exception pending. */
void java_throw(JNIEnv* env, const char* class_name, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

/* The table of functions, whose entries all end the program before others are put there. */
extern const struct JNINativeInterface java_missing_functions;

/* Put the functions of one subject into the table. */
void java_add_references(struct JNINativeInterface* table);
void java_add_objects(struct JNINativeInterface* table);
void java_add_strings(struct JNINativeInterface* table);
void java_add_arrays(struct JNINativeInterface* table);
void java_add_exceptions(struct JNINativeInterface* table);
void java_add_machine(struct JNINativeInterface* table);

/* Whether an environment is one of these, not of a real Java. */
int java_is_ours(JNIEnv* env);

#endif /* NNAPI_SHIM_JAVA_H */
