/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AAssetManager over the folder argv[1], which holds digits.txt ("0123456789"), empty.bin,
 * models/a.bin, models/b.bin, models/deeper/c.bin, a link inside.txt to digits.txt, a link
 * outside.txt to a file beside the folder, a link away to the folder's parent, and a named pipe.
 */
#include <fcntl.h>
#include <nnapi_shim_assets.h>
#include <string.h>
#include <unistd.h>

#include "require.h"

static AAssetManager* manager;

static void reading(void) {
  AAsset* asset = AAssetManager_open(manager, "digits.txt", AASSET_MODE_STREAMING);
  REQUIRE(asset != NULL);
  char text[16] = "";
  REQUIRE(AAsset_getLength(asset) == 10 && AAsset_getLength64(asset) == 10);
  REQUIRE(AAsset_getRemainingLength(asset) == 10);
  REQUIRE(AAsset_read(asset, text, 4) == 4 && memcmp(text, "0123", 4) == 0);
  REQUIRE(AAsset_getRemainingLength(asset) == 6);
  REQUIRE(AAsset_read(asset, text, sizeof text) == 6 && memcmp(text, "456789", 6) == 0);
  REQUIRE(AAsset_read(asset, text, sizeof text) == 0);
  REQUIRE(AAsset_read(asset, NULL, 0) == 0);
  REQUIRE(AAsset_seek(asset, 0, SEEK_SET) == 0);
  REQUIRE(AAsset_read(asset, NULL, 4) == -1);
  AAsset_close(asset);
}

static void seeking(void) {
  AAsset* asset = AAssetManager_open(manager, "digits.txt", AASSET_MODE_RANDOM);
  REQUIRE(asset != NULL);
  char digit = 0;
  REQUIRE(AAsset_seek(asset, 3, SEEK_SET) == 3);
  REQUIRE(AAsset_read(asset, &digit, 1) == 1 && digit == '3');
  REQUIRE(AAsset_seek64(asset, 2, SEEK_CUR) == 6);
  REQUIRE(AAsset_read(asset, &digit, 1) == 1 && digit == '6');
  REQUIRE(AAsset_seek(asset, -1, SEEK_END) == 9);
  REQUIRE(AAsset_read(asset, &digit, 1) == 1 && digit == '9');
  REQUIRE(AAsset_seek(asset, 0, SEEK_END) == 10);
  REQUIRE(AAsset_seek(asset, 5, SEEK_SET) == 5);
  errno = 0;
  REQUIRE(AAsset_seek(asset, 11, SEEK_SET) == -1 && errno == EINVAL);
  REQUIRE(AAsset_seek(asset, -6, SEEK_CUR) == -1);
  REQUIRE(AAsset_seek64(asset, INT64_MAX, SEEK_CUR) == -1);
  REQUIRE(AAsset_seek64(asset, INT64_MIN, SEEK_END) == -1);
  REQUIRE(AAsset_seek(asset, 0, 77) == -1);
  REQUIRE(AAsset_getRemainingLength(asset) == 5);
  AAsset_close(asset);
}

static void buffers_and_descriptors(void) {
  AAsset* asset = AAssetManager_open(manager, "models/a.bin", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  const char* bytes = AAsset_getBuffer(asset);
  REQUIRE(bytes != NULL && memcmp(bytes, "file a", 6) == 0);
  REQUIRE(AAsset_getBuffer(asset) == bytes);
  off_t start = -1, length = -1;
  int fd = AAsset_openFileDescriptor(asset, &start, &length);
  REQUIRE(fd >= 0 && start == 0 && length == 6);
  AAsset_close(asset);
  char text[6];
  REQUIRE(pread(fd, text, 6, start) == 6 && memcmp(text, "file a", 6) == 0);
  REQUIRE((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  close(fd);

  asset = AAssetManager_open(manager, "empty.bin", AASSET_MODE_UNKNOWN);
  REQUIRE(asset != NULL && AAsset_getLength(asset) == 0 && AAsset_getBuffer(asset) != NULL);
  AAsset_close(asset);
}

static void names_stay_inside(const char* folder) {
  const char* const refused[] = {
      "../outside.txt", "models/../../outside.txt", "models/../digits.txt", "..", "/etc/passwd",
      "outside.txt",    "away/outside.txt",         "missing.txt",          "",   "models",
      "pipe",           "digits.txt/",              ".",
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    errno = 0;
    if (AAssetManager_open(manager, refused[i], AASSET_MODE_BUFFER) != NULL || errno == 0) {
      fprintf(stderr, "opened, or no errno: \"%s\"\n", refused[i]);
      exit(EXIT_FAILURE);
    }
  }
  char absolute[4096];
  snprintf(absolute, sizeof absolute, "%s/digits.txt", folder);
  REQUIRE(AAssetManager_open(manager, absolute, AASSET_MODE_BUFFER) == NULL);
  REQUIRE(AAssetManager_open(manager, NULL, AASSET_MODE_BUFFER) == NULL);
  char long_name[6000];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  REQUIRE(AAssetManager_open(manager, long_name, AASSET_MODE_BUFFER) == NULL);

  AAsset* asset = AAssetManager_open(manager, "inside.txt", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  AAsset_close(asset);
  asset = AAssetManager_open(manager, "./models//b.bin", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  AAsset_close(asset);
}

static void expect_names(const char* folder, const char* const* names) {
  AAssetDir* listing = AAssetManager_openDir(manager, folder);
  REQUIRE(listing != NULL);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; names[i] != NULL; ++i) {
      const char* name = AAssetDir_getNextFileName(listing);
      REQUIRE(name != NULL && strcmp(name, names[i]) == 0);
    }
    REQUIRE(AAssetDir_getNextFileName(listing) == NULL);
    REQUIRE(AAssetDir_getNextFileName(listing) == NULL);
    AAssetDir_rewind(listing);
  }
  AAssetDir_close(listing);
}

static void listings(void) {
  const char* const root[] = {"digits.txt", "empty.bin", "inside.txt", NULL};
  const char* const models[] = {"a.bin", "b.bin", NULL};
  const char* const none[] = {NULL};
  expect_names("", root);
  expect_names("models", models);
  expect_names("models/", models);
  expect_names("missing", none);
  expect_names("digits.txt", none);
  expect_names("..", none);
  expect_names("/", none);
  expect_names("away", none);
  REQUIRE(AAssetManager_openDir(manager, NULL) == NULL);
}

/* NNAPI_SHIM_ASSETS names the same folder here; without it, the current folder counts. */
static void no_manager(const char* folder) {
  AAsset* asset = AAssetManager_open(NULL, "digits.txt", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  AAsset_close(asset);
  unsetenv("NNAPI_SHIM_ASSETS");
  REQUIRE(AAssetManager_open(NULL, "a.bin", AASSET_MODE_BUFFER) == NULL);
  REQUIRE(chdir(folder) == 0 && chdir("models") == 0);
  asset = AAssetManager_open(NULL, "a.bin", AASSET_MODE_BUFFER);
  REQUIRE(asset != NULL);
  AAsset_close(asset);
}

static void null_is_harmless(void) {
  off_t start, length;
  AAsset_close(NULL);
  AAssetDir_close(NULL);
  AAssetDir_rewind(NULL);
  nnapi_shim_closeAssetFolder(NULL);
  REQUIRE(AAssetDir_getNextFileName(NULL) == NULL);
  REQUIRE(AAsset_getLength(NULL) == 0 && AAsset_getRemainingLength(NULL) == 0);
  REQUIRE(AAsset_read(NULL, &start, 1) == -1 && AAsset_seek(NULL, 0, SEEK_SET) == -1);
  REQUIRE(AAsset_getBuffer(NULL) == NULL);
  REQUIRE(AAsset_openFileDescriptor(NULL, &start, &length) == -1);
  REQUIRE(nnapi_shim_openAssetFolder(NULL) == NULL);
  errno = 0;
  REQUIRE(nnapi_shim_openAssetFolder("/nowhere/at/all") == NULL && errno == ENOENT);
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  int first_free = dup(0);
  close(first_free);
  manager = nnapi_shim_openAssetFolder(argv[1]);
  REQUIRE(manager != NULL);
  reading();
  seeking();
  buffers_and_descriptors();
  names_stay_inside(argv[1]);
  listings();
  nnapi_shim_closeAssetFolder(manager);
  no_manager(argv[1]);
  null_is_harmless();
  int free_now = dup(0);
  REQUIRE(free_now == first_free); /* every descriptor was closed */
  return EXIT_SUCCESS;
}
