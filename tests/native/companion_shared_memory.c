/* SPDX-License-Identifier: Apache-2.0 */
/* ASharedMemory: size, sharing, protection, bad input. */
#include <android/sharedmem.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "require.h"

static const int both = PROT_READ | PROT_WRITE;

static void size_is_kept(void) {
  int fd = ASharedMemory_create("a name", 1001);
  REQUIRE(fd >= 0);
  REQUIRE(ASharedMemory_getSize(fd) == 1001);
  REQUIRE((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(ftruncate(fd, 2000) == -1);
  REQUIRE(ftruncate(fd, 10) == -1);
  REQUIRE(ASharedMemory_getSize(fd) == 1001);
  close(fd);
}

static void mappings_share_zeroed_bytes(void) {
  int fd = ASharedMemory_create(NULL, 8192);
  REQUIRE(fd >= 0);
  unsigned char* first = mmap(NULL, 8192, both, MAP_SHARED, fd, 0);
  unsigned char* second = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(first != MAP_FAILED && second != MAP_FAILED);
  for (int i = 0; i < 8192; ++i) REQUIRE(second[i] == 0);
  first[8191] = 42;
  REQUIRE(second[8191] == 42);
  munmap(first, 8192);
  munmap(second, 8192);
  close(fd);
}

static void protection_can_only_be_reduced(void) {
  int fd = ASharedMemory_create("protected", 4096);
  int copy = dup(fd);
  REQUIRE(fd >= 0 && copy >= 0);
  REQUIRE(ASharedMemory_setProt(fd, both) == 0);
  char* before = mmap(NULL, 4096, both, MAP_SHARED, fd, 0);
  REQUIRE(before != MAP_FAILED);
  REQUIRE(ASharedMemory_setProt(fd, PROT_READ) == 0);
  before[0] = 7;
  REQUIRE(mmap(NULL, 4096, both, MAP_SHARED, fd, 0) == MAP_FAILED);
  REQUIRE(mmap(NULL, 4096, both, MAP_SHARED, copy, 0) == MAP_FAILED);
  char* after = mmap(NULL, 4096, PROT_READ, MAP_SHARED, copy, 0);
  REQUIRE(after != MAP_FAILED && after[0] == 7);
  REQUIRE(ASharedMemory_setProt(fd, PROT_READ) == 0);
  errno = 0;
  REQUIRE(ASharedMemory_setProt(fd, both) == -1 && errno == EINVAL);
  REQUIRE(ASharedMemory_getSize(fd) == 4096);
  munmap(before, 4096);
  munmap(after, 4096);
  close(fd);
  close(copy);
}

static void bad_input_is_refused(void) {
  errno = 0;
  REQUIRE(ASharedMemory_create("empty", 0) == -1 && errno == EINVAL);
  errno = 0;
  REQUIRE(ASharedMemory_create("huge", SIZE_MAX) == -1 && errno == EINVAL);
  char long_name[1000];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  int fd = ASharedMemory_create(long_name, 16);
  REQUIRE(fd >= 0);
  errno = 0;
  REQUIRE(ASharedMemory_setProt(fd, PROT_NONE) == -1 && errno == EINVAL);
  errno = 0;
  REQUIRE(ASharedMemory_setProt(fd, PROT_READ | 0x40000000) == -1 && errno == EINVAL);
  close(fd);
  errno = 0;
  REQUIRE(ASharedMemory_getSize(-1) == 0 && errno == EBADF);
  errno = 0;
  REQUIRE(ASharedMemory_setProt(-1, PROT_READ) == -1 && errno == EBADF);
  int null = open("/dev/null", O_RDWR);
  errno = 0;
  REQUIRE(ASharedMemory_getSize(null) == 0 && errno == ENOTTY);
  errno = 0;
  REQUIRE(ASharedMemory_setProt(null, PROT_READ) == -1 && errno == ENOTTY);
  close(null);
}

int main(void) {
  size_is_kept();
  mappings_share_zeroed_bytes();
  protection_can_only_be_reduced();
  bad_input_is_refused();
  return EXIT_SUCCESS;
}
