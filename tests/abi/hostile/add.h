/* SPDX-License-Identifier: Apache-2.0 */
/* A whole program in one call: out = 2 * (a + a) of four numbers, on a device of this name. */
#ifndef ADD_H
#define ADD_H

#include <android/NeuralNetworks.h>
#include <stdint.h>
#include <string.h>

/* The device, or NULL. */
static inline ANeuralNetworksDevice *find_device(const char *wanted)
{
    uint32_t count = 0;
    if (ANeuralNetworks_getDeviceCount(&count) != ANEURALNETWORKS_NO_ERROR)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = "";
        ANeuralNetworks_getDevice(i, &device);
        ANeuralNetworksDevice_getName(device, &name);
        if (strcmp(name, wanted) == 0)
            return device;
    }
    return NULL;
}

/* A finished model of two ADDs on float32[4], or NULL. */
static inline ANeuralNetworksModel *make_model(void)
{
    static const uint32_t four = 4;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four, 0, 0};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = 0;
    ANeuralNetworksModel *model = NULL;
    const uint32_t first[] = {0, 0, 3}, second[] = {1, 1, 3}, ends[] = {0, 1, 2};
    const int ok = ANEURALNETWORKS_NO_ERROR;
    if (ANeuralNetworksModel_create(&model) == ok
        && ANeuralNetworksModel_addOperand(model, &tensor) == ok
        && ANeuralNetworksModel_addOperand(model, &tensor) == ok
        && ANeuralNetworksModel_addOperand(model, &tensor) == ok
        && ANeuralNetworksModel_addOperand(model, &number) == ok
        && ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof none) == ok
        && ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, &ends[1]) == ok
        && ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, second, 1, &ends[2])
            == ok
        && ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[2]) == ok
        && ANeuralNetworksModel_finish(model) == ok)
        return model;
    ANeuralNetworksModel_free(model);
    return NULL;
}

/* The compilation of a model for this device, or NULL. */
static inline ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model, const char *name)
{
    const ANeuralNetworksDevice *device = find_device(name);
    ANeuralNetworksCompilation *compilation = NULL;
    if (model == NULL || device == NULL
        || ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation)
            != ANEURALNETWORKS_NO_ERROR
        || ANeuralNetworksCompilation_finish(compilation) != ANEURALNETWORKS_NO_ERROR) {
        ANeuralNetworksCompilation_free(compilation);
        return NULL;
    }
    return compilation;
}

/* Computes on this device; the result code of the first call that fails. */
static inline int add(const char *name)
{
    static const float a[] = {1, 2, 3, 4};
    float out[4] = {0};
    ANeuralNetworksModel *model = make_model();
    ANeuralNetworksCompilation *compilation = compile(model, name);
    ANeuralNetworksExecution *execution = NULL;
    int code = ANEURALNETWORKS_OP_FAILED;
    if (compilation != NULL)
        code = ANeuralNetworksExecution_create(compilation, &execution);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksExecution_setInput(execution, 0, NULL, a, sizeof a);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof out);
    if (code == ANEURALNETWORKS_NO_ERROR)
        code = ANeuralNetworksExecution_compute(execution);
    for (int i = 0; i < 4 && code == ANEURALNETWORKS_NO_ERROR; i++)
        if (out[i] != 4 * a[i])
            code = -1;
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return code;
}

#endif
