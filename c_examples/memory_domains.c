/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state that stays in memory of the device from run to run: state + x becomes the state of the
 * next run, and is copied to the program once, at the end.
 */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

enum { COUNT = 2, STEPS = 4, BYTES = COUNT * sizeof(float) };

/* A memory that can be input 0 (the old state) and output 0 (the new one). */
static ANeuralNetworksMemory* make_state(const ANeuralNetworksCompilation* compilation) {
  ANeuralNetworksMemoryDesc* desc = NULL;
  ANeuralNetworksMemory* memory = NULL;
  CHECK(ANeuralNetworksMemoryDesc_create(&desc));
  CHECK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
  CHECK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1.0f));
  CHECK(ANeuralNetworksMemoryDesc_finish(desc));
  CHECK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
  ANeuralNetworksMemoryDesc_free(desc);
  return memory;
}

int main(void) {
  ANeuralNetworksModel* model = build(COUNT);
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  /* Memory that the program can read and write: it starts and ends the chain. */
  const int fd = memfd_create("state", 0);
  if (ftruncate(fd, BYTES) != 0) return EXIT_FAILURE;
  float* visible = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ANeuralNetworksMemory* shared = NULL;
  CHECK(ANeuralNetworksMemory_createFromFd(BYTES, PROT_READ | PROT_WRITE, fd, 0, &shared));

  ANeuralNetworksMemory* states[2] = {make_state(compilation), make_state(compilation)};
  visible[0] = 10;
  visible[1] = 20;
  CHECK(ANeuralNetworksMemory_copy(shared, states[0]));

  const float x[COUNT] = {1, 2};
  for (int step = 0; step < STEPS; ++step) {
    ANeuralNetworksExecution* execution = NULL;
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    /* Offset and length 0: all of a memory that was made from a descriptor. */
    CHECK(ANeuralNetworksExecution_setInputFromMemory(
        execution, 0, NULL, states[step % 2], 0, 0));
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, x, sizeof x));
    CHECK(ANeuralNetworksExecution_setOutputFromMemory(
        execution, 0, NULL, states[(step + 1) % 2], 0, 0));
    CHECK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
  }
  CHECK(ANeuralNetworksMemory_copy(states[STEPS % 2], shared));
  printf("after %d steps: %g %g\n", STEPS, visible[0], visible[1]);
  const int is_right = visible[0] == 10 + STEPS * x[0] && visible[1] == 20 + STEPS * x[1];

  ANeuralNetworksMemory_free(states[0]);
  ANeuralNetworksMemory_free(states[1]);
  ANeuralNetworksMemory_free(shared);
  munmap(visible, BYTES);
  close(fd);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
