/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that loads the library at run time and chooses by the Android version, as TensorFlow
 * Lite's delegate does: from Android 10 on the first accelerator that takes the whole model, else
 * no device by name. Prints the versions, the chosen device and the result of x + x.
 * Argument: float or quant8.
 */
#include <android/NeuralNetworks.h>
#include <android/api-level.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* library;

static void* need(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(2);
  }
  return found;
}

/* Declares a variable with a function of the library. */
#define FUNCTION(name) __typeof__(&ANeuralNetworks##name) name = need("ANeuralNetworks" #name)
#define CHECK(call)                                   \
  do {                                                \
    int code = (call);                                \
    if (code != ANEURALNETWORKS_NO_ERROR) {           \
      fprintf(stderr, "code %d from %s\n", code, #call); \
      exit(3);                                        \
    }                                                 \
  } while (0)

static ANeuralNetworksModel* build(bool is_float) {
  FUNCTION(Model_create);
  FUNCTION(Model_addOperand);
  FUNCTION(Model_setOperandValue);
  FUNCTION(Model_addOperation);
  FUNCTION(Model_identifyInputsAndOutputs);
  FUNCTION(Model_finish);
  const uint32_t sizes[] = {1, 4};
  const uint32_t inputs[] = {0, 0, 1}, outputs[] = {2};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksOperandType tensor = {
      is_float ? ANEURALNETWORKS_TENSOR_FLOAT32 : ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, sizes,
      is_float ? 0.0f : 1.0f, 0};
  ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
  ANeuralNetworksModel* model = NULL;
  CHECK(Model_create(&model));
  CHECK(Model_addOperand(model, &tensor));
  CHECK(Model_addOperand(model, &scalar));
  CHECK(Model_addOperand(model, &tensor));
  CHECK(Model_setOperandValue(model, 1, &none, sizeof none));
  CHECK(Model_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
  CHECK(Model_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
  CHECK(Model_finish(model));
  return model;
}

/* The first device but the CPU that takes the whole model; NULL for none. */
static ANeuralNetworksDevice* choose(ANeuralNetworksModel* model, const char** name) {
  FUNCTION(_getDeviceCount);
  FUNCTION(_getDevice);
  FUNCTION(Device_getName);
  FUNCTION(Model_getSupportedOperationsForDevices);
  uint32_t count = 0;
  CHECK(_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = NULL;
    bool is_supported = false;
    CHECK(_getDevice(i, &device));
    CHECK(Device_getName(device, name));
    const ANeuralNetworksDevice* devices[] = {device};
    CHECK(Model_getSupportedOperationsForDevices(model, devices, 1, &is_supported));
    if (is_supported && strcmp(*name, "nnapi-reference") != 0) return device;
  }
  *name = "no accelerator";
  return NULL;
}

int main(int argc, char** argv) {
  const int api = android_get_device_api_level();
  const bool is_float = argc > 1 && strcmp(argv[1], "float") == 0;
  library = dlopen("libneuralnetworks.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 1;
  long long level = api;
  if (api >= 31) {
    FUNCTION(_getRuntimeFeatureLevel);
    level = _getRuntimeFeatureLevel();
  }
  const char* name = "unnamed devices";
  ANeuralNetworksModel* model = build(is_float);
  ANeuralNetworksCompilation* compilation = NULL;
  ANeuralNetworksDevice* device = api >= 29 ? choose(model, &name) : NULL;
  if (device != NULL) {
    FUNCTION(Compilation_createForDevices);
    const ANeuralNetworksDevice* devices[] = {device};
    CHECK(Compilation_createForDevices(model, devices, 1, &compilation));
  } else {
    FUNCTION(Compilation_create);
    CHECK(Compilation_create(model, &compilation));
  }
  FUNCTION(Compilation_finish);
  FUNCTION(Execution_create);
  FUNCTION(Execution_setInput);
  FUNCTION(Execution_setOutput);
  CHECK(Compilation_finish(compilation));
  float floats[4] = {1, 2, 3, 4}, float_sums[4] = {0};
  uint8_t bytes[4] = {1, 2, 3, 4}, byte_sums[4] = {0};
  const size_t size = is_float ? sizeof floats : sizeof bytes;
  ANeuralNetworksExecution* execution = NULL;
  CHECK(Execution_create(compilation, &execution));
  CHECK(Execution_setInput(execution, 0, NULL, is_float ? (void*)floats : bytes, size));
  CHECK(Execution_setOutput(execution, 0, NULL, is_float ? (void*)float_sums : byte_sums, size));
  if (api >= 29) {
    FUNCTION(Execution_compute);
    CHECK(Execution_compute(execution));
  } else {
    FUNCTION(Execution_startCompute);
    FUNCTION(Event_wait);
    ANeuralNetworksEvent* event = NULL;
    CHECK(Execution_startCompute(execution, &event));
    CHECK(Event_wait(event));
  }
  printf("%d, %lld, %s: %g\n", api, level, name, is_float ? float_sums[3] : byte_sums[3]);
  return 0;
}
