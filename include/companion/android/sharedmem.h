/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory behind file descriptors: the part of libandroid that programs use with NNAPI. */
#ifndef NNAPI_SHIM_ANDROID_SHAREDMEM_H
#define NNAPI_SHIM_ANDROID_SHAREDMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Creates a region of zeros, for mmap() with MAP_SHARED, and returns its descriptor, which is
 * closed on exec. The name, which may be NULL, is for debugging. The size cannot be changed later.
 * Returns -1 and sets errno on failure: EINVAL if size is 0 or too large, otherwise a reason of the
 * system's such as EMFILE.
 */
int ASharedMemory_create(const char* name, size_t size);

/**
 * Gives the size of a region as it was created; 0 if fd is no such region, with errno EBADF if it
 * is no descriptor at all and ENOTTY if it is something else.
 */
size_t ASharedMemory_getSize(int fd);

/**
 * Reduces what later mappings of a region may do, for all its descriptors: PROT_READ, or PROT_READ
 * | PROT_WRITE while that has not been taken away, optionally with PROT_EXEC. Mappings that exist
 * stay as they are. A region can always be read.
 * Returns 0, or -1 with errno EINVAL (prot cannot be had), EBADF or ENOTTY (see above).
 */
int ASharedMemory_setProt(int fd, int prot);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_SHAREDMEM_H */
