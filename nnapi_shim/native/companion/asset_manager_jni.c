/* SPDX-License-Identifier: Apache-2.0 */
/* Asset managers as Java objects. */
#pragma GCC visibility push(default)
#include <android/asset_manager_jni.h>
#include <nnapi_shim_jni.h>
#pragma GCC visibility pop

#include <stdatomic.h>
#include <stddef.h>

#include "asset_folder.h"
#include "java.h"
#include "log_line.h"

jobject nnapi_shim_newJavaAssetManager(JNIEnv* env, AAssetManager* manager) {
  struct java_object* type = java_class("android/content/res/AssetManager");
  void* content = manager == NULL ? asset_folder_of_setting() : manager;
  return java_new(env, JAVA_ASSET_MANAGER, type, 0, content);
}

/* The asset manager of a program without Java objects. */
static AAssetManager* without_java(void) {
  static atomic_flag is_told = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&is_told)) {
    log_say(ANDROID_LOG_INFO,
            "AAssetManager_fromJava: there is no Java object; the assets are the files in the "
            "folder '%s' (NNAPI_SHIM_ASSETS)",
            asset_folder_path());
  }
  return asset_folder_of_setting();
}

AAssetManager* AAssetManager_fromJava(JNIEnv* env, jobject assetManager) {
  if (assetManager == NULL) return without_java();
  if (java_is_ours(env)) {
    const struct java_object* object = java_expect_any(assetManager, "AAssetManager_fromJava");
    if (object->kind == JAVA_ASSET_MANAGER) return object->content;
  }
  log_say(ANDROID_LOG_ERROR,
          "AAssetManager_fromJava: the object is not from nnapi_shim_newJavaAssetManager(); NULL "
          "stands for the folder of NNAPI_SHIM_ASSETS");
  return NULL;
}
