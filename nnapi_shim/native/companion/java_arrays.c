/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays. Programs get pointers to the elements themselves, never copies. */
#include <stdio.h>
#include <string.h>

#include "java.h"

enum { NAME_BYTES = 512 };

static int is_valid_length(JNIEnv* env, jsize length) {
  if (length < 0) java_throw(env, "java/lang/NegativeArraySizeException", "%d", length);
  return length >= 0;
}

/* Whether the range is within the array; if not, an exception is pending. */
static int is_within(JNIEnv* env, const struct java_object* array, jsize start, jsize length) {
  int is_valid = start >= 0 && length >= 0 && (int64_t)start + length <= array->length;
  if (!is_valid) {
    java_throw(env, "java/lang/ArrayIndexOutOfBoundsException",
               "%d elements from %d on, of an array of %lld", length, start,
               (long long)array->length);
  }
  return is_valid;
}

static jsize get_array_length(JNIEnv* env, jarray array) {
  const struct java_object* object = java_expect_any(array, "GetArrayLength");
  if (object->kind != JAVA_OBJECT_ARRAY) {
    object = java_expect(array, JAVA_PRIMITIVE_ARRAY, "GetArrayLength");
  }
  return (jsize)object->length;
}

/* The class of an array of primitives names the element type. */
static struct java_object* expect_array(jarray array, const char* type, const char* function) {
  struct java_object* object = java_expect(array, JAVA_PRIMITIVE_ARRAY, function);
  const char* given = object->type->content;
  if (strcmp(given, type) != 0) java_abort(function, "the array is a %s, not a %s", given, type);
  return object;
}

#define CLASS_jboolean "[Z"
#define CLASS_jbyte "[B"
#define CLASS_jchar "[C"
#define CLASS_jshort "[S"
#define CLASS_jint "[I"
#define CLASS_jlong "[J"
#define CLASS_jfloat "[F"
#define CLASS_jdouble "[D"

#define DEFINE(table, T, Name) \
  static T##Array new_##T##_array(JNIEnv* env, jsize length) { \
    if (!is_valid_length(env, length)) return NULL; \
    void* elements = java_allocate((size_t)length, sizeof(T)); \
    return java_new(env, JAVA_PRIMITIVE_ARRAY, java_class(CLASS_##T), length, elements); \
  } \
  static T* get_##T##_elements(JNIEnv* env, T##Array array, jboolean* is_copy) { \
    if (is_copy != NULL) *is_copy = JNI_FALSE; \
    return expect_array(array, CLASS_##T, "Get" #Name "ArrayElements")->content; \
  } \
  static void release_##T##_elements(JNIEnv* env, T##Array array, T* elements, jint mode) { \
    static const char function[] = "Release" #Name "ArrayElements"; \
    if (expect_array(array, CLASS_##T, function)->content != elements) { \
      java_abort(function, "the elements are not the array's"); \
    } \
  } \
  static void get_##T##_region( \
      JNIEnv* env, T##Array array, jsize start, jsize length, T* elements) { \
    const struct java_object* from = expect_array(array, CLASS_##T, "Get" #Name "ArrayRegion"); \
    if (!is_within(env, from, start, length)) return; \
    memcpy(elements, (T*)from->content + start, (size_t)length * sizeof(T)); \
  } \
  static void set_##T##_region( \
      JNIEnv* env, T##Array array, jsize start, jsize length, const T* elements) { \
    struct java_object* to = expect_array(array, CLASS_##T, "Set" #Name "ArrayRegion"); \
    if (!is_within(env, to, start, length)) return; \
    memcpy((T*)to->content + start, elements, (size_t)length * sizeof(T)); \
  }

NNAPI_SHIM_JNI_PRIMITIVES(DEFINE, )

static void* get_primitive_array_critical(JNIEnv* env, jarray array, jboolean* is_copy) {
  if (is_copy != NULL) *is_copy = JNI_FALSE;
  return java_expect(array, JAVA_PRIMITIVE_ARRAY, "GetPrimitiveArrayCritical")->content;
}

static void release_primitive_array_critical(
    JNIEnv* env, jarray array, void* elements, jint mode) {
  java_expect(array, JAVA_PRIMITIVE_ARRAY, "ReleasePrimitiveArrayCritical");
}

static jobjectArray new_object_array(JNIEnv* env, jsize length, jclass type, jobject first) {
  const char* of = java_expect(type, JAVA_CLASS, "NewObjectArray")->content;
  if (first != NULL) java_expect_any(first, "NewObjectArray");
  if (!is_valid_length(env, length)) return NULL;
  struct java_object** elements = java_allocate((size_t)length, sizeof *elements);
  for (jsize i = 0; i < length; ++i) elements[i] = java_acquire(first);
  char name[NAME_BYTES];
  snprintf(name, sizeof name, of[0] == '[' ? "[%s" : "[L%s;", of);
  return java_new(env, JAVA_OBJECT_ARRAY, java_class(name), length, elements);
}

static jobject get_object_array_element(JNIEnv* env, jobjectArray array, jsize index) {
  struct java_object* from = java_expect(array, JAVA_OBJECT_ARRAY, "GetObjectArrayElement");
  if (!is_within(env, from, index, 1)) return NULL;
  return java_local(env, ((struct java_object**)from->content)[index]);
}

static void set_object_array_element(JNIEnv* env, jobjectArray array, jsize index, jobject value) {
  struct java_object* to = java_expect(array, JAVA_OBJECT_ARRAY, "SetObjectArrayElement");
  if (value != NULL) java_expect_any(value, "SetObjectArrayElement");
  if (!is_within(env, to, index, 1)) return;
  struct java_object** element = (struct java_object**)to->content + index;
  struct java_object* before = *element;
  *element = java_acquire(value);
  java_release(before);
}

#define ADD(table, T, Name) \
  table->New##Name##Array = new_##T##_array; \
  table->Get##Name##ArrayElements = get_##T##_elements; \
  table->Release##Name##ArrayElements = release_##T##_elements; \
  table->Get##Name##ArrayRegion = get_##T##_region; \
  table->Set##Name##ArrayRegion = set_##T##_region;

void java_add_arrays(struct JNINativeInterface* table) {
  NNAPI_SHIM_JNI_PRIMITIVES(ADD, table)
  table->GetArrayLength = get_array_length;
  table->GetPrimitiveArrayCritical = get_primitive_array_critical;
  table->ReleasePrimitiveArrayCritical = release_primitive_array_critical;
  table->NewObjectArray = new_object_array;
  table->GetObjectArrayElement = get_object_array_element;
  table->SetObjectArrayElement = set_object_array_element;
}
