/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the NNAPI devices of a phone as a profile for `nnapi-shim exec --profile` (docs/testing.md).
 * It needs Android 10 and no library but libneuralnetworks.so. On a phone:
 *
 *     adb push report_device /data/local/tmp && adb shell /data/local/tmp/report_device > mine.json
 *
 * A device takes what it says of small models: one for each operation of the table below, with each of
 * three types of tensors. Limits and figures of a device cannot be asked for. CPU devices named nnapi-*,
 * which every profile has, are left out.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <android/NeuralNetworks.h>
#include <dlfcn.h>
#include <stdbool.h>
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

/* How the inputs of an operation are made. */
enum form { UNARY, BINARY, POOL, SOFTMAX };

static const struct {
  const char* name;
  int32_t type;
  enum form form;
  bool takes_quant8;
} operations[] = {
    {"ADD", ANEURALNETWORKS_ADD, BINARY, true},
    {"AVERAGE_POOL_2D", ANEURALNETWORKS_AVERAGE_POOL_2D, POOL, true},
    {"DIV", ANEURALNETWORKS_DIV, BINARY, false},
    {"FLOOR", ANEURALNETWORKS_FLOOR, UNARY, false},
    {"LOGISTIC", ANEURALNETWORKS_LOGISTIC, UNARY, true},
    {"MAX_POOL_2D", ANEURALNETWORKS_MAX_POOL_2D, POOL, true},
    {"MUL", ANEURALNETWORKS_MUL, BINARY, true},
    {"RELU", ANEURALNETWORKS_RELU, UNARY, true},
    {"RELU1", ANEURALNETWORKS_RELU1, UNARY, true},
    {"RELU6", ANEURALNETWORKS_RELU6, UNARY, true},
    {"SOFTMAX", ANEURALNETWORKS_SOFTMAX, SOFTMAX, true},
    {"SUB", ANEURALNETWORKS_SUB, BINARY, true},
    {"TANH", ANEURALNETWORKS_TANH, UNARY, true},
    {"ABS", ANEURALNETWORKS_ABS, UNARY, false},
    {"EXP", ANEURALNETWORKS_EXP, UNARY, false},
    {"LOG", ANEURALNETWORKS_LOG, UNARY, false},
    {"NEG", ANEURALNETWORKS_NEG, UNARY, false},
    {"RSQRT", ANEURALNETWORKS_RSQRT, UNARY, false},
    {"SIN", ANEURALNETWORKS_SIN, UNARY, false},
    {"SQRT", ANEURALNETWORKS_SQRT, UNARY, false},
};

static const struct {
  const char* name;
  int32_t type;
} types[] = {
    {"TENSOR_FLOAT32", ANEURALNETWORKS_TENSOR_FLOAT32},
    {"TENSOR_FLOAT16", ANEURALNETWORKS_TENSOR_FLOAT16},
    {"TENSOR_QUANT8_ASYMM", ANEURALNETWORKS_TENSOR_QUANT8_ASYMM},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0], TYPES = sizeof types / sizeof types[0] };

/* Adds a constant scalar; returns its index. */
static uint32_t scalar(ANeuralNetworksModel* model, uint32_t index, int32_t value) {
  const ANeuralNetworksOperandType type = {.type = ANEURALNETWORKS_INT32};
  CHECK(ANeuralNetworksModel_addOperand(model, &type));
  CHECK(ANeuralNetworksModel_setOperandValue(model, (int32_t)index, &value, sizeof value));
  return index;
}

/* A model of one operation; NULL if the phone does not know it. */
static ANeuralNetworksModel* build(int32_t operation, enum form form, int32_t kind) {
  const uint32_t dimensions[] = {1, 4, 4, 8};
  const bool is_quantized = kind == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
  ANeuralNetworksOperandType tensor = {.type = kind, .dimensionCount = 4, .dimensions = dimensions};
  tensor.scale = is_quantized ? 0.5f : 0.0f;
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  uint32_t inputs[8] = {0}, count = 1, next = 1;
  int code = ANeuralNetworksModel_addOperand(model, &tensor);
  if (form == BINARY && code == 0) {
    code = ANeuralNetworksModel_addOperand(model, &tensor);
    inputs[count++] = next++;
    inputs[count++] = scalar(model, next++, ANEURALNETWORKS_FUSED_NONE);
  } else if (form == POOL) {
    const int32_t values[] = {ANEURALNETWORKS_PADDING_SAME, 1, 1, 2, 2, ANEURALNETWORKS_FUSED_NONE};
    for (int i = 0; i < 6; ++i) inputs[count++] = scalar(model, next++, values[i]);
  } else if (form == SOFTMAX) {
    const bool is_half = kind == ANEURALNETWORKS_TENSOR_FLOAT16;
    const ANeuralNetworksOperandType beta = {
        .type = is_half ? ANEURALNETWORKS_FLOAT16 : ANEURALNETWORKS_FLOAT32};
    const float one = 1.0f;
    const uint16_t half_one = 0x3c00;
    CHECK(ANeuralNetworksModel_addOperand(model, &beta));
    CHECK(ANeuralNetworksModel_setOperandValue(model, (int32_t)next,
        is_half ? (const void*)&half_one : &one, is_half ? sizeof half_one : sizeof one));
    inputs[count++] = next++;
    tensor.scale = is_quantized ? 1.0f / 256 : 0.0f;
  }
  if (operation == ANEURALNETWORKS_LOGISTIC && is_quantized) tensor.scale = 1.0f / 256;
  if (operation == ANEURALNETWORKS_TANH && is_quantized) {
    tensor.scale = 1.0f / 128;
    tensor.zeroPoint = 128;
  }
  const uint32_t arguments[] = {0, 1};
  if (code == 0) code = ANeuralNetworksModel_addOperand(model, &tensor);
  if (code == 0) code = ANeuralNetworksModel_addOperation(model, operation, count, inputs, 1, &next);
  if (code == 0) {
    const uint32_t tensors = form == BINARY ? 2 : 1;
    code = ANeuralNetworksModel_identifyInputsAndOutputs(model, tensors, arguments, 1, &next);
  }
  if (code == 0) code = ANeuralNetworksModel_finish(model);
  if (code == 0) return model;
  ANeuralNetworksModel_free(model);
  return NULL;
}

static void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

/* Prints which operations a device takes, a rule for each type. */
static void print_rules(const ANeuralNetworksDevice* device) {
  bool is_first_rule = true;
  for (int t = 0; t < TYPES; ++t) {
    int taken = 0;
    for (int i = 0; i < OPERATIONS; ++i) {
      if (types[t].type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM && !operations[i].takes_quant8) continue;
      ANeuralNetworksModel* model = build(operations[i].type, operations[i].form, types[t].type);
      bool is_supported = false;
      if (model == NULL) continue;
      CHECK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &is_supported));
      ANeuralNetworksModel_free(model);
      if (!is_supported) continue;
      if (taken++ == 0) printf("%s\n        {\"names\": [", is_first_rule ? "" : ",");
      printf("%s\"%s\"", taken == 1 ? "" : ", ", operations[i].name);
      is_first_rule = false;
    }
    if (taken > 0) printf("], \"types\": [\"%s\"]}", types[t].name);
  }
}

/* The number, 1 to 8, of a feature level. */
static int number_of(int64_t level) {
  return (int)(level > 1000000 ? level - 1000000 : level - 26);
}

static void print_device(const ANeuralNetworksDevice* device, const char* name, bool is_first) {
  static const char* const kinds[] = {"OTHER", "OTHER", "CPU", "GPU", "ACCELERATOR"};
  const char* version = NULL;
  int32_t type = 0;
  int64_t level = 0;
  CHECK(ANeuralNetworksDevice_getVersion(device, &version));
  CHECK(ANeuralNetworksDevice_getType(device, &type));
  CHECK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
  printf("%s\n    {\n      \"name\": ", is_first ? "" : ",");
  print_text(name);
  printf(",\n      \"version\": ");
  print_text(version);
  printf(",\n      \"type\": \"%s\",\n", kinds[type < 0 || type > 4 ? 0 : type]);
  printf("      \"featureLevel\": %d,\n      \"operations\": [", number_of(level));
  print_rules(device);
  printf("\n      ]\n    }");
}

int main(void) {
  static const char* const versions[] = {"10", "11", "12", "12", "13", "14", "15"};
  enum { OLDEST = 29, NEWEST = 35, UPDATED = 31 };
  /* Functions that are not there on every phone. */
  int (*get_api)(void) = NULL;
  int64_t (*get_level)(void) = NULL;
  const char* const api_function = "android_get_device_api_level";
  *(void**)&get_api = dlsym(RTLD_DEFAULT, api_function);
  if (get_api == NULL) { /* not on a phone */
    void* library = dlopen("liblog.so", RTLD_NOW);
    if (library != NULL) *(void**)&get_api = dlsym(library, api_function);
  }
  *(void**)&get_level = dlsym(RTLD_DEFAULT, "ANeuralNetworks_getRuntimeFeatureLevel");
  int api = get_api != NULL ? get_api() : OLDEST;
  if (api < OLDEST || api > NEWEST) api = api < OLDEST ? OLDEST : NEWEST;
  printf("{\n  \"schema\": 1,\n  \"name\": \"mine\",\n");
  printf("  \"source\": \"c_examples/report_device\",\n");
  printf("  \"android\": \"%s\",\n", versions[api - OLDEST]);
  if (api >= UPDATED && get_level != NULL) {
    printf("  \"featureLevel\": %d,\n", number_of(get_level()));
  }
  printf("  \"devices\": [");
  uint32_t count = 0;
  bool is_first = true;
  CHECK(ANeuralNetworks_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = NULL;
    const char* name = NULL;
    CHECK(ANeuralNetworks_getDevice(i, &device));
    CHECK(ANeuralNetworksDevice_getName(device, &name));
    if (strcmp(name, "nnapi-reference") == 0 || strcmp(name, "nnapi-cpu") == 0) continue;
    print_device(device, name, is_first);
    is_first = false;
  }
  printf("\n  ]\n}\n");
  return EXIT_SUCCESS;
}
