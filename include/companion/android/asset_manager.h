/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assets: the read-only files that come with a program. Here they are the files of a folder, given
 * by nnapi_shim_openAssetFolder() of nnapi_shim_assets.h; a manager of NULL means the folder named
 * by the environment variable NNAPI_SHIM_ASSETS, or else the current one.
 *
 * Names are relative to that folder, with "/" between their parts. Nothing outside can be reached:
 * absolute names, names with a part "..", and symbolic links that lead out count as not there.
 * An asset or a listing is for one thread at a time.
 */
#ifndef NNAPI_SHIM_ANDROID_ASSET_MANAGER_H
#define NNAPI_SHIM_ANDROID_ASSET_MANAGER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where assets come from. */
typedef struct AAssetManager AAssetManager;
/** A listing of the files in one folder of the assets. */
typedef struct AAssetDir AAssetDir;
/** An open asset with a reading position. */
typedef struct AAsset AAsset;

/** How a program is going to read an asset; a hint without effect here. */
enum {
  AASSET_MODE_UNKNOWN = 0,
  AASSET_MODE_RANDOM = 1,
  AASSET_MODE_STREAMING = 2,
  AASSET_MODE_BUFFER = 3
};

/**
 * Lists a folder; "" is the root. One that is not there has no files.
 * Returns NULL if dirName is NULL or memory runs out.
 */
AAssetDir* AAssetManager_openDir(AAssetManager* mgr, const char* dirName);

/**
 * Opens an asset for reading.
 * Returns NULL and sets errno if there is no such file, or the name leads out of the folder.
 */
AAsset* AAssetManager_open(AAssetManager* mgr, const char* filename, int mode);

/**
 * Gives the names of the files, folders left out, one per call and in the order of their bytes;
 * NULL after the last. A name belongs to the listing and is valid until the next call on it.
 */
const char* AAssetDir_getNextFileName(AAssetDir* assetDir);

/** Starts again with the first name. */
void AAssetDir_rewind(AAssetDir* assetDir);

/** Frees a listing. NULL is ignored. */
void AAssetDir_close(AAssetDir* assetDir);

/**
 * Reads from the current position and moves it.
 * Returns the number of bytes, which is less than count only at the end and 0 behind it, or -1 with
 * errno.
 */
int AAsset_read(AAsset* asset, void* buf, size_t count);

/**
 * Moves the position as lseek() does, within 0 and the length.
 * Returns the new one, or -1 with errno EINVAL.
 */
off_t AAsset_seek(AAsset* asset, off_t offset, int whence);

/** As AAsset_seek(), always with 64 bits. */
int64_t AAsset_seek64(AAsset* asset, int64_t offset, int whence);

/** Closes an asset; its buffer goes, descriptors from it stay. NULL is ignored. */
void AAsset_close(AAsset* asset);

/** Gives the address of the whole content, valid until close, or NULL with errno. */
const void* AAsset_getBuffer(AAsset* asset);

/** Gives the length in bytes. */
off_t AAsset_getLength(AAsset* asset);

/** As AAsset_getLength(), always with 64 bits. */
int64_t AAsset_getLength64(AAsset* asset);

/** Gives the number of bytes from the current position to the end. */
off_t AAsset_getRemainingLength(AAsset* asset);

/**
 * Returns a new descriptor of the file in which the asset lies, for the caller to close, and stores
 * where in it the content begins and its length; -1 with errno on failure.
 */
int AAsset_openFileDescriptor(AAsset* asset, off_t* outStart, off_t* outLength);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_ASSET_MANAGER_H */
