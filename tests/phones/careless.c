/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that is careful, except in what its argument names: leak (an execution), compile (the model
 * again and again), build (an equal model again and again), execute (a new execution for each run),
 * shift (an input that is not aligned), unmeasured (reads durations that are not measured), unread
 * (measures durations that it does not read), threads (two threads change a model), order (frees its
 * model before the last compilation).
 */
#include <android/NeuralNetworks.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) uint16_t input[64], output[64];
static const char* carelessness = "";

static void check(int code) {
  if (code != 0) exit(3);
}

static int is(const char* word) { return strcmp(carelessness, word) == 0; }

static void* relax(void* model) {
  check(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, false));
  return NULL;
}

static ANeuralNetworksModel* build(void) {
  const uint32_t sizes[] = {4}, inputs[] = {0, 0, 1}, outputs[] = {2};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT16, 1, sizes, 0.0f, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksModel* model = NULL;
  check(ANeuralNetworksModel_create(&model));
  check(ANeuralNetworksModel_addOperand(model, &tensor));
  check(ANeuralNetworksModel_addOperand(model, &scalar));
  check(ANeuralNetworksModel_addOperand(model, &tensor));
  check(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none));
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
  check(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
  if (is("threads")) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, relax, model));
    check(pthread_join(thread, NULL));
  }
  check(ANeuralNetworksModel_finish(model));
  return model;
}

static void run(ANeuralNetworksCompilation* compilation, int times, int is_kept) {
  ANeuralNetworksExecution* execution = NULL;
  check(ANeuralNetworksExecution_create(compilation, &execution));
  check(ANeuralNetworksExecution_setInput(execution, 0, NULL, input + (is("shift") ? 2 : 0), 8));
  check(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, 8));
  if (times > 1) check(ANeuralNetworksExecution_setReusable(execution, true));
  if (is("unread")) check(ANeuralNetworksExecution_setMeasureTiming(execution, true));
  for (int i = 0; i < times; ++i) check(ANeuralNetworksExecution_compute(execution));
  uint64_t time = 0;
  if (is("unmeasured")) ANeuralNetworksExecution_getDuration(execution, 0, &time);
  if (!is_kept) ANeuralNetworksExecution_free(execution);
}

int main(int argc, char** argv) {
  if (argc > 1) carelessness = argv[1];
  ANeuralNetworksModel* model = build();
  for (int i = 0; i < (is("compile") || is("build") ? 4 : 2); ++i) {
    if (is("build") && i > 0) {
      ANeuralNetworksModel_free(model);
      model = build();
    }
    ANeuralNetworksCompilation* compilation = NULL;
    if (is("unread")) {
      ANeuralNetworksDevice* device = NULL;
      check(ANeuralNetworks_getDevice(0, &device));
      check(ANeuralNetworksCompilation_createForDevices(
          model, (const ANeuralNetworksDevice* const*)&device, 1, &compilation));
    } else {
      check(ANeuralNetworksCompilation_create(model, &compilation));
    }
    check(ANeuralNetworksCompilation_finish(compilation));
    const int count = is("execute") && i == 0 ? 5 : 1;
    for (int j = 0; j < count; ++j) run(compilation, count > 1 ? 1 : 5, is("leak") && i == 0);
    if (is("order") && i == 1) ANeuralNetworksModel_free(model);
    ANeuralNetworksCompilation_free(compilation);
    if (is("shift")) break;
  }
  if (!is("order")) ANeuralNetworksModel_free(model);
  return 0;
}
