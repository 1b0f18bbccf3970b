/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AAssetManager over a folder. Every name is resolved beneath the folder by the kernel (openat2),
 * or part by part without following links where the kernel does not offer that.
 */
#pragma GCC visibility push(default)
#include <android/asset_manager.h>
#include <nnapi_shim_assets.h>
#pragma GCC visibility pop

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asset_folder.h"

_Static_assert(sizeof(off_t) == sizeof(int64_t), "off_t has 64 bits");

/* folder -1: the folder that the environment names at the time of use. */
struct AAssetManager {
  int folder;
};

struct AAsset {
  int fd;
  int64_t length;
  int64_t position;
  void* buffer;
};

struct AAssetDir {
  char** names;
  size_t count;
  size_t next;
};

static void* none(int error) {
  errno = error;
  return NULL;
}

static int fail(int error) {
  errno = error;
  return -1;
}

static int open_folder(const char* path) {
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

const char* asset_folder_path(void) {
  const char* path = secure_getenv("NNAPI_SHIM_ASSETS");
  return path != NULL && path[0] != '\0' ? path : ".";
}

AAssetManager* asset_folder_of_setting(void) {
  static AAssetManager of_setting = {.folder = -1};
  return &of_setting;
}

/* Returns a descriptor of the manager's folder, which the caller closes; -1 with errno. */
static int folder_of(const AAssetManager* manager) {
  if (manager != NULL && manager->folder >= 0) return fcntl(manager->folder, F_DUPFD_CLOEXEC, 3);
  return open_folder(asset_folder_path());
}

/* Whether a name is absolute or contains "..". */
static int leads_out(const char* name) {
  if (name[0] == '/') return 1;
  for (const char* part = name; part != NULL;) {
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return 1;
    part = strchr(part, '/');
    if (part != NULL) ++part;
  }
  return 0;
}

/* Opens a name part by part, following no links. */
static int open_without_links(int folder, const char* name, int flags) {
  int current = fcntl(folder, F_DUPFD_CLOEXEC, 3);
  while (current >= 0) {
    const char* end = strchrnul(name, '/');
    char part[NAME_MAX + 1];
    size_t length = (size_t)(end - name);
    int error = ENAMETOOLONG;
    int next = -1;
    if (length < sizeof part) {
      memcpy(part, name, length);
      part[length] = '\0';
      int part_flags = *end == '\0' ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC;
      next = openat(current, length == 0 ? "." : part, part_flags | O_NOFOLLOW);
      error = errno;
    }
    close(current);
    errno = error;
    if (*end == '\0' || next < 0) return next;
    current = next;
    name = end + 1;
  }
  return current;
}

/* Opens a name that lies within the folder; -1 with errno. */
static int open_beneath(int folder, const char* name, int flags) {
  if (leads_out(name)) return fail(EXDEV);
  struct open_how how = {
      .flags = (unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  int fd;
  do {
    fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
  } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
  /* Sandboxes that do not know the call return EPERM. */
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    fd = open_without_links(folder, name, flags | O_CLOEXEC);
  }
  return fd;
}

AAssetManager* nnapi_shim_openAssetFolder(const char* path) {
  if (path == NULL) return none(EINVAL);
  int folder = open_folder(path);
  if (folder < 0) return NULL;
  AAssetManager* manager = malloc(sizeof *manager);
  if (manager == NULL) {
    close(folder);
    errno = ENOMEM;
    return NULL;
  }
  manager->folder = folder;
  return manager;
}

void nnapi_shim_closeAssetFolder(AAssetManager* manager) {
  if (manager == NULL || manager->folder < 0) return;
  close(manager->folder);
  free(manager);
}

/* Takes over a descriptor; NULL with errno if it is no regular file. */
static AAsset* make_asset(int fd) {
  struct stat status;
  AAsset* asset = NULL;
  int error = 0;
  if (fstat(fd, &status) != 0) {
    error = errno;
  } else if (!S_ISREG(status.st_mode)) {
    error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  } else {
    asset = calloc(1, sizeof *asset);
    error = ENOMEM;
  }
  if (asset == NULL) {
    close(fd);
    errno = error;
    return NULL;
  }
  asset->fd = fd;
  asset->length = status.st_size;
  return asset;
}

AAsset* AAssetManager_open(AAssetManager* mgr, const char* filename, int mode) {
  (void)mode;
  if (filename == NULL || filename[0] == '\0') return none(EINVAL);
  int folder = folder_of(mgr);
  if (folder < 0) return NULL;
  /* Without O_NONBLOCK a named pipe would block here. */
  int fd = open_beneath(folder, filename, O_RDONLY | O_NONBLOCK);
  int error = errno;
  close(folder);
  errno = error;
  return fd < 0 ? NULL : make_asset(fd);
}

void AAsset_close(AAsset* asset) {
  if (asset == NULL) return;
  if (asset->buffer != NULL) munmap(asset->buffer, (size_t)asset->length);
  close(asset->fd);
  free(asset);
}

int AAsset_read(AAsset* asset, void* buf, size_t count) {
  if (asset == NULL || (buf == NULL && count > 0)) return fail(EINVAL);
  uint64_t remaining = (uint64_t)(asset->length - asset->position);
  if (count > remaining) count = (size_t)remaining;
  if (count > INT_MAX) count = INT_MAX;
  size_t done = 0;
  while (done < count) {
    ssize_t got = pread(asset->fd, (char*)buf + done, count - done, asset->position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && done == 0) return -1;
    if (got <= 0) break;
    done += (size_t)got;
    asset->position += got;
  }
  return (int)done;
}

int64_t AAsset_seek64(AAsset* asset, int64_t offset, int whence) {
  int64_t position = -1;
  if (asset != NULL) {
    int64_t base = whence == SEEK_SET   ? 0
                   : whence == SEEK_CUR ? asset->position
                   : whence == SEEK_END ? asset->length
                                        : -1;
    if (base < 0 || __builtin_add_overflow(base, offset, &position)) position = -1;
  }
  if (position < 0 || position > asset->length) return fail(EINVAL);
  asset->position = position;
  return position;
}

off_t AAsset_seek(AAsset* asset, off_t offset, int whence) {
  return AAsset_seek64(asset, offset, whence);
}

int64_t AAsset_getLength64(AAsset* asset) { return asset == NULL ? 0 : asset->length; }

off_t AAsset_getLength(AAsset* asset) { return AAsset_getLength64(asset); }

off_t AAsset_getRemainingLength(AAsset* asset) {
  return asset == NULL ? 0 : asset->length - asset->position;
}

const void* AAsset_getBuffer(AAsset* asset) {
  if (asset == NULL) return none(EINVAL);
  if (asset->length == 0) return "";
  if (asset->buffer == NULL) {
    void* mapped = mmap(NULL, (size_t)asset->length, PROT_READ, MAP_PRIVATE, asset->fd, 0);
    if (mapped == MAP_FAILED) return NULL;
    asset->buffer = mapped;
  }
  return asset->buffer;
}

int AAsset_openFileDescriptor(AAsset* asset, off_t* outStart, off_t* outLength) {
  if (asset == NULL) return fail(EINVAL);
  int fd = fcntl(asset->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return -1;
  if (outStart != NULL) *outStart = 0;
  if (outLength != NULL) *outLength = asset->length;
  return fd;
}

/* Whether "directory/name" is a regular file that can be opened as an asset. */
static int is_asset(int folder, const char* directory, const char* name) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/%s", directory[0] == '\0' ? "." : directory, name);
  if (length < 0 || (size_t)length >= sizeof path) return 0;
  int fd = open_beneath(folder, path, O_PATH);
  if (fd < 0) return 0;
  struct stat status;
  int is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  close(fd);
  return is_file;
}

static int append(AAssetDir* listing, size_t* capacity, const char* name) {
  if (listing->count == *capacity) {
    size_t larger = *capacity == 0 ? 16 : *capacity * 2;
    char** names = realloc(listing->names, larger * sizeof *names);
    if (names == NULL) return -1;
    listing->names = names;
    *capacity = larger;
  }
  char* copy = strdup(name);
  if (copy == NULL) return -1;
  listing->names[listing->count++] = copy;
  return 0;
}

static int compare_names(const void* left, const void* right) {
  return strcmp(*(char* const*)left, *(char* const*)right);
}

/* Adds all files of a directory, in order. Returns -1 if memory runs out. */
static int fill(AAssetDir* listing, int folder, const char* directory) {
  int fd = open_beneath(folder, directory[0] == '\0' ? "." : directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return 0;
  DIR* stream = fdopendir(fd);
  if (stream == NULL) {
    close(fd);
    return -1;
  }
  size_t capacity = 0;
  int result = 0;
  for (struct dirent* entry; result == 0 && (entry = readdir(stream)) != NULL;) {
    if (is_asset(folder, directory, entry->d_name)) {
      result = append(listing, &capacity, entry->d_name);
    }
  }
  closedir(stream);
  if (listing->count > 1) {
    qsort(listing->names, listing->count, sizeof *listing->names, compare_names);
  }
  return result;
}

AAssetDir* AAssetManager_openDir(AAssetManager* mgr, const char* dirName) {
  if (dirName == NULL) return none(EINVAL);
  AAssetDir* listing = calloc(1, sizeof *listing);
  if (listing == NULL) return NULL;
  int folder = folder_of(mgr);
  if (folder < 0) return listing;
  int result = fill(listing, folder, dirName);
  close(folder);
  if (result != 0) {
    AAssetDir_close(listing);
    errno = ENOMEM;
    return NULL;
  }
  return listing;
}

const char* AAssetDir_getNextFileName(AAssetDir* assetDir) {
  if (assetDir == NULL || assetDir->next == assetDir->count) return NULL;
  return assetDir->names[assetDir->next++];
}

void AAssetDir_rewind(AAssetDir* assetDir) {
  if (assetDir != NULL) assetDir->next = 0;
}

void AAssetDir_close(AAssetDir* assetDir) {
  if (assetDir == NULL) return;
  for (size_t i = 0; i < assetDir->count; ++i) free(assetDir->names[i]);
  free(assetDir->names);
  free(assetDir);
}
