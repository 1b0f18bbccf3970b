/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to run a compilation of y = x * x + 1: many executions in flight, a chain of executions that
 * wait for each other, a burst, and one execution that is used again and again.
 */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    int code = (call);                                                               \
    if (code != ANEURALNETWORKS_NO_ERROR) {                                          \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, code, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

enum { ELEMENTS = 4, IN_FLIGHT = 8, CHAIN = 3, BURST_RUNS = 3, REUSES = 3 };

typedef float Tensor[ELEMENTS];

static ANeuralNetworksModel* build(void) {
  const uint32_t dimensions[] = {ELEMENTS};
  const uint32_t one_element[] = {1};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = dimensions};
  const ANeuralNetworksOperandType constant = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = one_element};
  const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};

  enum { X, ONE, ACTIVATION, SQUARE, Y };
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &constant));
  CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));

  const float one = 1.0f;
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  CHECK(ANeuralNetworksModel_setOperandValue(model, ONE, &one, sizeof one));
  CHECK(ANeuralNetworksModel_setOperandValue(model, ACTIVATION, &none, sizeof none));

  const uint32_t mul_inputs[] = {X, X, ACTIVATION}, mul_outputs[] = {SQUARE};
  const uint32_t add_inputs[] = {SQUARE, ONE, ACTIVATION}, add_outputs[] = {Y};
  const uint32_t model_inputs[] = {X};
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_MUL, 3, mul_inputs, 1, mul_outputs));
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_ADD, 3, add_inputs, 1, add_outputs));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, model_inputs, 1, add_outputs));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

static ANeuralNetworksExecution* prepare(
    ANeuralNetworksCompilation* compilation, const float* x, float* y) {
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(Tensor)));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, sizeof(Tensor)));
  return execution;
}

static void fill(float* tensor, float first) {
  for (int i = 0; i < ELEMENTS; ++i) tensor[i] = first + (float)i;
}

/* Prints a result and ends the program if it is not x * x + 1. */
static void show(const char* what, int number, const float* x, const float* y) {
  printf("%s %d:", what, number);
  for (int i = 0; i < ELEMENTS; ++i) printf(" %g", y[i]);
  printf("\n");
  for (int i = 0; i < ELEMENTS; ++i) {
    if (y[i] != x[i] * x[i] + 1) {
      fprintf(stderr, "%s %d: element %d is %g for %g\n", what, number, i, y[i], x[i]);
      exit(EXIT_FAILURE);
    }
  }
}

/* Starts all executions before waiting for the first one. */
static void run_in_flight(ANeuralNetworksCompilation* compilation) {
  Tensor x[IN_FLIGHT], y[IN_FLIGHT];
  ANeuralNetworksExecution* executions[IN_FLIGHT];
  ANeuralNetworksEvent* events[IN_FLIGHT];
  for (int i = 0; i < IN_FLIGHT; ++i) {
    fill(x[i], (float)i);
    executions[i] = prepare(compilation, x[i], y[i]);
    CHECK(ANeuralNetworksExecution_startCompute(executions[i], &events[i]));
  }
  for (int i = 0; i < IN_FLIGHT; ++i) {
    CHECK(ANeuralNetworksEvent_wait(events[i]));
    ANeuralNetworksEvent_free(events[i]);
    ANeuralNetworksExecution_free(executions[i]);
    show("in flight", i, x[i], y[i]);
  }
}

/* Each execution reads what the one before it writes; only the last event is waited for. */
static void run_chain(ANeuralNetworksCompilation* compilation) {
  Tensor values[CHAIN + 1];
  ANeuralNetworksExecution* executions[CHAIN];
  ANeuralNetworksEvent* events[CHAIN];
  for (int i = 0; i < ELEMENTS; ++i) values[0][i] = (float)i * 0.5f;
  for (int i = 0; i < CHAIN; ++i) {
    executions[i] = prepare(compilation, values[i], values[i + 1]);
    const ANeuralNetworksEvent* before = i == 0 ? NULL : events[i - 1];
    CHECK(ANeuralNetworksExecution_startComputeWithDependencies(
        executions[i], i == 0 ? NULL : &before, i == 0 ? 0 : 1, 0, &events[i]));
  }
  CHECK(ANeuralNetworksEvent_wait(events[CHAIN - 1]));
  for (int i = 0; i < CHAIN; ++i) {
    ANeuralNetworksEvent_free(events[i]);
    ANeuralNetworksExecution_free(executions[i]);
    show("chain", i, values[i], values[i + 1]);
  }
}

static void run_burst(ANeuralNetworksCompilation* compilation) {
  ANeuralNetworksBurst* burst = NULL;
  CHECK(ANeuralNetworksBurst_create(compilation, &burst));
  for (int i = 0; i < BURST_RUNS; ++i) {
    Tensor x, y;
    fill(x, (float)(10 * i));
    ANeuralNetworksExecution* execution = prepare(compilation, x, y);
    CHECK(ANeuralNetworksExecution_burstCompute(execution, burst));
    ANeuralNetworksExecution_free(execution);
    show("burst", i, x, y);
  }
  ANeuralNetworksBurst_free(burst);
}

/* The buffers stay the same; their content is read anew by each run. */
static void run_reusable(ANeuralNetworksCompilation* compilation) {
  Tensor x = {0}, y = {0};
  ANeuralNetworksExecution* execution = prepare(compilation, x, y);
  CHECK(ANeuralNetworksExecution_setReusable(execution, true));
  for (int i = 0; i < REUSES; ++i) {
    fill(x, (float)-i);
    memset(y, 0, sizeof y);
    if (i % 2 == 0) {
      CHECK(ANeuralNetworksExecution_compute(execution));
    } else {
      ANeuralNetworksEvent* event = NULL;
      CHECK(ANeuralNetworksExecution_startCompute(execution, &event));
      CHECK(ANeuralNetworksEvent_wait(event));
      ANeuralNetworksEvent_free(event);
    }
    show("reusable", i, x, y);
  }
  ANeuralNetworksExecution_free(execution);
}

int main(void) {
  ANeuralNetworksModel* model = build();
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));
  run_in_flight(compilation);
  run_chain(compilation);
  run_burst(compilation);
  run_reusable(compilation);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return EXIT_SUCCESS;
}
