/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every example of the C reference; the test compiles it with them. */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

ANeuralNetworksModel* build(void);
ANeuralNetworksCompilation* compile(ANeuralNetworksModel*);
int run(ANeuralNetworksCompilation*, const float[2], float[2]);
int run_in_background(ANeuralNetworksExecution*);
int run_all(ANeuralNetworksCompilation*, ANeuralNetworksExecution* const*, int);
ANeuralNetworksMemory* use_file(ANeuralNetworksExecution*, int);
ANeuralNetworksMemory* carry(const ANeuralNetworksCompilation*);
int describe(const ANeuralNetworksDevice*);
ANeuralNetworksDevice* find(const char*);
int name_operand(ANeuralNetworksModel*, int32_t, const char*);

static void require(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "wrong: %s: %s\n", what, nnapi_shim_getLastError());
  exit(EXIT_FAILURE);
}

static ANeuralNetworksExecution* create(
    ANeuralNetworksCompilation* compilation, const float* x, float* y) {
  ANeuralNetworksExecution* execution = NULL;
  require(!ANeuralNetworksExecution_create(compilation, &execution), "create");
  if (x) require(!ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 8), "input");
  require(!ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, 8), "output");
  return execution;
}

int main(void) {
  const float x[2] = {1, 2};
  float y[2] = {0}, z[2] = {0};
  ANeuralNetworksModel* model = build();
  require(model != NULL, "build");
  ANeuralNetworksCompilation* compilation = compile(model);
  require(compilation != NULL, "compile");
  require(!run(compilation, x, y) && y[1] == 4, "run");

  ANeuralNetworksExecution* execution = create(compilation, x, z);
  require(!run_in_background(execution) && z[0] == 2, "run_in_background");
  ANeuralNetworksExecution_free(execution);

  ANeuralNetworksExecution* both[] = {create(compilation, x, y), create(compilation, y, z)};
  require(!run_all(compilation, both, 2) && z[1] == 8, "run_all");
  ANeuralNetworksExecution_free(both[0]);
  ANeuralNetworksExecution_free(both[1]);

  const int fd = memfd_create("example", 0);
  require(write(fd, x, sizeof x) == sizeof x, "write");
  execution = create(compilation, NULL, y);
  ANeuralNetworksMemory* memory = use_file(execution, fd);
  require(memory && !ANeuralNetworksExecution_compute(execution) && y[0] == 2, "use_file");
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksMemory_free(memory);
  close(fd);

  memory = carry(compilation);
  require(memory != NULL, "carry");
  ANeuralNetworksMemory_free(memory);
  require(find("no device") == NULL && !describe(find("nnapi-reference")), "describe");
  require(name_operand(model, 0, "x") == ANEURALNETWORKS_BAD_STATE, "name_operand");
  require(strstr(nnapi_shim_getLastError(), "finished") != NULL, "message");
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return EXIT_SUCCESS;
}
