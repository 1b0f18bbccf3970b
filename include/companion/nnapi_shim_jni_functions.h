/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the Java Native Interface, once and in the order of its table, for macros that
 * make something of each. jni.h includes this; programs need not.
 *
 *   F(result, name, (parameters), (arguments))
 *   F0(result, name)                            has no parameters
 *   M(result, name, (parameters), (arguments))  calls a Java method, whose arguments come behind
 *                                               "method": in name by "...", in nameV as a list, in
 *                                               nameA as an array
 *   MV(name, (parameters), (arguments))         as M, without result
 */
#ifndef NNAPI_SHIM_JNI_FUNCTIONS_H
#define NNAPI_SHIM_JNI_FUNCTIONS_H

/* Removes the brackets around a list. */
#define NNAPI_SHIM_JNI_LIST(...) __VA_ARGS__

/* Make a family of functions, one for each type: T is the type, Name what it is called in names. */
#define NNAPI_SHIM_JNI_PRIMITIVES(FAMILY, F) \
  FAMILY(F, jboolean, Boolean) \
  FAMILY(F, jbyte, Byte) \
  FAMILY(F, jchar, Char) \
  FAMILY(F, jshort, Short) \
  FAMILY(F, jint, Int) \
  FAMILY(F, jlong, Long) \
  FAMILY(F, jfloat, Float) \
  FAMILY(F, jdouble, Double)
#define NNAPI_SHIM_JNI_TYPES(FAMILY, F) \
  FAMILY(F, jobject, Object) \
  NNAPI_SHIM_JNI_PRIMITIVES(FAMILY, F)

/* The families. */
#define NNAPI_SHIM_JNI_CALL(M, T, Name) \
  M(T, Call##Name##Method, (jobject object, jmethodID method), (object, method))
#define NNAPI_SHIM_JNI_CALL_NONVIRTUAL(M, T, Name) \
  M(T, CallNonvirtual##Name##Method, (jobject object, jclass type, jmethodID method), \
    (object, type, method))
#define NNAPI_SHIM_JNI_CALL_STATIC(M, T, Name) \
  M(T, CallStatic##Name##Method, (jclass type, jmethodID method), (type, method))
#define NNAPI_SHIM_JNI_GET_FIELD(F, T, Name) \
  F(T, Get##Name##Field, (jobject object, jfieldID field), (object, field))
#define NNAPI_SHIM_JNI_SET_FIELD(F, T, Name) \
  F(void, Set##Name##Field, (jobject object, jfieldID field, T value), (object, field, value))
#define NNAPI_SHIM_JNI_GET_STATIC_FIELD(F, T, Name) \
  F(T, GetStatic##Name##Field, (jclass type, jfieldID field), (type, field))
#define NNAPI_SHIM_JNI_SET_STATIC_FIELD(F, T, Name) \
  F(void, SetStatic##Name##Field, (jclass type, jfieldID field, T value), (type, field, value))
#define NNAPI_SHIM_JNI_NEW_ARRAY(F, T, Name) \
  F(T##Array, New##Name##Array, (jsize length), (length))
#define NNAPI_SHIM_JNI_GET_ELEMENTS(F, T, Name) \
  F(T*, Get##Name##ArrayElements, (T##Array array, jboolean* is_copy), (array, is_copy))
#define NNAPI_SHIM_JNI_RELEASE_ELEMENTS(F, T, Name) \
  F(void, Release##Name##ArrayElements, (T##Array array, T* elements, jint mode), \
    (array, elements, mode))
#define NNAPI_SHIM_JNI_GET_REGION(F, T, Name) \
  F(void, Get##Name##ArrayRegion, (T##Array array, jsize start, jsize length, T* elements), \
    (array, start, length, elements))
#define NNAPI_SHIM_JNI_SET_REGION(F, T, Name) \
  F(void, Set##Name##ArrayRegion, (T##Array array, jsize start, jsize length, const T* elements), \
    (array, start, length, elements))

/* The table. */
#define NNAPI_SHIM_JNI_FUNCTIONS(F, F0, M, MV) \
  F0(jint, GetVersion) \
  F(jclass, DefineClass, (const char* name, jobject loader, const jbyte* bytes, jsize length), \
    (name, loader, bytes, length)) \
  F(jclass, FindClass, (const char* name), (name)) \
  F(jmethodID, FromReflectedMethod, (jobject method), (method)) \
  F(jfieldID, FromReflectedField, (jobject field), (field)) \
  F(jobject, ToReflectedMethod, (jclass type, jmethodID method, jboolean is_static), \
    (type, method, is_static)) \
  F(jclass, GetSuperclass, (jclass type), (type)) \
  F(jboolean, IsAssignableFrom, (jclass type, jclass to), (type, to)) \
  F(jobject, ToReflectedField, (jclass type, jfieldID field, jboolean is_static), \
    (type, field, is_static)) \
  F(jint, Throw, (jthrowable thrown), (thrown)) \
  F(jint, ThrowNew, (jclass type, const char* message), (type, message)) \
  F0(jthrowable, ExceptionOccurred) \
  F0(void, ExceptionDescribe) \
  F0(void, ExceptionClear) \
  F(void, FatalError, (const char* message), (message)) \
  F(jint, PushLocalFrame, (jint capacity), (capacity)) \
  F(jobject, PopLocalFrame, (jobject result), (result)) \
  F(jobject, NewGlobalRef, (jobject object), (object)) \
  F(void, DeleteGlobalRef, (jobject object), (object)) \
  F(void, DeleteLocalRef, (jobject object), (object)) \
  F(jboolean, IsSameObject, (jobject object, jobject other), (object, other)) \
  F(jobject, NewLocalRef, (jobject object), (object)) \
  F(jint, EnsureLocalCapacity, (jint capacity), (capacity)) \
  F(jobject, AllocObject, (jclass type), (type)) \
  M(jobject, NewObject, (jclass type, jmethodID method), (type, method)) \
  F(jclass, GetObjectClass, (jobject object), (object)) \
  F(jboolean, IsInstanceOf, (jobject object, jclass type), (object, type)) \
  F(jmethodID, GetMethodID, (jclass type, const char* name, const char* signature), \
    (type, name, signature)) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_CALL, M) \
  MV(CallVoidMethod, (jobject object, jmethodID method), (object, method)) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_CALL_NONVIRTUAL, M) \
  MV(CallNonvirtualVoidMethod, (jobject object, jclass type, jmethodID method), \
    (object, type, method)) \
  F(jfieldID, GetFieldID, (jclass type, const char* name, const char* signature), \
    (type, name, signature)) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_GET_FIELD, F) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_SET_FIELD, F) \
  F(jmethodID, GetStaticMethodID, (jclass type, const char* name, const char* signature), \
    (type, name, signature)) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_CALL_STATIC, M) \
  MV(CallStaticVoidMethod, (jclass type, jmethodID method), (type, method)) \
  F(jfieldID, GetStaticFieldID, (jclass type, const char* name, const char* signature), \
    (type, name, signature)) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_GET_STATIC_FIELD, F) \
  NNAPI_SHIM_JNI_TYPES(NNAPI_SHIM_JNI_SET_STATIC_FIELD, F) \
  F(jstring, NewString, (const jchar* chars, jsize length), (chars, length)) \
  F(jsize, GetStringLength, (jstring string), (string)) \
  F(const jchar*, GetStringChars, (jstring string, jboolean* is_copy), (string, is_copy)) \
  F(void, ReleaseStringChars, (jstring string, const jchar* chars), (string, chars)) \
  F(jstring, NewStringUTF, (const char* bytes), (bytes)) \
  F(jsize, GetStringUTFLength, (jstring string), (string)) \
  F(const char*, GetStringUTFChars, (jstring string, jboolean* is_copy), (string, is_copy)) \
  F(void, ReleaseStringUTFChars, (jstring string, const char* bytes), (string, bytes)) \
  F(jsize, GetArrayLength, (jarray array), (array)) \
  F(jobjectArray, NewObjectArray, (jsize length, jclass type, jobject first), \
    (length, type, first)) \
  F(jobject, GetObjectArrayElement, (jobjectArray array, jsize index), (array, index)) \
  F(void, SetObjectArrayElement, (jobjectArray array, jsize index, jobject value), \
    (array, index, value)) \
  NNAPI_SHIM_JNI_PRIMITIVES(NNAPI_SHIM_JNI_NEW_ARRAY, F) \
  NNAPI_SHIM_JNI_PRIMITIVES(NNAPI_SHIM_JNI_GET_ELEMENTS, F) \
  NNAPI_SHIM_JNI_PRIMITIVES(NNAPI_SHIM_JNI_RELEASE_ELEMENTS, F) \
  NNAPI_SHIM_JNI_PRIMITIVES(NNAPI_SHIM_JNI_GET_REGION, F) \
  NNAPI_SHIM_JNI_PRIMITIVES(NNAPI_SHIM_JNI_SET_REGION, F) \
  F(jint, RegisterNatives, (jclass type, const JNINativeMethod* methods, jint count), \
    (type, methods, count)) \
  F(jint, UnregisterNatives, (jclass type), (type)) \
  F(jint, MonitorEnter, (jobject object), (object)) \
  F(jint, MonitorExit, (jobject object), (object)) \
  F(jint, GetJavaVM, (JavaVM** vm), (vm)) \
  F(void, GetStringRegion, (jstring string, jsize start, jsize length, jchar* chars), \
    (string, start, length, chars)) \
  F(void, GetStringUTFRegion, (jstring string, jsize start, jsize length, char* bytes), \
    (string, start, length, bytes)) \
  F(void*, GetPrimitiveArrayCritical, (jarray array, jboolean* is_copy), (array, is_copy)) \
  F(void, ReleasePrimitiveArrayCritical, (jarray array, void* elements, jint mode), \
    (array, elements, mode)) \
  F(const jchar*, GetStringCritical, (jstring string, jboolean* is_copy), (string, is_copy)) \
  F(void, ReleaseStringCritical, (jstring string, const jchar* chars), (string, chars)) \
  F(jweak, NewWeakGlobalRef, (jobject object), (object)) \
  F(void, DeleteWeakGlobalRef, (jweak object), (object)) \
  F0(jboolean, ExceptionCheck) \
  F(jobject, NewDirectByteBuffer, (void* address, jlong capacity), (address, capacity)) \
  F(void*, GetDirectBufferAddress, (jobject buffer), (buffer)) \
  F(jlong, GetDirectBufferCapacity, (jobject buffer), (buffer)) \
  F(jobjectRefType, GetObjectRefType, (jobject object), (object))

#endif /* NNAPI_SHIM_JNI_FUNCTIONS_H */
