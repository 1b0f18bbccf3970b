/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware buffers: memory that processors and devices share, here always the process's own memory.
 * Both libandroid and libnativewindow offer these functions, and they may be mixed.
 */
#ifndef NNAPI_SHIM_ANDROID_HARDWARE_BUFFER_H
#define NNAPI_SHIM_ANDROID_HARDWARE_BUFFER_H

#include <stdint.h>

#include <android/rect.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the elements of a buffer are. */
enum AHardwareBuffer_Format {
  /** Pixels of four bytes: red, green, blue, alpha. */
  AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
  /** Bytes without structure: width is their number, height and layers are 1. */
  AHARDWAREBUFFER_FORMAT_BLOB = 0x21
};

/** What a buffer is for: one CPU_READ value, one CPU_WRITE value and any of the other bits. */
enum AHardwareBuffer_UsageFlags {
  AHARDWAREBUFFER_USAGE_CPU_READ_NEVER = 0,
  AHARDWAREBUFFER_USAGE_CPU_READ_RARELY = 2,
  AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3,
  AHARDWAREBUFFER_USAGE_CPU_READ_MASK = 0xF,
  AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER = 0,
  AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY = 0x20,
  AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 0x30,
  AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK = 0xF0,
  AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE = 0x100,
  AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER = 0x200,
  AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1 << 24
};

/** Description of a buffer. */
typedef struct AHardwareBuffer_Desc {
  /** Width in pixels; of a BLOB, its size in bytes. */
  uint32_t width;
  /** Height in pixels; 1 for a BLOB. */
  uint32_t height;
  /** Number of images; 1. */
  uint32_t layers;
  /** An AHardwareBuffer_Format. */
  uint32_t format;
  /** Bits of AHardwareBuffer_UsageFlags; those of devices are kept, but have no effect. */
  uint64_t usage;
  /** Pixels from one row to the next; ignored by allocate, filled in by describe. */
  uint32_t stride;
  /** Reserved; 0. */
  uint32_t rfu0;
  /** Reserved; 0. */
  uint64_t rfu1;
} AHardwareBuffer_Desc;

/** A buffer; it lives until its last reference is released. */
typedef struct AHardwareBuffer AHardwareBuffer;

/**
 * Allocates a buffer of zeros and stores a reference to it, or NULL on failure.
 * Returns 0, -EINVAL (NULL, or a description that is not supported) or -ENOMEM.
 */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer);

/** Adds a reference. */
void AHardwareBuffer_acquire(AHardwareBuffer* buffer);

/** Gives up a reference; with the last one the buffer goes. NULL is ignored. */
void AHardwareBuffer_release(AHardwareBuffer* buffer);

/** Tells what a buffer is, stride included. */
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc);

/**
 * Stores the address of a buffer for reading and writing, as the CPU bits of usage say; no other
 * bits may be set, and the buffer must have been allocated for as much. fence is -1 or the
 * descriptor of a fence, which is waited for and closed in any case. rect, if not NULL, says which
 * part is meant and must lie within; the address is that of the buffer's start all the same. A
 * buffer may be locked several times; each lock needs an unlock.
 * Returns 0, -EINVAL, or a negative errno of the wait for the fence; the address is then NULL.
 */
int AHardwareBuffer_lock(
    AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect,
    void** outVirtualAddress);

/**
 * Ends what a lock began. fence, if not NULL, gets -1: nothing is left to be waited for.
 * Returns 0, or -EINVAL if the buffer is NULL or not locked.
 */
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);

/** Returns 1 if a buffer of this description can be allocated, else 0. */
int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc* desc);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_HARDWARE_BUFFER_H */
