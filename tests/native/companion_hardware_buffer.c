/* SPDX-License-Identifier: Apache-2.0 */
/* AHardwareBuffer: descriptions, references, locks, and the two libraries that offer it. */
#include <android/hardware_buffer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "require.h"

static const uint64_t reads = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN;
static const uint64_t writes = AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
static const uint64_t gpu = AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER;

static AHardwareBuffer_Desc blob(uint32_t size) {
  return (AHardwareBuffer_Desc){
      .width = size,
      .height = 1,
      .layers = 1,
      .format = AHARDWAREBUFFER_FORMAT_BLOB,
      .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN |
               AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER};
}

static AHardwareBuffer_Desc image(uint32_t width, uint32_t height) {
  AHardwareBuffer_Desc desc = blob(width);
  desc.height = height;
  desc.format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM;
  return desc;
}

static AHardwareBuffer* allocate(AHardwareBuffer_Desc desc) {
  AHardwareBuffer* buffer = NULL;
  REQUIRE(AHardwareBuffer_isSupported(&desc) == 1);
  REQUIRE(AHardwareBuffer_allocate(&desc, &buffer) == 0 && buffer != NULL);
  return buffer;
}

static void a_description_comes_back(void) {
  AHardwareBuffer* buffer = allocate(blob(1000));
  AHardwareBuffer_Desc desc;
  AHardwareBuffer_describe(buffer, &desc);
  REQUIRE(desc.width == 1000 && desc.height == 1 && desc.layers == 1);
  REQUIRE(desc.format == AHARDWAREBUFFER_FORMAT_BLOB && desc.usage == (reads | writes | gpu));
  REQUIRE(desc.stride == 1000 && desc.rfu0 == 0 && desc.rfu1 == 0);
  AHardwareBuffer_release(buffer);

  buffer = allocate(image(17, 5));
  AHardwareBuffer_describe(buffer, &desc);
  REQUIRE(desc.width == 17 && desc.height == 5 && desc.stride >= 17);
  unsigned char* pixels = NULL;
  REQUIRE(AHardwareBuffer_lock(buffer, writes, -1, NULL, (void**)&pixels) == 0);
  memset(pixels, 255, (size_t)desc.stride * desc.height * 4);
  REQUIRE(AHardwareBuffer_unlock(buffer, NULL) == 0);
  AHardwareBuffer_release(buffer);
}

static void the_last_reference_frees(void) {
  AHardwareBuffer* buffer = allocate(blob(64));
  AHardwareBuffer_acquire(buffer);
  AHardwareBuffer_release(buffer);
  char* bytes = NULL;
  REQUIRE(AHardwareBuffer_lock(buffer, reads | writes, -1, NULL, (void**)&bytes) == 0);
  for (int i = 0; i < 64; ++i) REQUIRE(bytes[i] == 0);
  bytes[63] = 1;
  REQUIRE(AHardwareBuffer_unlock(buffer, NULL) == 0);
  AHardwareBuffer_release(buffer);
}

static void* acquire_and_release(void* buffer) {
  for (int i = 0; i < 10000; ++i) {
    AHardwareBuffer_acquire(buffer);
    void* bytes = NULL;
    REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, NULL, &bytes) == 0);
    REQUIRE(AHardwareBuffer_unlock(buffer, NULL) == 0);
    AHardwareBuffer_release(buffer);
  }
  return NULL;
}

static void references_are_counted_on_many_threads(void) {
  AHardwareBuffer* buffer = allocate(blob(64));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, acquire_and_release, buffer) == 0);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  REQUIRE(AHardwareBuffer_unlock(buffer, NULL) == -EINVAL);
  AHardwareBuffer_release(buffer);
}

static void locks_are_checked(void) {
  AHardwareBuffer* buffer = allocate(blob(64));
  void *first = NULL, *second = NULL;
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, NULL, &first) == 0);
  REQUIRE(AHardwareBuffer_lock(buffer, writes, -1, NULL, &second) == 0 && first == second);
  int32_t fence = 5;
  REQUIRE(AHardwareBuffer_unlock(buffer, &fence) == 0 && fence == -1);
  REQUIRE(AHardwareBuffer_unlock(buffer, &fence) == 0);
  REQUIRE(AHardwareBuffer_unlock(buffer, &fence) == -EINVAL);

  REQUIRE(AHardwareBuffer_lock(buffer, 0, -1, NULL, &first) == -EINVAL && first == NULL);
  REQUIRE(AHardwareBuffer_lock(buffer, reads | gpu, -1, NULL, &first) == -EINVAL);
  REQUIRE(AHardwareBuffer_lock(NULL, reads, -1, NULL, &first) == -EINVAL);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, NULL, NULL) == -EINVAL);
  AHardwareBuffer_release(buffer);

  AHardwareBuffer_Desc read_only = blob(64);
  read_only.usage = reads;
  buffer = allocate(read_only);
  REQUIRE(AHardwareBuffer_lock(buffer, writes, -1, NULL, &first) == -EINVAL);
  const uint64_t rarely = AHARDWAREBUFFER_USAGE_CPU_READ_RARELY;
  REQUIRE(AHardwareBuffer_lock(buffer, rarely, -1, NULL, &first) == 0);
  AHardwareBuffer_release(buffer);
}

static void rectangles_lie_within(void) {
  AHardwareBuffer* buffer = allocate(image(32, 8));
  void *all = NULL, *part = NULL;
  const ARect inside = {4, 2, 32, 8}, wide = {0, 0, 33, 8}, flat = {0, 3, 8, 3};
  const ARect negative = {-1, 0, 4, 4};
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, NULL, &all) == 0);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, &inside, &part) == 0 && part == all);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, &wide, &part) == -EINVAL);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, &flat, &part) == -EINVAL);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, -1, &negative, &part) == -EINVAL);
  AHardwareBuffer_release(buffer);
}

static void* signal_later(void* fd) {
  usleep(20000);
  REQUIRE(write(*(int*)fd, "", 1) == 1);
  return NULL;
}

static void fences_are_waited_for_and_closed(void) {
  AHardwareBuffer* buffer = allocate(blob(64));
  void* bytes = NULL;
  int ends[2];
  pthread_t thread;
  REQUIRE(pipe(ends) == 0);
  REQUIRE(pthread_create(&thread, NULL, signal_later, &ends[1]) == 0);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, ends[0], NULL, &bytes) == 0 && bytes != NULL);
  pthread_join(thread, NULL);
  REQUIRE(close(ends[0]) == -1);
  close(ends[1]);

  REQUIRE(pipe(ends) == 0);
  REQUIRE(AHardwareBuffer_lock(buffer, gpu, ends[0], NULL, &bytes) == -EINVAL);
  REQUIRE(close(ends[0]) == -1);
  close(ends[1]);
  REQUIRE(AHardwareBuffer_lock(buffer, reads, 12345, NULL, &bytes) == -EINVAL && bytes == NULL);
  AHardwareBuffer_release(buffer);
}

static void bad_descriptions_are_refused(void) {
  AHardwareBuffer_Desc bad[9];
  for (int i = 0; i < 9; ++i) bad[i] = blob(64);
  bad[0].width = 0;
  bad[1].height = 0;
  bad[2].height = 2;
  bad[3].layers = 0;
  bad[4].layers = 2;
  bad[5].format = 0x7fffffff;
  bad[6].rfu0 = 1;
  bad[7].rfu1 = 1;
  bad[8].format = 0;
  for (int i = 0; i < 9; ++i) {
    AHardwareBuffer* buffer = (AHardwareBuffer*)&bad;
    REQUIRE(AHardwareBuffer_isSupported(&bad[i]) == 0);
    REQUIRE(AHardwareBuffer_allocate(&bad[i], &buffer) == -EINVAL && buffer == NULL);
  }
  AHardwareBuffer_Desc huge = image(UINT32_MAX - 100, UINT32_MAX);
  AHardwareBuffer* buffer = NULL;
  REQUIRE(AHardwareBuffer_allocate(&huge, &buffer) < 0 && buffer == NULL);
  AHardwareBuffer_Desc good = blob(64);
  REQUIRE(AHardwareBuffer_allocate(NULL, &buffer) == -EINVAL);
  REQUIRE(AHardwareBuffer_allocate(&good, NULL) == -EINVAL);
  REQUIRE(AHardwareBuffer_isSupported(NULL) == 0);
  AHardwareBuffer_acquire(NULL);
  AHardwareBuffer_release(NULL);
  AHardwareBuffer_describe(NULL, &good);
}

/* A buffer made by one library is used and released by the other. */
static void both_libraries_agree(void) {
  void* one = dlopen("libandroid.so", RTLD_NOW | RTLD_LOCAL);
  void* other = dlopen("libnativewindow.so", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(one != NULL && other != NULL);
  int (*allocate_there)(const AHardwareBuffer_Desc*, AHardwareBuffer**);
  int (*lock_here)(AHardwareBuffer*, uint64_t, int32_t, const ARect*, void**);
  void (*release_here)(AHardwareBuffer*);
  *(void**)&allocate_there = dlsym(one, "AHardwareBuffer_allocate");
  *(void**)&lock_here = dlsym(other, "AHardwareBuffer_lock");
  *(void**)&release_here = dlsym(other, "AHardwareBuffer_release");
  AHardwareBuffer_Desc desc = blob(64);
  AHardwareBuffer* buffer = NULL;
  void* bytes = NULL;
  REQUIRE(allocate_there(&desc, &buffer) == 0);
  REQUIRE(lock_here(buffer, reads, -1, NULL, &bytes) == 0 && bytes != NULL);
  release_here(buffer);
}

int main(void) {
  a_description_comes_back();
  the_last_reference_frees();
  references_are_counted_on_many_threads();
  locks_are_checked();
  rectangles_lie_within();
  fences_are_waited_for_and_closed();
  bad_descriptions_are_refused();
  both_libraries_agree();
  return EXIT_SUCCESS;
}
