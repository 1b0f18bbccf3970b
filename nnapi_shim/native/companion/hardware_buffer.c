/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AHardwareBuffer as memory of the process. All state is in the buffer itself, so libandroid and
 * libnativewindow can both contain this file, as both offer these functions on Android: a buffer
 * from one works with the other.
 */
#pragma GCC visibility push(default)
#include <android/hardware_buffer.h>
#pragma GCC visibility pop

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES_PER_PIXEL = 4, ROW_ALIGNMENT_PIXELS = 16 };

static const uint64_t cpu_read = AHARDWAREBUFFER_USAGE_CPU_READ_MASK;
static const uint64_t cpu_write = AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK;

/* The first word of every buffer. It detects other pointers and buffers after their release, as
 * long as their memory can be read. */
static const uint64_t is_buffer = UINT64_C(0x6e6e61684157b0f3);

struct AHardwareBuffer {
  _Atomic uint64_t kind;
  atomic_uint references;
  atomic_uint locks;
  AHardwareBuffer_Desc desc;
  size_t size_bytes;
  void* memory;
};

static int is_valid(const AHardwareBuffer* buffer) {
  return buffer != NULL && atomic_load(&((AHardwareBuffer*)buffer)->kind) == is_buffer;
}

/* Fills in the stride and returns the size in bytes; 0 if there can be no such buffer. */
static uint64_t lay_out(AHardwareBuffer_Desc* desc) {
  if (desc->width == 0 || desc->height == 0 || desc->layers != 1) return 0;
  if (desc->rfu0 != 0 || desc->rfu1 != 0) return 0;
  switch (desc->format) {
    case AHARDWAREBUFFER_FORMAT_BLOB:
      desc->stride = desc->width;
      return desc->height == 1 ? desc->width : 0;
    case AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM:
      if (desc->width > UINT32_MAX - ROW_ALIGNMENT_PIXELS) return 0;
      desc->stride = (desc->width + ROW_ALIGNMENT_PIXELS - 1) / ROW_ALIGNMENT_PIXELS *
                     ROW_ALIGNMENT_PIXELS;
      uint64_t pixels = (uint64_t)desc->stride * desc->height;
      return pixels <= PTRDIFF_MAX / BYTES_PER_PIXEL ? pixels * BYTES_PER_PIXEL : 0;
    default:
      return 0;
  }
}

int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc* desc) {
  if (desc == NULL) return 0;
  AHardwareBuffer_Desc copy = *desc;
  return lay_out(&copy) != 0;
}

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer) {
  if (outBuffer == NULL) return -EINVAL;
  *outBuffer = NULL;
  if (desc == NULL) return -EINVAL;
  AHardwareBuffer_Desc laid_out = *desc;
  uint64_t size_bytes = lay_out(&laid_out);
  if (size_bytes == 0) return -EINVAL;
  AHardwareBuffer* buffer = malloc(sizeof *buffer);
  if (buffer == NULL) return -ENOMEM;
  /* Shared, so that a forked child sees the same bytes, as it does on Android. */
  void* memory = mmap(
      NULL, (size_t)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    free(buffer);
    return -ENOMEM;
  }
  atomic_init(&buffer->kind, is_buffer);
  atomic_init(&buffer->references, 1);
  atomic_init(&buffer->locks, 0);
  buffer->desc = laid_out;
  buffer->size_bytes = (size_t)size_bytes;
  buffer->memory = memory;
  *outBuffer = buffer;
  return 0;
}

void AHardwareBuffer_acquire(AHardwareBuffer* buffer) {
  if (is_valid(buffer)) atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
}

void AHardwareBuffer_release(AHardwareBuffer* buffer) {
  if (!is_valid(buffer)) return;
  if (atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1) return;
  atomic_store(&buffer->kind, 0);
  munmap(buffer->memory, buffer->size_bytes);
  free(buffer);
}

void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc) {
  if (outDesc == NULL) return;
  *outDesc = is_valid(buffer) ? buffer->desc : (AHardwareBuffer_Desc){0};
}

/* Whether a buffer may be used in this way by the CPU. */
static int allows(const AHardwareBuffer* buffer, uint64_t usage) {
  uint64_t allocated = buffer->desc.usage;
  if (usage == 0 || (usage & ~(cpu_read | cpu_write)) != 0) return 0;
  if ((usage & cpu_read) != 0 && (allocated & cpu_read) == 0) return 0;
  return (usage & cpu_write) == 0 || (allocated & cpu_write) != 0;
}

static int contains(const AHardwareBuffer_Desc* desc, const ARect* rect) {
  return rect->left >= 0 && rect->top >= 0 && rect->left < rect->right &&
         rect->top < rect->bottom && (uint32_t)rect->right <= desc->width &&
         (uint32_t)rect->bottom <= desc->height;
}

/* Waits for a fence and closes it. Returns 0 or a negative errno. */
static int wait_and_close(int32_t fence) {
  if (fence < 0) return 0;
  struct pollfd state = {.fd = fence, .events = POLLIN};
  int result;
  do {
    result = poll(&state, 1, -1);
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    result = -errno;
  } else {
    result = (state.revents & (POLLERR | POLLNVAL)) != 0 ? -EINVAL : 0;
  }
  close(fence);
  return result;
}

int AHardwareBuffer_lock(
    AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect,
    void** outVirtualAddress) {
  if (outVirtualAddress != NULL) *outVirtualAddress = NULL;
  int is_allowed = is_valid(buffer) && outVirtualAddress != NULL && allows(buffer, usage) &&
                   (rect == NULL || contains(&buffer->desc, rect));
  if (!is_allowed) {
    if (fence >= 0) close(fence);
    return -EINVAL;
  }
  int result = wait_and_close(fence);
  if (result != 0) return result;
  atomic_fetch_add(&buffer->locks, 1);
  *outVirtualAddress = buffer->memory;
  return 0;
}

int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence) {
  if (fence != NULL) *fence = -1;
  if (!is_valid(buffer)) return -EINVAL;
  unsigned locks = atomic_load(&buffer->locks);
  do {
    if (locks == 0) return -EINVAL;
  } while (!atomic_compare_exchange_weak(&buffer->locks, &locks, locks - 1));
  return 0;
}
