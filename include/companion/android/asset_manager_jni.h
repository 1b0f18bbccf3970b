/* SPDX-License-Identifier: Apache-2.0 */
/* The way from Java's object for assets to the manager of asset_manager.h. */
#ifndef NNAPI_SHIM_ANDROID_ASSET_MANAGER_JNI_H
#define NNAPI_SHIM_ANDROID_ASSET_MANAGER_JNI_H

#include <android/asset_manager.h>
#include <jni.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives the manager that an object of nnapi_shim_newJavaAssetManager() stands for (nnapi_shim_jni.h),
 * with the lifetime that it has there. NULL, which is all that a Java on a desktop can give, stands
 * for the folder that the environment variable NNAPI_SHIM_ASSETS names, or else the current one; a
 * line of log says so once. For any other object it returns NULL, and a line of log says why.
 */
AAssetManager* AAssetManager_fromJava(JNIEnv* env, jobject assetManager);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_ASSET_MANAGER_JNI_H */
