/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest way to a result: RELU of three numbers on nnapi-cpu, or on DEVICE. As a program, it then prints
 * what is mapped into its memory, or, with the argument `modules`, the modules of its Python; as a library, Python
 * calls its functions one by one.
 */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <android/NeuralNetworks.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The line of the first call that fails, as the result. */
#define CHECK(call)                             \
  do {                                          \
    if ((call) != ANEURALNETWORKS_NO_ERROR)     \
      return __LINE__;                          \
  } while (0)

#ifndef DEVICE
#define DEVICE "nnapi-cpu"
#endif

enum { SIZE = 3 };

int count_devices(void) {
  uint32_t count = 0;
  CHECK(ANeuralNetworks_getDeviceCount(&count));
  return count > 0 ? 0 : __LINE__;
}

static int find_device(const char* wanted, const ANeuralNetworksDevice** device) {
  uint32_t count = 0;
  CHECK(ANeuralNetworks_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* candidate = NULL;
    const char* name = NULL;
    CHECK(ANeuralNetworks_getDevice(i, &candidate));
    CHECK(ANeuralNetworksDevice_getName(candidate, &name));
    if (strcmp(name, wanted) == 0) {
      *device = candidate;
      return 0;
    }
  }
  return __LINE__;
}

int compute_once(void) {
  const uint32_t dimensions[] = {SIZE};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = dimensions};
  const uint32_t input = 0, output = 1;
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &input, 1, &output));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
  CHECK(ANeuralNetworksModel_finish(model));

  const ANeuralNetworksDevice* device = NULL;
  CHECK(find_device(DEVICE, &device));
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  const float given[SIZE] = {-1, 0, 2};
  float computed[SIZE] = {9, 9, 9};
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, given, sizeof given));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, computed, sizeof computed));
  CHECK(ANeuralNetworksExecution_compute(execution));
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return computed[0] == 0 && computed[1] == 0 && computed[2] == 2 ? 0 : __LINE__;
}

/* Print the names of all modules of the Python that the library has started. */
static int print_modules(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096], *path = NULL;
  while (path == NULL && maps != NULL && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "/libpython") != NULL) path = strchr(line, '/');
  if (path == NULL) return __LINE__;
  path[strcspn(path, "\n")] = 0;
  void* python = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (python == NULL) return __LINE__;
  int (*ensure)(void), (*execute)(const char*);
  *(void**)&ensure = dlsym(python, "PyGILState_Ensure");
  *(void**)&execute = dlsym(python, "PyRun_SimpleString");
  ensure(); /* and no release: the program ends */
  return execute("import posix, sys; posix.write(1, ' '.join(sys.modules).encode())");
}

int main(int count, char** arguments) {
  int failed = compute_once();
  if (failed == 0 && count > 1 && strcmp(arguments[1], "modules") == 0) {
    failed = print_modules();
    if (failed == 0) return 0;
  }
  if (failed != 0) {
    fprintf(stderr, "%s:%d: failed\n", __FILE__, failed);
    return 1;
  }
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    fputs(line, stdout);
  return 0;
}
