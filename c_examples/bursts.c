/* SPDX-License-Identifier: Apache-2.0 */
/* Many short runs one after the other: a reusable execution in a burst. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>

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

enum { COUNT = 2, FRAMES = 5 };

int main(void) {
  ANeuralNetworksModel* model = build(COUNT);
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_setPreference(
      compilation, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  /* The buffers are set once; every run reads and writes their content. */
  float frame[COUNT] = {0}, background[COUNT] = {100, 200}, result[COUNT] = {0};
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setReusable(execution, true));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, frame, sizeof frame));
  CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, background, sizeof background));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, result, sizeof result));

  /* A burst belongs to one thread at a time; other threads have bursts of their own. */
  ANeuralNetworksBurst* burst = NULL;
  CHECK(ANeuralNetworksBurst_create(compilation, &burst));
  int wrong = 0;
  for (int number = 0; number < FRAMES; ++number) {
    for (int i = 0; i < COUNT; ++i) frame[i] = (float)(number + i);
    CHECK(ANeuralNetworksExecution_burstCompute(execution, burst));
    printf("frame %d: %g %g\n", number, result[0], result[1]);
    for (int i = 0; i < COUNT; ++i) wrong += result[i] != frame[i] + background[i];
  }

  ANeuralNetworksBurst_free(burst);
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
