/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of assets that the environment names. */
#ifndef NNAPI_SHIM_ASSET_FOLDER_H
#define NNAPI_SHIM_ASSET_FOLDER_H

#include <android/asset_manager.h>

/* The folder's path. */
const char* asset_folder_path(void);

/* A manager for the same folder as NULL; it is never freed. */
AAssetManager* asset_folder_of_setting(void);

#endif /* NNAPI_SHIM_ASSET_FOLDER_H */
