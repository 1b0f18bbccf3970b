/* SPDX-License-Identifier: Apache-2.0 */
/* Classes, plain objects, direct buffers. */
#include <string.h>

#include "java.h"

static const char object_class[] = "java/lang/Object";

static jclass find_class(JNIEnv* env, const char* name) {
  if (name == NULL) java_abort("FindClass", "the name is NULL");
  return java_local(env, java_class(name));
}

static struct java_object* class_of(const struct java_object* object) {
  return object->kind == JAVA_CLASS ? java_class("java/lang/Class") : object->type;
}

static jclass get_object_class(JNIEnv* env, jobject object) {
  return java_local(env, class_of(java_expect_any(object, "GetObjectClass")));
}

/* Every class extends Object; other superclasses are unknown. */
static jboolean is_a(const struct java_object* type, const struct java_object* other) {
  return type == other || strcmp(other->content, object_class) == 0;
}

static jboolean is_instance_of(JNIEnv* env, jobject object, jclass type) {
  const struct java_object* other = java_expect(type, JAVA_CLASS, "IsInstanceOf");
  return object == NULL || is_a(class_of(java_expect_any(object, "IsInstanceOf")), other);
}

static jboolean is_assignable_from(JNIEnv* env, jclass type, jclass to) {
  return is_a(java_expect(type, JAVA_CLASS, "IsAssignableFrom"),
              java_expect(to, JAVA_CLASS, "IsAssignableFrom"));
}

static jobject alloc_object(JNIEnv* env, jclass type) {
  return java_new(env, JAVA_PLAIN, java_expect(type, JAVA_CLASS, "AllocObject"), 0, NULL);
}

static jobject new_direct_byte_buffer(JNIEnv* env, void* address, jlong capacity) {
  if (address == NULL || capacity < 0) {
    java_abort("NewDirectByteBuffer", "there is no buffer of %lld bytes at %p",
               (long long)capacity, address);
  }
  return java_new(env, JAVA_BUFFER, java_class("java/nio/DirectByteBuffer"), capacity, address);
}

static void* get_direct_buffer_address(JNIEnv* env, jobject buffer) {
  const struct java_object* object = java_expect_any(buffer, "GetDirectBufferAddress");
  return object->kind == JAVA_BUFFER ? object->content : NULL;
}

static jlong get_direct_buffer_capacity(JNIEnv* env, jobject buffer) {
  const struct java_object* object = java_expect_any(buffer, "GetDirectBufferCapacity");
  return object->kind == JAVA_BUFFER ? object->length : -1;
}

void java_add_objects(struct JNINativeInterface* table) {
  table->FindClass = find_class;
  table->GetObjectClass = get_object_class;
  table->IsInstanceOf = is_instance_of;
  table->IsAssignableFrom = is_assignable_from;
  table->AllocObject = alloc_object;
  table->NewDirectByteBuffer = new_direct_byte_buffer;
  table->GetDirectBufferAddress = get_direct_buffer_address;
  table->GetDirectBufferCapacity = get_direct_buffer_capacity;
}
