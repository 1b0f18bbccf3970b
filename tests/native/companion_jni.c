/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in for Java, used as code that Java calls uses Java. Without arguments all of it; an
 * argument names something that ends the program, or "assets" and the name of one.
 */
#include <android/asset_manager_jni.h>
#include <nnapi_shim_assets.h>
#include <nnapi_shim_jni.h>
#include <pthread.h>
#include <string.h>

#include "require.h"

static JNIEnv* env;

/* Whether this exception is pending; clears it. */
static int has_thrown(const char* name) {
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (thrown == NULL || !(*env)->ExceptionCheck(env)) return 0;
  (*env)->ExceptionClear(env);
  REQUIRE(!(*env)->ExceptionCheck(env));
  jclass type = (*env)->GetObjectClass(env, thrown);
  return (*env)->IsSameObject(env, type, (*env)->FindClass(env, name));
}

static void strings(void) {
  jstring string = (*env)->NewStringUTF(env, "gr\xc3\xbc\xe2\x82\xac");
  REQUIRE((*env)->GetStringLength(env, string) == 4);
  REQUIRE((*env)->GetStringUTFLength(env, string) == 7);
  jboolean is_copy = 7;
  const char* bytes = (*env)->GetStringUTFChars(env, string, &is_copy);
  REQUIRE(strcmp(bytes, "gr\xc3\xbc\xe2\x82\xac") == 0 && is_copy == JNI_TRUE);
  (*env)->ReleaseStringUTFChars(env, string, bytes);
  const jchar* chars = (*env)->GetStringChars(env, string, NULL);
  REQUIRE(chars[2] == 0xFC && chars[3] == 0x20AC);
  (*env)->ReleaseStringChars(env, string, chars);

  jchar units[4] = {0};
  (*env)->GetStringRegion(env, string, 1, 2, units);
  REQUIRE(units[0] == 'r' && units[1] == 0xFC && units[2] == 0);
  char part[8] = "";
  (*env)->GetStringUTFRegion(env, string, 2, 2, part);
  REQUIRE(strcmp(part, "\xc3\xbc\xe2\x82\xac") == 0);
  (*env)->GetStringRegion(env, string, 3, 2, units);
  REQUIRE(has_thrown("java/lang/StringIndexOutOfBoundsException"));
  (*env)->GetStringUTFRegion(env, string, -1, 2, part);
  REQUIRE(has_thrown("java/lang/StringIndexOutOfBoundsException"));
  REQUIRE((*env)->NewStringUTF(env, NULL) == NULL);

  /* Beyond 16 bits, in both forms; the character 0; bytes that are none. */
  const char* smile = "\xf0\x9f\x98\x80";
  jstring plain = (*env)->NewStringUTF(env, smile);
  jstring modified = (*env)->NewStringUTF(env, "\xed\xa0\xbd\xed\xb8\x80");
  REQUIRE((*env)->GetStringLength(env, plain) == 2 && (*env)->GetStringLength(env, modified) == 2);
  bytes = (*env)->GetStringUTFChars(env, modified, NULL);
  REQUIRE(strcmp(bytes, smile) == 0);
  (*env)->ReleaseStringUTFChars(env, modified, bytes);
  const jchar with_zero[] = {'a', 0, 0xD800, 'b'};
  jstring odd = (*env)->NewString(env, with_zero, 4);
  bytes = (*env)->GetStringUTFChars(env, odd, NULL);
  REQUIRE(strcmp(bytes, "a\xc0\x80\xed\xa0\x80" "b") == 0);
  (*env)->ReleaseStringUTFChars(env, odd, bytes);
  jstring broken = (*env)->NewStringUTF(env, "\xff" "a\xc3");
  REQUIRE((*env)->GetStringLength(env, broken) == 3);
  REQUIRE((*env)->GetStringLength(env, (*env)->NewString(env, NULL, 0)) == 0);
}

static void arrays(void) {
  jfloatArray floats = (*env)->NewFloatArray(env, 4);
  REQUIRE((*env)->GetArrayLength(env, floats) == 4);
  const jfloat values[] = {1, 2, 3, 4};
  (*env)->SetFloatArrayRegion(env, floats, 1, 3, values);
  jboolean is_copy = 7;
  jfloat* elements = (*env)->GetFloatArrayElements(env, floats, &is_copy);
  REQUIRE(elements[0] == 0 && elements[3] == 3 && is_copy == JNI_FALSE);
  elements[0] = 9;
  (*env)->ReleaseFloatArrayElements(env, floats, elements, 0);
  jfloat back[2];
  (*env)->GetFloatArrayRegion(env, floats, 0, 2, back);
  REQUIRE(back[0] == 9 && back[1] == 1);
  (*env)->GetFloatArrayRegion(env, floats, 3, 2, back);
  REQUIRE(has_thrown("java/lang/ArrayIndexOutOfBoundsException"));
  REQUIRE((*env)->NewByteArray(env, -1) == NULL);
  REQUIRE(has_thrown("java/lang/NegativeArraySizeException"));
  jlongArray longs = (*env)->NewLongArray(env, 2);
  jlong* all = (*env)->GetPrimitiveArrayCritical(env, longs, NULL);
  all[1] = INT64_MIN;
  (*env)->ReleasePrimitiveArrayCritical(env, longs, all, JNI_ABORT);
  REQUIRE((*env)->GetArrayLength(env, (*env)->NewBooleanArray(env, 0)) == 0);

  jclass type = (*env)->FindClass(env, "java/lang/String");
  jobjectArray objects = (*env)->NewObjectArray(env, 2, type, NULL);
  REQUIRE((*env)->GetArrayLength(env, objects) == 2);
  REQUIRE((*env)->GetObjectArrayElement(env, objects, 0) == NULL);
  jstring string = (*env)->NewStringUTF(env, "element");
  (*env)->SetObjectArrayElement(env, objects, 1, string);
  (*env)->DeleteLocalRef(env, string);
  jobject element = (*env)->GetObjectArrayElement(env, objects, 1);
  REQUIRE((*env)->GetStringLength(env, element) == 7);
  (*env)->SetObjectArrayElement(env, objects, 2, NULL);
  REQUIRE(has_thrown("java/lang/ArrayIndexOutOfBoundsException"));
}

static void objects(void) {
  jclass type = (*env)->FindClass(env, "com/example/Main");
  jobject object = (*env)->AllocObject(env, type);
  REQUIRE((*env)->IsSameObject(env, (*env)->GetObjectClass(env, object), type));
  REQUIRE((*env)->IsInstanceOf(env, object, type));
  REQUIRE((*env)->IsInstanceOf(env, object, (*env)->FindClass(env, "java/lang/Object")));
  REQUIRE(!(*env)->IsInstanceOf(env, object, (*env)->FindClass(env, "java/lang/String")));
  jclass of_class = (*env)->GetObjectClass(env, type);
  REQUIRE((*env)->IsSameObject(env, of_class, (*env)->FindClass(env, "java/lang/Class")));
  char bytes[16];
  jobject buffer = (*env)->NewDirectByteBuffer(env, bytes, sizeof bytes);
  REQUIRE((*env)->GetDirectBufferAddress(env, buffer) == bytes);
  REQUIRE((*env)->GetDirectBufferCapacity(env, buffer) == sizeof bytes);
  REQUIRE((*env)->GetDirectBufferAddress(env, object) == NULL);
  REQUIRE((*env)->GetDirectBufferCapacity(env, object) == -1);
}

static void references(void) {
  REQUIRE((*env)->PushLocalFrame(env, 4) == JNI_OK);
  jstring string = (*env)->NewStringUTF(env, "kept");
  jobject global = (*env)->NewGlobalRef(env, (*env)->NewStringUTF(env, "global"));
  (*env)->DeleteLocalRef(env, (*env)->NewLocalRef(env, string));
  string = (*env)->PopLocalFrame(env, string);
  REQUIRE((*env)->GetStringLength(env, string) == 4);
  REQUIRE((*env)->GetStringLength(env, global) == 6);
  (*env)->DeleteGlobalRef(env, global);
  (*env)->DeleteGlobalRef(env, NULL);
  (*env)->DeleteLocalRef(env, NULL);
  REQUIRE((*env)->NewLocalRef(env, NULL) == NULL && (*env)->NewGlobalRef(env, NULL) == NULL);
  REQUIRE((*env)->EnsureLocalCapacity(env, 1000) == JNI_OK);
}

static void exceptions(void) {
  REQUIRE(!(*env)->ExceptionCheck(env) && (*env)->ExceptionOccurred(env) == NULL);
  jclass type = (*env)->FindClass(env, "java/io/IOException");
  REQUIRE((*env)->ThrowNew(env, type, "no such file") == JNI_OK);
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  (*env)->ExceptionDescribe(env);
  REQUIRE(!(*env)->ExceptionCheck(env));
  REQUIRE((*env)->Throw(env, thrown) == JNI_OK);
  REQUIRE(has_thrown("java/io/IOException"));
}

static void* attach(void* machine) {
  JavaVM* vm = machine;
  JNIEnv* own = NULL;
  REQUIRE((*vm)->GetEnv(vm, (void**)&own, JNI_VERSION_1_6) == JNI_EDETACHED && own == NULL);
  REQUIRE((*vm)->AttachCurrentThread(vm, (void*)&own, NULL) == JNI_OK && own != env);
  jstring string = (*own)->NewStringUTF(own, "of this thread");
  JNIEnv* same = NULL;
  REQUIRE((*vm)->GetEnv(vm, (void**)&same, JNI_VERSION_1_6) == JNI_OK && same == own);
  jobject global = (*own)->NewGlobalRef(own, string);
  REQUIRE((*vm)->DetachCurrentThread(vm) == JNI_OK);
  REQUIRE((*vm)->DetachCurrentThread(vm) == JNI_EDETACHED);
  return global;
}

static void machines(void) {
  JavaVM* vm = NULL;
  REQUIRE((*env)->GetJavaVM(env, &vm) == JNI_OK);
  REQUIRE((*env)->GetVersion(env) == JNI_VERSION_1_6);
  JNIEnv* same = NULL;
  REQUIRE((*vm)->GetEnv(vm, (void**)&same, 0x00090000) == JNI_EVERSION && same == NULL);
  REQUIRE((*vm)->GetEnv(vm, (void**)&same, JNI_VERSION_1_4) == JNI_OK && same == env);
  REQUIRE(nnapi_shim_getJavaEnv() == env);
  pthread_t thread;
  void* global;
  REQUIRE(pthread_create(&thread, NULL, attach, vm) == 0 && pthread_join(thread, &global) == 0);
  REQUIRE((*env)->GetStringLength(env, global) == 14);
  (*env)->DeleteGlobalRef(env, global);
}

static void print_asset(AAssetManager* manager, const char* name) {
  AAsset* asset = AAssetManager_open(manager, name, AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  printf("%.*s\n", (int)AAsset_getLength(asset), (const char*)AAsset_getBuffer(asset));
  AAsset_close(asset);
}

static void assets(const char* folder, const char* name) {
  AAssetManager* manager = nnapi_shim_openAssetFolder(folder);
  REQUIRE(manager != NULL);
  jobject object = nnapi_shim_newJavaAssetManager(env, manager);
  REQUIRE(AAssetManager_fromJava(env, object) == manager);
  print_asset(manager, name);
  nnapi_shim_closeAssetFolder(manager);

  object = nnapi_shim_newJavaAssetManager(env, NULL);
  print_asset(AAssetManager_fromJava(env, object), name);
  manager = AAssetManager_fromJava(env, NULL);
  REQUIRE(manager != NULL && manager == AAssetManager_fromJava(NULL, NULL));
  print_asset(manager, name);
  nnapi_shim_closeAssetFolder(manager);
  print_asset(manager, name);

  REQUIRE(AAssetManager_fromJava(env, (*env)->NewStringUTF(env, "no manager")) == NULL);
}

static void die(const char* how) {
  jstring string = (*env)->NewStringUTF(env, "string");
  jclass type = (*env)->GetObjectClass(env, string);
  int no_object[32] = {0};
  if (strcmp(how, "missing") == 0) (*env)->GetMethodID(env, type, "length", "()I");
  if (strcmp(how, "call") == 0) (*env)->CallIntMethod(env, string, NULL, 1);
  if (strcmp(how, "newer") == 0) ((void (*const*)(JNIEnv*))*env)[233](env);
  if (strcmp(how, "kind") == 0) (*env)->GetArrayLength(env, (jarray)string);
  if (strcmp(how, "type") == 0) {
    (*env)->GetFloatArrayElements(env, (jfloatArray)(*env)->NewIntArray(env, 1), NULL);
  }
  if (strcmp(how, "null") == 0) (*env)->GetStringUTFChars(env, NULL, NULL);
  if (strcmp(how, "nothing") == 0) (*env)->GetObjectClass(env, (jobject)no_object);
  if (strcmp(how, "frame") == 0) (*env)->PopLocalFrame(env, NULL);
  if (strcmp(how, "fatal") == 0) (*env)->FatalError(env, "the end");
}

int main(int argc, char** argv) {
  env = nnapi_shim_getJavaEnv();
  if (argc == 2) die(argv[1]);
  REQUIRE((*env)->PushLocalFrame(env, 0) == JNI_OK);
  if (argc == 3) assets(argv[1], argv[2]);
  if (argc == 1) {
    strings();
    arrays();
    objects();
    references();
    exceptions();
    machines();
  }
  (*env)->PopLocalFrame(env, NULL);
  JavaVM* vm = NULL;
  (*env)->GetJavaVM(env, &vm);
  return (*vm)->DetachCurrentThread(vm) == JNI_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
