/* SPDX-License-Identifier: Apache-2.0 */
/* For each function of the table, one that reports that it is not implemented. */
#include "java.h"

static _Noreturn void missing(const char* name) {
  java_abort(name, "this function is not in the stand-in for Java");
}

#define F(result, name, parameters, arguments) \
  static result missing_##name(JNIEnv* env, NNAPI_SHIM_JNI_LIST parameters) { missing(#name); }
#define F0(result, name) \
  static result missing_##name(JNIEnv* env) { missing(#name); }
#define M(result, name, parameters, arguments) \
  static result missing_##name(JNIEnv* env, NNAPI_SHIM_JNI_LIST parameters, ...) { \
    missing(#name); \
  } \
  static result missing_##name##V(JNIEnv* env, NNAPI_SHIM_JNI_LIST parameters, va_list list) { \
    missing(#name "V"); \
  } \
  static result missing_##name##A( \
      JNIEnv* env, NNAPI_SHIM_JNI_LIST parameters, const jvalue* array) { \
    missing(#name "A"); \
  }
#define MV(name, parameters, arguments) M(void, name, parameters, arguments)

NNAPI_SHIM_JNI_FUNCTIONS(F, F0, M, MV)

#undef F
#undef F0
#undef M
#undef MV
#define F(result, name, parameters, arguments) .name = missing_##name,
#define F0(result, name) .name = missing_##name,
#define M(result, name, parameters, arguments) \
  .name = missing_##name, .name##V = missing_##name##V, .name##A = missing_##name##A,
#define MV(name, parameters, arguments) M(void, name, parameters, arguments)

const struct JNINativeInterface java_missing_functions = {
    NNAPI_SHIM_JNI_FUNCTIONS(F, F0, M, MV)};
