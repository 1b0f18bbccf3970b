/* SPDX-License-Identifier: Apache-2.0 */
/* A run that waits for a fence, which another thread signals when the input is there. */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
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

typedef struct {
  float* input;
  int fence;
} Producer;

/* Another part of the program: it writes the input, and then signals the fence. */
static void* produce(void* argument) {
  const Producer* producer = argument;
  const uint64_t signal = 1;
  usleep(20 * 1000);
  producer->input[0] = 1.0f;
  producer->input[1] = 2.0f;
  if (write(producer->fence, &signal, sizeof signal) != sizeof signal) abort();
  return NULL;
}

static ANeuralNetworksExecution* prepare(
    ANeuralNetworksCompilation* compilation, const float* a, const float* b, float* y) {
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, a, 2 * sizeof *a));
  CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, b, 2 * sizeof *b));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, 2 * sizeof *y));
  return execution;
}

int main(void) {
  ANeuralNetworksModel* model = build(2);
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  /* Any descriptor that becomes readable is a fence: an eventfd, a pipe, a sync file. */
  const int fd = eventfd(0, 0);
  ANeuralNetworksEvent* fence = NULL;
  CHECK(ANeuralNetworksEvent_createFromSyncFenceFd(fd, &fence));

  float x[2] = {0}, doubled[2] = {0}, fourfold[2] = {0};
  ANeuralNetworksExecution* first = prepare(compilation, x, x, doubled);
  ANeuralNetworksExecution* second = prepare(compilation, doubled, doubled, fourfold);
  Producer producer = {x, fd};
  pthread_t thread;
  if (pthread_create(&thread, NULL, produce, &producer) != 0) return EXIT_FAILURE;

  /* The first run waits for the fence, the second for the first. */
  ANeuralNetworksEvent *first_end = NULL, *second_end = NULL;
  const ANeuralNetworksEvent* const after_fence[] = {fence};
  CHECK(ANeuralNetworksExecution_startComputeWithDependencies(
      first, after_fence, 1, 0, &first_end));
  const ANeuralNetworksEvent* const after_first[] = {first_end};
  CHECK(ANeuralNetworksExecution_startComputeWithDependencies(
      second, after_first, 1, 0, &second_end));
  CHECK(ANeuralNetworksEvent_wait(second_end));
  CHECK(ANeuralNetworksEvent_wait(first_end));
  printf("doubled: %g %g\nfourfold: %g %g\n", doubled[0], doubled[1], fourfold[0], fourfold[1]);

  /* Other parts of the program can wait for a fence by a descriptor of their own. */
  int copy = -1;
  CHECK(ANeuralNetworksEvent_getSyncFenceFd(fence, &copy));
  struct pollfd state = {.fd = copy, .events = POLLIN};
  printf("fence: %s\n", poll(&state, 1, 0) == 1 ? "signalled" : "open");
  close(copy);

  pthread_join(thread, NULL);
  ANeuralNetworksEvent_free(first_end);
  ANeuralNetworksEvent_free(second_end);
  ANeuralNetworksEvent_free(fence);
  close(fd);
  ANeuralNetworksExecution_free(first);
  ANeuralNetworksExecution_free(second);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return fourfold[0] == 4 && fourfold[1] == 8 ? EXIT_SUCCESS : EXIT_FAILURE;
}
