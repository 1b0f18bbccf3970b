/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled model is kept in a directory, and the next compilation loads it from there. */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    int code = (call);                                                               \
    if (code != ANEURALNETWORKS_NO_ERROR) {                                          \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, code, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

/* The model y = a + b, each of `count` float32 values. */
static ANeuralNetworksModel* build(uint32_t count) {
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &count};
  const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const uint32_t operands[] = {0, 1, 2}, sum[] = {3};
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, sum));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, operands, 1, sum));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

enum { COUNT = 2 };

/* The token tells this model from others of the program: a hash of its file, or its version. */
static const uint8_t TOKEN[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = "sum, version 1";

static void compile_and_run(const char* directory) {
  ANeuralNetworksModel* model = build(COUNT);
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_setCaching(compilation, directory, TOKEN));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  const float a[COUNT] = {1, 2}, b[COUNT] = {3, 4};
  float y[COUNT] = {0};
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, a, sizeof a));
  CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, b, sizeof b));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, sizeof y));
  CHECK(ANeuralNetworksExecution_compute(execution));
  printf("result: %g %g\n", y[0], y[1]);
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
}

/* The number of files in a directory, which are removed if the program has done with them. */
static int count_files(const char* directory, int is_done) {
  DIR* folder = opendir(directory);
  int count = 0;
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    ++count;
    if (is_done) unlinkat(dirfd(folder), entry->d_name, 0);
  }
  if (folder != NULL) closedir(folder);
  return count;
}

int main(void) {
  /* A directory of this user that nobody else can write to; others are not used. */
  char directory[] = "/tmp/nnapi-cache-XXXXXX";
  if (mkdtemp(directory) == NULL || chmod(directory, 0700) != 0) return EXIT_FAILURE;

  compile_and_run(directory); /* compiles, and writes */
  const int written = count_files(directory, 0);
  compile_and_run(directory); /* loads */
  const int kept = count_files(directory, 1);
  rmdir(directory);
  /* Not every device keeps what it has compiled. */
  printf("cache: %s\n", written > 0 && kept == written ? "written and kept" : "not used");
  return EXIT_SUCCESS;
}
