/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ASharedMemory over memfd_create(). A region is a memfd whose size is sealed; the seal identifies
 * a region. Removing PROT_WRITE adds a seal, so it applies to every process that has the descriptor.
 */
#pragma GCC visibility push(default)
#include <android/sharedmem.h>
#pragma GCC visibility pop

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum {
  SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
  WRITE_SEALS = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE,
  /* The kernel accepts names of at most 249 bytes. */
  NAME_CAPACITY = 250
};

static int fail(int error) {
  errno = error;
  return -1;
}

/* The seals of a region; -1 with errno EBADF or ENOTTY if fd is none. */
static int region_seals(int fd) {
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return fail(errno == EBADF ? EBADF : ENOTTY);
  if ((seals & SIZE_SEALS) != SIZE_SEALS) return fail(ENOTTY);
  return seals;
}

int ASharedMemory_create(const char* name, size_t size) {
  if (size == 0 || size > INT64_MAX) return fail(EINVAL);
  char short_name[NAME_CAPACITY] = "shared memory";
  if (name != NULL) {
    size_t length = strnlen(name, sizeof short_name - 1);
    memcpy(short_name, name, length);
    short_name[length] = '\0';
  }
  int fd = memfd_create(short_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, SIZE_SEALS) != 0) {
    int error = errno == EFBIG ? EINVAL : errno;
    close(fd);
    return fail(error);
  }
  return fd;
}

size_t ASharedMemory_getSize(int fd) {
  struct stat status;
  if (region_seals(fd) < 0 || fstat(fd, &status) != 0) return 0;
  return (size_t)status.st_size;
}

int ASharedMemory_setProt(int fd, int prot) {
  int seals = region_seals(fd);
  if (seals < 0) return -1;
  int is_writable = (seals & WRITE_SEALS) == 0;
  int unknown = prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC);
  if (unknown != 0 || !(prot & PROT_READ) || ((prot & PROT_WRITE) && !is_writable)) return fail(EINVAL);
  if ((prot & PROT_WRITE) || !is_writable) return 0;
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0) return 0;
  /* Kernels before 5.1 only have the seal that fails while a writable mapping exists. */
  return errno == EINVAL ? fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) : -1;
}
