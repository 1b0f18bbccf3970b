/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the same network on every device that supports it, one after the other, and compares the
 * results with those of the first. With the argument -v, it also prints the median time of a run.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <android/NeuralNetworks.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    int code = (call);                                                               \
    if (code != ANEURALNETWORKS_NO_ERROR) {                                          \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, code, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

enum { SIDE = 28, DEPTH = 16, LAYERS = 3, ELEMENTS = SIDE * SIDE * DEPTH, RUNS = 21 };

static float weights[LAYERS][DEPTH * 3 * 3 * DEPTH], biases[DEPTH];
static float input[ELEMENTS], first[ELEMENTS], output[ELEMENTS];

/* Numbers in [-0.5, 0.5), the same in each run. */
static void fill(float* values, size_t count) {
  static unsigned state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) / (1 << 24) - 0.5f;
  }
}

/* Convolutions of 3 x 3, each followed by RELU. */
static ANeuralNetworksModel* build(void) {
  const uint32_t image[] = {1, SIDE, SIDE, DEPTH}, filter[] = {DEPTH, 3, 3, DEPTH};
  const uint32_t channels[] = {DEPTH};
  const ANeuralNetworksOperandType images = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 4, .dimensions = image};
  const ANeuralNetworksOperandType filters = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 4, .dimensions = filter};
  const ANeuralNetworksOperandType bias = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = channels};
  const ANeuralNetworksOperandType int32 = {.type = ANEURALNETWORKS_INT32};
  const int32_t same = ANEURALNETWORKS_PADDING_SAME, one = 1, relu = ANEURALNETWORKS_FUSED_RELU;

  enum { BIAS, SCHEME, STRIDE, ACTIVATION, IMAGE };
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &bias));
  for (int i = SCHEME; i <= ACTIVATION; ++i) CHECK(ANeuralNetworksModel_addOperand(model, &int32));
  CHECK(ANeuralNetworksModel_addOperand(model, &images));
  CHECK(ANeuralNetworksModel_setOperandValue(model, BIAS, biases, sizeof biases));
  CHECK(ANeuralNetworksModel_setOperandValue(model, SCHEME, &same, sizeof same));
  CHECK(ANeuralNetworksModel_setOperandValue(model, STRIDE, &one, sizeof one));
  CHECK(ANeuralNetworksModel_setOperandValue(model, ACTIVATION, &relu, sizeof relu));

  uint32_t last = IMAGE;
  for (uint32_t layer = 0; layer < LAYERS; ++layer) {
    const uint32_t kernel = last + 1, result = last + 2;
    CHECK(ANeuralNetworksModel_addOperand(model, &filters));
    CHECK(ANeuralNetworksModel_addOperand(model, &images));
    CHECK(ANeuralNetworksModel_setOperandValue(
        model, (int32_t)kernel, weights[layer], sizeof weights[layer]));
    const uint32_t inputs[] = {last, kernel, BIAS, SCHEME, STRIDE, STRIDE, ACTIVATION};
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CONV_2D, 7, inputs, 1, &result));
    last = result;
  }
  const uint32_t begin = IMAGE;
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &begin, 1, &last));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

/* The median time of a run in seconds; the results are in `output`. */
static double run(const ANeuralNetworksModel* model, const ANeuralNetworksDevice* device) {
  ANeuralNetworksCompilation* compilation = NULL;
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksCompilation_createForDevices(
      (ANeuralNetworksModel*)model, &device, 1, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setReusable(execution, true));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof input));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output));
  double times[RUNS];
  for (int i = 0; i < RUNS; ++i) {
    const double began = now();
    CHECK(ANeuralNetworksExecution_compute(execution));
    times[i] = now() - began;
  }
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  qsort(times, RUNS, sizeof times[0], compare);
  return times[RUNS / 2];
}

/* Whether two results are equal but for the order in which a device adds. */
static bool agree(void) {
  for (int i = 0; i < ELEMENTS; ++i) {
    if (fabsf(output[i] - first[i]) > 1e-4f * (1 + fabsf(first[i]))) return false;
  }
  return true;
}

int main(int argc, char** argv) {
  const bool is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
  for (int i = 0; i < LAYERS; ++i) fill(weights[i], sizeof weights[i] / sizeof(float));
  fill(biases, DEPTH);
  fill(input, ELEMENTS);
  ANeuralNetworksModel* model = build();
  uint32_t count = 0;
  CHECK(ANeuralNetworks_getDeviceCount(&count));
  bool is_first = true;
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = NULL;
    const char* name = NULL;
    bool supported[LAYERS] = {false};
    CHECK(ANeuralNetworks_getDevice(i, &device));
    CHECK(ANeuralNetworksDevice_getName(device, &name));
    CHECK(ANeuralNetworksModel_getSupportedOperationsForDevices(
        model, (const ANeuralNetworksDevice* const*)&device, 1, supported));
    bool runs_all = true;
    for (int layer = 0; layer < LAYERS; ++layer) runs_all = runs_all && supported[layer];
    if (!runs_all) {
      printf("%s: it does not run the network\n", name);
      continue;
    }
    const double seconds = run(model, device);
    if (is_first) memcpy(first, output, sizeof first);
    printf("%s: %s", name, is_first ? "runs the network" : agree() ? "agrees" : "DIFFERS");
    if (is_verbose) printf(", %.0f us", 1e6 * seconds);
    printf("\n");
    is_first = false;
  }
  ANeuralNetworksModel_free(model);
  return EXIT_SUCCESS;
}
