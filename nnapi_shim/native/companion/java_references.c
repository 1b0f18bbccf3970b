/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and references to them. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "java.h"
#include "log_line.h"

static const uint64_t is_object = UINT64_C(0x6e6e61704a61766f);

static const char* const kinds[] = {
    "a plain object",
    "a class",
    "a string",
    "an array of primitives",
    "an array of objects",
    "a buffer",
    "a throwable",
    "an asset manager",
};

void java_abort(const char* function, const char* what, ...) {
  char text[512];
  va_list ap;
  va_start(ap, what);
  vsnprintf(text, sizeof text, what, ap);
  va_end(ap);
  log_say(ANDROID_LOG_FATAL, "JNI: %s: %s", function, text);
  abort();
}

void* java_allocate(size_t count, size_t size) {
  void* memory = calloc(count == 0 ? 1 : count, size);
  if (memory == NULL) java_abort("memory", "%zu elements of %zu bytes cannot be had", count, size);
  return memory;
}

struct java_object* java_expect_any(jobject reference, const char* function) {
  struct java_object* object = reference;
  if (object == NULL) java_abort(function, "the object is NULL");
  if (object->mark != is_object) java_abort(function, "%p is no object", reference);
  return object;
}

struct java_object* java_expect(jobject reference, enum java_kind kind, const char* function) {
  struct java_object* object = java_expect_any(reference, function);
  if (object->kind != kind) {
    java_abort(function, "the object is %s, not %s", kinds[object->kind], kinds[kind]);
  }
  return object;
}

struct java_object* java_acquire(struct java_object* object) {
  if (object != NULL) atomic_fetch_add(&object->references, 1);
  return object;
}

void java_release(struct java_object* object) {
  if (object == NULL || atomic_fetch_sub(&object->references, 1) != 1) return;
  if (object->kind == JAVA_OBJECT_ARRAY) {
    struct java_object** elements = object->content;
    for (int64_t i = 0; i < object->length; ++i) java_release(elements[i]);
  }
  if (object->kind != JAVA_BUFFER && object->kind != JAVA_ASSET_MANAGER) free(object->content);
  java_release(object->type);
  object->mark = 0;
  free(object);
}

/* Starts a frame: takes ownership of a reference, or NULL. */
static void add_local(struct java_env* env, struct java_object* object) {
  if (env->local_count == env->local_capacity) {
    size_t larger = env->local_capacity == 0 ? 16 : env->local_capacity * 2;
    struct java_object** locals = realloc(env->locals, larger * sizeof *locals);
    if (locals == NULL) java_abort("memory", "%zu references cannot be had", larger);
    env->locals = locals;
    env->local_capacity = larger;
  }
  env->locals[env->local_count++] = object;
}

jobject java_local(JNIEnv* env, struct java_object* object) {
  if (object != NULL) add_local((struct java_env*)env, java_acquire(object));
  return object;
}

static struct java_object* make(
    enum java_kind kind, struct java_object* type, int64_t length, void* content) {
  struct java_object* object = java_allocate(1, sizeof *object);
  object->mark = is_object;
  atomic_init(&object->references, 1);
  object->kind = kind;
  object->type = java_acquire(type);
  object->length = length;
  object->content = content;
  return object;
}

struct java_object* java_new(
    JNIEnv* env, enum java_kind kind, struct java_object* type, int64_t length, void* content) {
  struct java_object* object = make(kind, type, length, content);
  add_local((struct java_env*)env, object);
  return object;
}

struct java_object* java_class(const char* name) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct java_object** classes;
  static size_t count;
  struct java_object* match = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count && match == NULL; ++i) {
    if (strcmp(classes[i]->content, name) == 0) match = classes[i];
  }
  if (match == NULL) {
    char* copy = strdup(name);
    struct java_object** larger = realloc(classes, (count + 1) * sizeof *classes);
    if (copy == NULL || larger == NULL) java_abort("memory", "no class %s can be had", name);
    classes = larger;
    match = classes[count++] = make(JAVA_CLASS, NULL, 0, copy);
  }
  pthread_mutex_unlock(&lock);
  return match;
}

static jint push_local_frame(JNIEnv* env, jint capacity) {
  add_local((struct java_env*)env, NULL);
  return JNI_OK;
}

static jobject pop_local_frame(JNIEnv* env, jobject result) {
  struct java_env* thread = (struct java_env*)env;
  struct java_object* kept = java_acquire(result);
  struct java_object* local;
  do {
    if (thread->local_count == 0) java_abort("PopLocalFrame", "there is no frame");
    local = thread->locals[--thread->local_count];
    java_release(local);
  } while (local != NULL);
  if (kept != NULL) add_local(thread, kept);
  return kept;
}

static jint ensure_local_capacity(JNIEnv* env, jint capacity) {
  return capacity < 0 ? JNI_ERR : JNI_OK;
}

static jobject new_local_ref(JNIEnv* env, jobject object) {
  return object == NULL ? NULL : java_local(env, java_expect_any(object, "NewLocalRef"));
}

static void delete_local_ref(JNIEnv* env, jobject object) {
  if (object == NULL) return;
  struct java_env* thread = (struct java_env*)env;
  for (size_t i = thread->local_count; i-- > 0;) {
    if (thread->locals[i] != object) continue;
    --thread->local_count;
    memmove(thread->locals + i, thread->locals + i + 1,
            (thread->local_count - i) * sizeof *thread->locals);
    java_release(object);
    return;
  }
  java_abort("DeleteLocalRef", "%p is no local reference of this thread", object);
}

static jobject new_global_ref(JNIEnv* env, jobject object) {
  return object == NULL ? NULL : java_acquire(java_expect_any(object, "NewGlobalRef"));
}

static void delete_global_ref(JNIEnv* env, jobject object) {
  if (object != NULL) java_release(java_expect_any(object, "DeleteGlobalRef"));
}

static jboolean is_same_object(JNIEnv* env, jobject object, jobject other) {
  return object == other;
}

void java_add_references(struct JNINativeInterface* table) {
  table->PushLocalFrame = push_local_frame;
  table->PopLocalFrame = pop_local_frame;
  table->EnsureLocalCapacity = ensure_local_capacity;
  table->NewLocalRef = new_local_ref;
  table->DeleteLocalRef = delete_local_ref;
  table->NewGlobalRef = new_global_ref;
  table->DeleteGlobalRef = delete_global_ref;
  table->IsSameObject = is_same_object;
}
