/* SPDX-License-Identifier: Apache-2.0 */
/* The substitute for a Java VM: its function table, and the environments of threads. */
#include <pthread.h>
#include <stdlib.h>

#include "java.h"

#pragma GCC visibility push(default)
#include <nnapi_shim_jni.h>
#pragma GCC visibility pop

enum { LATER_FUNCTIONS = 8 };

/* Programs compiled for a newer Java call functions after those of version 1.6. */
static struct {
  struct JNINativeInterface functions;
  void (*later[LATER_FUNCTIONS])(void);
} table;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void missing_later(void) {
  java_abort("a function newer than version 1.6", "it is not in the stand-in for Java");
}

static void free_env(void* memory) {
  struct java_env* env = memory;
  while (env->local_count > 0) java_release(env->locals[--env->local_count]);
  java_release(env->thrown);
  free(env->locals);
  free(env);
}

static jint destroy_java_vm(JavaVM* vm) {
  return JNI_ERR;
}

static jint attach(JavaVM* vm, JNIEnv** env, void* arguments) {
  *env = nnapi_shim_getJavaEnv();
  return JNI_OK;
}

static jint detach(JavaVM* vm) {
  struct java_env* env = pthread_getspecific(key);
  if (env == NULL) return JNI_EDETACHED;
  pthread_setspecific(key, NULL);
  free_env(env);
  return JNI_OK;
}

static jint get_env(JavaVM* vm, void** env, jint version) {
  *env = NULL;
  if (version != JNI_VERSION_1_2 && version != JNI_VERSION_1_4 && version != JNI_VERSION_1_6) {
    return JNI_EVERSION;
  }
  *env = pthread_getspecific(key);
  return *env == NULL ? JNI_EDETACHED : JNI_OK;
}

static const struct JNIInvokeInterface invoke_functions = {
    .DestroyJavaVM = destroy_java_vm,
    .AttachCurrentThread = attach,
    .DetachCurrentThread = detach,
    .GetEnv = get_env,
    .AttachCurrentThreadAsDaemon = attach,
};
static JavaVM machine = &invoke_functions;

static jint get_version(JNIEnv* env) {
  return JNI_VERSION_1_6;
}

static jint get_java_vm(JNIEnv* env, JavaVM** vm) {
  *vm = &machine;
  return JNI_OK;
}

void java_add_machine(struct JNINativeInterface* functions) {
  functions->GetVersion = get_version;
  functions->GetJavaVM = get_java_vm;
}

static void start(void) {
  table.functions = java_missing_functions;
  for (int i = 0; i < LATER_FUNCTIONS; ++i) table.later[i] = missing_later;
  java_add_machine(&table.functions);
  java_add_references(&table.functions);
  java_add_objects(&table.functions);
  java_add_strings(&table.functions);
  java_add_arrays(&table.functions);
  java_add_exceptions(&table.functions);
  if (pthread_key_create(&key, free_env) != 0) {
    java_abort("nnapi_shim_getJavaEnv", "no thread can have an environment");
  }
}

JNIEnv* nnapi_shim_getJavaEnv(void) {
  pthread_once(&once, start);
  struct java_env* env = pthread_getspecific(key);
  if (env == NULL) {
    env = java_allocate(1, sizeof *env);
    env->functions = &table.functions;
    if (pthread_setspecific(key, env) != 0) {
      java_abort("nnapi_shim_getJavaEnv", "this thread cannot have an environment");
    }
  }
  return &env->functions;
}

int java_is_ours(JNIEnv* env) { return env != NULL && *env == &table.functions; }
