/* SPDX-License-Identifier: Apache-2.0 */
/* How a program on a desktop gets an asset manager; on Android it comes with the activity. */
#ifndef NNAPI_SHIM_ASSETS_H
#define NNAPI_SHIM_ASSETS_H

#include <android/asset_manager.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a manager of the files in a folder; NULL with errno if that cannot be opened. */
AAssetManager* nnapi_shim_openAssetFolder(const char* path);

/** Frees a manager; assets and listings that were opened with it stay. NULL is ignored. */
void nnapi_shim_closeAssetFolder(AAssetManager* manager);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ASSETS_H */
