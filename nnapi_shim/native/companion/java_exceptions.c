/* SPDX-License-Identifier: Apache-2.0 */
/* A thread has at most one pending exception. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "java.h"
#include "log_line.h"

/* Takes ownership of the reference. */
static void set_thrown(JNIEnv* env, struct java_object* thrown) {
  struct java_env* thread = (struct java_env*)env;
  java_release(thread->thrown);
  thread->thrown = thrown;
}

static void throw_new(JNIEnv* env, struct java_object* type, const char* message) {
  char* copy = message == NULL ? NULL : strdup(message);
  set_thrown(env, java_acquire(java_new(env, JAVA_THROWABLE, type, 0, copy)));
}

void java_throw(JNIEnv* env, const char* class_name, const char* message, ...) {
  char text[256];
  va_list ap;
  va_start(ap, message);
  vsnprintf(text, sizeof text, message, ap);
  va_end(ap);
  throw_new(env, java_class(class_name), text);
}

static jint throw_it(JNIEnv* env, jthrowable thrown) {
  set_thrown(env, java_acquire(java_expect(thrown, JAVA_THROWABLE, "Throw")));
  return JNI_OK;
}

static jint throw_new_it(JNIEnv* env, jclass type, const char* message) {
  throw_new(env, java_expect(type, JAVA_CLASS, "ThrowNew"), message);
  return JNI_OK;
}

static jboolean exception_check(JNIEnv* env) { return ((struct java_env*)env)->thrown != NULL; }

static jthrowable exception_occurred(JNIEnv* env) {
  return java_local(env, ((struct java_env*)env)->thrown);
}

static void exception_clear(JNIEnv* env) { set_thrown(env, NULL); }

static void exception_describe(JNIEnv* env) {
  const struct java_object* thrown = ((struct java_env*)env)->thrown;
  if (thrown == NULL) return;
  const char* message = thrown->content;
  log_say(ANDROID_LOG_ERROR, "JNI: exception %s%s%s", (const char*)thrown->type->content,
          message == NULL ? "" : ": ", message == NULL ? "" : message);
  exception_clear(env);
}

static void fatal_error(JNIEnv* env, const char* message) {
  java_abort("FatalError", "%s", message == NULL ? "" : message);
}

void java_add_exceptions(struct JNINativeInterface* table) {
  table->Throw = throw_it;
  table->ThrowNew = throw_new_it;
  table->ExceptionCheck = exception_check;
  table->ExceptionOccurred = exception_occurred;
  table->ExceptionClear = exception_clear;
  table->ExceptionDescribe = exception_describe;
  table->FatalError = fatal_error;
}
