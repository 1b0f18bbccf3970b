/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java Native Interface, version 1.6: what C and C++ code needs to be called from Java and to
 * call back. The names and the order of the functions are those of Java's specification, the names
 * of the structures those of the NDK, so code compiled with this header works in any Java, and code
 * compiled with another jni.h works with the stand-in of nnapi_shim_jni.h.
 *
 * C calls a function as (*env)->FindClass(env, name), C++ as env->FindClass(name).
 */
#ifndef NNAPI_SHIM_JNI_HEADER_H
#define NNAPI_SHIM_JNI_HEADER_H

#include <stdarg.h>
#include <stdint.h>

#include <nnapi_shim_jni_functions.h>

#define JNIEXPORT __attribute__((visibility("default")))
#define JNIIMPORT
#define JNICALL

typedef uint8_t jboolean;
typedef int8_t jbyte;
typedef uint16_t jchar;
typedef int16_t jshort;
typedef int32_t jint;
typedef int64_t jlong;
typedef float jfloat;
typedef double jdouble;
typedef jint jsize;

#ifdef __cplusplus
/* Classes of which C++ knows which is which. */
class _jobject {};
class _jclass : public _jobject {};
class _jstring : public _jobject {};
class _jthrowable : public _jobject {};
class _jarray : public _jobject {};
class _jobjectArray : public _jarray {};
class _jbooleanArray : public _jarray {};
class _jbyteArray : public _jarray {};
class _jcharArray : public _jarray {};
class _jshortArray : public _jarray {};
class _jintArray : public _jarray {};
class _jlongArray : public _jarray {};
class _jfloatArray : public _jarray {};
class _jdoubleArray : public _jarray {};
typedef _jobject* jobject;
typedef _jclass* jclass;
typedef _jstring* jstring;
typedef _jthrowable* jthrowable;
typedef _jarray* jarray;
typedef _jobjectArray* jobjectArray;
typedef _jbooleanArray* jbooleanArray;
typedef _jbyteArray* jbyteArray;
typedef _jcharArray* jcharArray;
typedef _jshortArray* jshortArray;
typedef _jintArray* jintArray;
typedef _jlongArray* jlongArray;
typedef _jfloatArray* jfloatArray;
typedef _jdoubleArray* jdoubleArray;
typedef _jobject* jweak;
#else
typedef void* jobject;
typedef jobject jclass;
typedef jobject jstring;
typedef jobject jthrowable;
typedef jobject jarray;
typedef jarray jobjectArray;
typedef jarray jbooleanArray;
typedef jarray jbyteArray;
typedef jarray jcharArray;
typedef jarray jshortArray;
typedef jarray jintArray;
typedef jarray jlongArray;
typedef jarray jfloatArray;
typedef jarray jdoubleArray;
typedef jobject jweak;
#endif

/** A field of a class. */
typedef struct _jfieldID* jfieldID;
/** A method of a class. */
typedef struct _jmethodID* jmethodID;

/** An argument of a method. */
typedef union jvalue {
  jboolean z;
  jbyte b;
  jchar c;
  jshort s;
  jint i;
  jlong j;
  jfloat f;
  jdouble d;
  jobject l;
} jvalue;

/** What a reference is. */
typedef enum jobjectRefType {
  JNIInvalidRefType = 0,
  JNILocalRefType = 1,
  JNIGlobalRefType = 2,
  JNIWeakGlobalRefType = 3
} jobjectRefType;

/** A native method for RegisterNatives. */
typedef struct {
  const char* name;
  const char* signature;
  void* fnPtr;
} JNINativeMethod;

#define JNI_FALSE 0
#define JNI_TRUE 1

#define JNI_VERSION_1_1 0x00010001
#define JNI_VERSION_1_2 0x00010002
#define JNI_VERSION_1_4 0x00010004
#define JNI_VERSION_1_6 0x00010006

/* Result codes. */
#define JNI_OK 0
#define JNI_ERR (-1)
#define JNI_EDETACHED (-2)
#define JNI_EVERSION (-3)
#define JNI_ENOMEM (-4)
#define JNI_EEXIST (-5)
#define JNI_EINVAL (-6)

/* Release...ArrayElements with 0 copies back and frees; these do only the one or the other. */
#define JNI_COMMIT 1
#define JNI_ABORT 2

struct _JNIEnv;
struct _JavaVM;
struct JNINativeInterface;
struct JNIInvokeInterface;
#ifdef __cplusplus
typedef _JNIEnv JNIEnv;
typedef _JavaVM JavaVM;
#else
typedef const struct JNINativeInterface* JNIEnv;
typedef const struct JNIInvokeInterface* JavaVM;
#endif

/* The table of functions: in C, each is a pointer. */
#define NNAPI_SHIM_JNI_F(result, name, parameters, arguments) \
  result (*name)(JNIEnv * env, NNAPI_SHIM_JNI_LIST parameters);
#define NNAPI_SHIM_JNI_F0(result, name) result (*name)(JNIEnv * env);
#define NNAPI_SHIM_JNI_M(result, name, parameters, arguments) \
  result (*name)(JNIEnv * env, NNAPI_SHIM_JNI_LIST parameters, ...); \
  result (*name##V)(JNIEnv * env, NNAPI_SHIM_JNI_LIST parameters, va_list list); \
  result (*name##A)(JNIEnv * env, NNAPI_SHIM_JNI_LIST parameters, const jvalue* array);
#define NNAPI_SHIM_JNI_MV(name, parameters, arguments) \
  NNAPI_SHIM_JNI_M(void, name, parameters, arguments)

struct JNINativeInterface {
  void* reserved0;
  void* reserved1;
  void* reserved2;
  void* reserved3;
  NNAPI_SHIM_JNI_FUNCTIONS(
      NNAPI_SHIM_JNI_F, NNAPI_SHIM_JNI_F0, NNAPI_SHIM_JNI_M, NNAPI_SHIM_JNI_MV)
};

#undef NNAPI_SHIM_JNI_F
#undef NNAPI_SHIM_JNI_F0
#undef NNAPI_SHIM_JNI_M
#undef NNAPI_SHIM_JNI_MV

/* In C++, each is also a member of the environment. */
#define NNAPI_SHIM_JNI_F(result, name, parameters, arguments) \
  result name parameters { return functions->name(this, NNAPI_SHIM_JNI_LIST arguments); }
#define NNAPI_SHIM_JNI_F0(result, name) \
  result name() { return functions->name(this); }
#define NNAPI_SHIM_JNI_LISTS(result, name, parameters, arguments) \
  result name##V(NNAPI_SHIM_JNI_LIST parameters, va_list list) { \
    return functions->name##V(this, NNAPI_SHIM_JNI_LIST arguments, list); \
  } \
  result name##A(NNAPI_SHIM_JNI_LIST parameters, const jvalue* array) { \
    return functions->name##A(this, NNAPI_SHIM_JNI_LIST arguments, array); \
  }
#define NNAPI_SHIM_JNI_M(result, name, parameters, arguments) \
  result name(NNAPI_SHIM_JNI_LIST parameters, ...) { \
    va_list list; \
    va_start(list, method); \
    result value = functions->name##V(this, NNAPI_SHIM_JNI_LIST arguments, list); \
    va_end(list); \
    return value; \
  } \
  NNAPI_SHIM_JNI_LISTS(result, name, parameters, arguments)
#define NNAPI_SHIM_JNI_MV(name, parameters, arguments) \
  void name(NNAPI_SHIM_JNI_LIST parameters, ...) { \
    va_list list; \
    va_start(list, method); \
    functions->name##V(this, NNAPI_SHIM_JNI_LIST arguments, list); \
    va_end(list); \
  } \
  NNAPI_SHIM_JNI_LISTS(void, name, parameters, arguments)

/** The environment: what a thread calls Java through. */
struct _JNIEnv {
  const struct JNINativeInterface* functions;
#ifdef __cplusplus
  NNAPI_SHIM_JNI_FUNCTIONS(
      NNAPI_SHIM_JNI_F, NNAPI_SHIM_JNI_F0, NNAPI_SHIM_JNI_M, NNAPI_SHIM_JNI_MV)
#endif
};

#undef NNAPI_SHIM_JNI_F
#undef NNAPI_SHIM_JNI_F0
#undef NNAPI_SHIM_JNI_LISTS
#undef NNAPI_SHIM_JNI_M
#undef NNAPI_SHIM_JNI_MV

/** The functions of the machine as a whole. */
struct JNIInvokeInterface {
  void* reserved0;
  void* reserved1;
  void* reserved2;
  jint (*DestroyJavaVM)(JavaVM* vm);
  jint (*AttachCurrentThread)(JavaVM* vm, JNIEnv** env, void* arguments);
  jint (*DetachCurrentThread)(JavaVM* vm);
  jint (*GetEnv)(JavaVM* vm, void** env, jint version);
  jint (*AttachCurrentThreadAsDaemon)(JavaVM* vm, JNIEnv** env, void* arguments);
};

/** The machine: gives a thread its environment. */
struct _JavaVM {
  const struct JNIInvokeInterface* functions;
#ifdef __cplusplus
  jint DestroyJavaVM() { return functions->DestroyJavaVM(this); }
  jint AttachCurrentThread(JNIEnv** env, void* arguments) {
    return functions->AttachCurrentThread(this, env, arguments);
  }
  jint DetachCurrentThread() { return functions->DetachCurrentThread(this); }
  jint GetEnv(void** env, jint version) { return functions->GetEnv(this, env, version); }
  jint AttachCurrentThreadAsDaemon(JNIEnv** env, void* arguments) {
    return functions->AttachCurrentThreadAsDaemon(this, env, arguments);
  }
#endif
};

#ifdef __cplusplus
extern "C" {
#endif

/** What a library may define to be called when Java loads it; the version that it needs. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved);

/** What a library may define to be called when Java gives it up. */
JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* vm, void* reserved);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_JNI_HEADER_H */
