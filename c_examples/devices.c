/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the devices and what they support of a small model; with the argument -v, their versions,
 * too.
 */
#include <android/NeuralNetworks.h>
#include <inttypes.h>
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

enum { OPERATIONS = 3 };

static const char* const operation_names[OPERATIONS] = {"ADD", "LOGISTIC", "SOFTMAX"};

/* softmax(logistic(left + right)) */
static ANeuralNetworksModel* build(void) {
  const uint32_t dimensions[] = {1, 8};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 2, .dimensions = dimensions};
  const ANeuralNetworksOperandType int32 = {.type = ANEURALNETWORKS_INT32};
  const ANeuralNetworksOperandType float32 = {.type = ANEURALNETWORKS_FLOAT32};

  enum { LEFT, RIGHT, SUM, SQUASHED, RESULT, ACTIVATION, BETA, COUNT };
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  for (int i = 0; i < COUNT; ++i) {
    const ANeuralNetworksOperandType* type = i == ACTIVATION ? &int32 : &tensor;
    CHECK(ANeuralNetworksModel_addOperand(model, i == BETA ? &float32 : type));
  }
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const float beta = 1.0f;
  CHECK(ANeuralNetworksModel_setOperandValue(model, ACTIVATION, &none, sizeof none));
  CHECK(ANeuralNetworksModel_setOperandValue(model, BETA, &beta, sizeof beta));

  const uint32_t add_inputs[] = {LEFT, RIGHT, ACTIVATION}, add_outputs[] = {SUM};
  const uint32_t logistic_inputs[] = {SUM}, logistic_outputs[] = {SQUASHED};
  const uint32_t softmax_inputs[] = {SQUASHED, BETA}, softmax_outputs[] = {RESULT};
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_ADD, 3, add_inputs, 1, add_outputs));
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_LOGISTIC, 1, logistic_inputs, 1, logistic_outputs));
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_SOFTMAX, 2, softmax_inputs, 1, softmax_outputs));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, add_inputs, 1, softmax_outputs));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

/* The levels 1 to 5 are the API levels 27 to 31, the levels 6 to 8 are 1000006 to 1000008. */
static int64_t number_of(int64_t level) {
  return level > 1000000 ? level - 1000000 : level - 26;
}

static void show(const ANeuralNetworksDevice* device, const ANeuralNetworksModel* model,
                 bool is_verbose) {
  static const char* const types[] = {"unknown", "other", "CPU", "GPU", "accelerator"};
  const char *name = NULL, *version = NULL;
  int32_t type = -1;
  int64_t level = 0;
  bool supported[OPERATIONS] = {false};
  CHECK(ANeuralNetworksDevice_wait(device));
  CHECK(ANeuralNetworksDevice_getName(device, &name));
  CHECK(ANeuralNetworksDevice_getVersion(device, &version));
  CHECK(ANeuralNetworksDevice_getType(device, &type));
  CHECK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
  CHECK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
  if (type < 0 || type > ANEURALNETWORKS_DEVICE_ACCELERATOR || strlen(version) == 0) {
    fprintf(stderr, "%s: type %" PRId32 ", version \"%s\"\n", name, type, version);
    exit(EXIT_FAILURE);
  }
  printf("%s: type %s, feature level %" PRId64 " (%" PRId64 ")\n", name, types[type],
         number_of(level), level);
  if (is_verbose) printf("  version %s\n", version);
  printf("  supports");
  for (int i = 0; i < OPERATIONS; ++i) {
    if (supported[i]) printf(" %s", operation_names[i]);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  const bool is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
  const int64_t level = ANeuralNetworks_getRuntimeFeatureLevel();
  printf("feature level %" PRId64 " (%" PRId64 ")\n", number_of(level), level);
  uint32_t count = 0;
  CHECK(ANeuralNetworks_getDeviceCount(&count));
  ANeuralNetworksModel* model = build();
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = NULL;
    CHECK(ANeuralNetworks_getDevice(i, &device));
    show(device, model, is_verbose);
  }
  ANeuralNetworksModel_free(model);
  return EXIT_SUCCESS;
}
