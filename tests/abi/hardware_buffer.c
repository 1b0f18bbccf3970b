/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model whose constant, input and output lie in one hardware buffer; its functions come from
 * wherever the program was linked with, or from the library that is named:
 *
 *     hardware_buffer [LIBRARY]
 */
#include <android/NeuralNetworks.h>
#include <android/hardware_buffer.h>
#include <dlfcn.h>
#include <stddef.h>

#include "check.h"

enum { OK = ANEURALNETWORKS_NO_ERROR };

#ifdef OPENED
static void *library;
#define FUNCTION(name) ((__typeof__(&name))dlsym(library, #name))
#else
#define FUNCTION(name) (&name)
#endif

int main(int argc, char **argv)
{
#ifdef OPENED
    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
#else
    CHECK(argc == 1);
    (void)argv;
#endif
    const AHardwareBuffer_Desc desc = {
        .width = 24,
        .height = 1,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN
                 | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER};
    const uint64_t both = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN
                          | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
    AHardwareBuffer *buffer;
    float *values;
    CHECK(FUNCTION(AHardwareBuffer_allocate)(&desc, &buffer) == 0);
    CHECK(FUNCTION(AHardwareBuffer_lock)(buffer, both, -1, NULL, (void **)&values) == 0);
    for (int i = 0; i < 4; i++)
        values[i] = (float)i;

    static const uint32_t two[] = {2}, inputs[] = {0, 1, 2}, first[] = {0}, outputs[] = {3};
    const ANeuralNetworksOperandType tensor = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = two};
    const ANeuralNetworksOperandType number = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    CHECK(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory) == OK);
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &number) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 8, 8) == OK);
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none) == OK);
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs)
          == OK);
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, first, 1, outputs) == OK);
    CHECK(ANeuralNetworksModel_finish(model) == OK);
    CHECK(ANeuralNetworksCompilation_create(model, &compilation) == OK);
    CHECK(ANeuralNetworksCompilation_finish(compilation) == OK);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == OK);
    CHECK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 8) == OK);
    CHECK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 16, 8) == OK);
    CHECK(ANeuralNetworksExecution_compute(execution) == OK);
    CHECK(values[4] == 2 && values[5] == 4);

    /* What is no buffer is refused, as far as it can be told. */
    static const char zeros[64];
    const void *const bad[] = {model, (void *)8, zeros, (void *)(intptr_t)-8};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ANeuralNetworksMemory *none_made = (ANeuralNetworksMemory *)bad;
        CHECK(ANeuralNetworksMemory_createFromAHardwareBuffer(bad[i], &none_made)
              == ANEURALNETWORKS_BAD_DATA);
        CHECK(none_made == NULL);
    }

    /* As late as can be: neither the memory nor the buffer is needed by what follows. */
    ANeuralNetworksMemory_free(memory);
    CHECK(FUNCTION(AHardwareBuffer_unlock)(buffer, NULL) == 0);
    FUNCTION(AHardwareBuffer_release)(buffer);
#ifdef OPENED
    CHECK(dlclose(library) == 0);
#endif
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
