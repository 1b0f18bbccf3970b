/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make the first calls of every part at the same time, and go on. argv[1]: a folder with
 * a file digits.txt ("0123456789"). Ends with 0.
 */
#include <android/asset_manager.h>
#include <android/asset_manager_jni.h>
#include <android/hardware_buffer.h>
#include <android/log.h>
#include <android/sharedmem.h>
#include <android/trace.h>
#include <jni.h>
#include <nnapi_shim_assets.h>
#include <nnapi_shim_jni.h>
#include <pthread.h>
#include <string.h>
#include <sys/system_properties.h>
#include <unistd.h>

#include "require.h"

enum { THREADS = 8, ROUNDS = 20, BYTES = 64 };

static pthread_barrier_t barrier;
static AAssetManager* manager;
static AHardwareBuffer* shared;
static jobject shared_string;

static void assets(void) {
  char digits[10];
  AAsset* asset = AAssetManager_open(manager, "digits.txt", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL && AAsset_read(asset, digits, sizeof digits) == sizeof digits);
  REQUIRE(memcmp(digits, AAsset_getBuffer(asset), sizeof digits) == 0);
  AAsset_close(asset);
  AAssetDir* folder = AAssetManager_openDir(manager, "");
  REQUIRE(strcmp(AAssetDir_getNextFileName(folder), "digits.txt") == 0);
  AAssetDir_close(folder);
  REQUIRE(AAssetManager_fromJava(NULL, NULL) != NULL);
}

/* The lock is the program's business; acquire, release and describe are not. */
static void buffers(void) {
  void* bytes = NULL;
  AHardwareBuffer_Desc desc;
  AHardwareBuffer_acquire(shared);
  AHardwareBuffer_describe(shared, &desc);
  REQUIRE(desc.width == BYTES);
  REQUIRE(AHardwareBuffer_lock(shared, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, NULL, &bytes) == 0);
  REQUIRE(*(const char*)bytes == 0);
  REQUIRE(AHardwareBuffer_unlock(shared, NULL) == 0);
  AHardwareBuffer_release(shared);
  int fd = ASharedMemory_create("race", BYTES);
  REQUIRE(fd >= 0 && ASharedMemory_getSize(fd) == BYTES);
  close(fd);
}

static void java(void) {
  JNIEnv* env = nnapi_shim_getJavaEnv();
  JavaVM* vm = NULL;
  REQUIRE((*env)->PushLocalFrame(env, 4) == JNI_OK);
  jclass type = (*env)->FindClass(env, "java/lang/IllegalStateException");
  REQUIRE((*env)->ThrowNew(env, type, "race") == JNI_OK && (*env)->ExceptionCheck(env));
  (*env)->ExceptionClear(env);
  jobject again = (*env)->NewGlobalRef(env, shared_string);
  REQUIRE((*env)->GetStringLength(env, again) == 6);
  (*env)->DeleteGlobalRef(env, again);
  REQUIRE((*env)->NewStringUTF(env, "own") != NULL);
  (*env)->PopLocalFrame(env, NULL);
  REQUIRE((*env)->GetJavaVM(env, &vm) == JNI_OK);
  REQUIRE((*vm)->DetachCurrentThread(vm) == JNI_OK);
}

static void messages(int round) {
  char value[PROP_VALUE_MAX];
  __android_log_print(ANDROID_LOG_INFO, "race", "%d", round);
  ATrace_beginSection("race");
  ATrace_setCounter("round", round);
  ATrace_beginAsyncSection("across", round);
  ATrace_endAsyncSection("across", round);
  ATrace_endSection();
  REQUIRE(__system_property_get("ro.build.version.sdk", value) > 0);
  REQUIRE(__system_property_find("ro.product.model") != NULL);
}

static void* use_everything(void* unused) {
  pthread_barrier_wait(&barrier);
  for (int round = 0; round < ROUNDS; ++round) {
    messages(round);
    assets();
    buffers();
    java();
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  REQUIRE(argc == 2);
  const AHardwareBuffer_Desc desc = {
      .width = BYTES, .height = 1, .layers = 1, .format = AHARDWAREBUFFER_FORMAT_BLOB,
      .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN};
  REQUIRE(AHardwareBuffer_allocate(&desc, &shared) == 0);
  manager = nnapi_shim_openAssetFolder(argv[1]);
  REQUIRE(manager != NULL);
  JNIEnv* env = nnapi_shim_getJavaEnv();
  shared_string = (*env)->NewGlobalRef(env, (*env)->NewStringUTF(env, "shared"));
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, use_everything, NULL) == 0);
  }
  for (int i = 0; i < THREADS; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
  (*env)->DeleteGlobalRef(env, shared_string);
  nnapi_shim_closeAssetFolder(manager);
  AHardwareBuffer_release(shared);
  return EXIT_SUCCESS;
}
