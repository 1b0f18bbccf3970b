/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantized results are the same in every rounding mode of the program, and functions keep the mode.
 *
 *     rounding_mode DEVICE
 *
 * All sums of two bytes, by models that are built in each of the modes and run in each of them.
 */
#include <android/NeuralNetworks.h>
#include <fenv.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { OK = ANEURALNETWORKS_NO_ERROR, BYTES = 256, PAIRS = BYTES * BYTES };
enum { FIRST, SECOND, ACTIVATION, OUTPUT, OPERANDS };

static int mode;

/* Whether float instructions round by `mode`: fegetround() asks the x87 unit on x86-64. */
static bool is_kept(void)
{
    static volatile float one = 1, tiny = 0x1p-30F;
    const bool up = one + tiny > one, down = -one - tiny < -one, below = one - tiny < one;
    return up == (mode == FE_UPWARD) && down == (mode == FE_DOWNWARD)
        && below == (mode == FE_DOWNWARD || mode == FE_TOWARDZERO);
}

/* A call that has to succeed, and to keep the mode. */
#define CALL(call)                   \
    do {                             \
        CHECK((call) == OK);         \
        CHECK(is_kept());            \
    } while (0)

static void round_by(int wanted)
{
    mode = wanted;
    CHECK(fesetround(mode) == 0);
}

static ANeuralNetworksModel *model_of_sums(void)
{
    static const uint32_t size = PAIRS;
    static const int32_t activation = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType types[OPERANDS] = {
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &size, 0.3F, 100},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &size, 0.1F, 3},
        {ANEURALNETWORKS_INT32, 0, NULL, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &size, 0.63F, 40},
    };
    const uint32_t operands[] = {FIRST, SECOND, ACTIVATION, OUTPUT};
    ANeuralNetworksModel *model;
    CALL(ANeuralNetworksModel_create(&model));
    for (int at = 0; at < OPERANDS; at++)
        CALL(ANeuralNetworksModel_addOperand(model, &types[at]));
    CALL(ANeuralNetworksModel_setOperandValue(model, ACTIVATION, &activation, sizeof activation));
    CALL(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, &operands[OUTPUT]));
    CALL(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, operands, 1, &operands[OUTPUT]));
    CALL(ANeuralNetworksModel_finish(model));
    return model;
}

static const ANeuralNetworksDevice *device_of(const char *name)
{
    uint32_t count;
    CALL(ANeuralNetworks_getDeviceCount(&count));
    for (uint32_t at = 0; at < count; at++) {
        ANeuralNetworksDevice *device;
        const char *found;
        CALL(ANeuralNetworks_getDevice(at, &device));
        CALL(ANeuralNetworksDevice_getName(device, &found));
        if (strcmp(found, name) == 0)
            return device;
    }
    CHECK(!"the device is listed");
    return NULL;
}

int main(int count, char **arguments)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    enum { MODES = sizeof modes / sizeof *modes };
    static uint8_t first[PAIRS], second[PAIRS], output[PAIRS], expected[PAIRS];
    CHECK(count == 2);
    for (int pair = 0; pair < PAIRS; pair++) {
        first[pair] = (uint8_t)(pair / BYTES);
        second[pair] = (uint8_t)(pair % BYTES);
    }
    for (int built = 0; built < MODES; built++) {
        round_by(modes[built]);
        ANeuralNetworksModel *model = model_of_sums();
        const ANeuralNetworksDevice *device = device_of(arguments[1]);
        ANeuralNetworksCompilation *compilation;
        CALL(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
        CALL(ANeuralNetworksCompilation_finish(compilation));
        ANeuralNetworksExecution *execution;
        CALL(ANeuralNetworksExecution_create(compilation, &execution));
        CALL(ANeuralNetworksExecution_setReusable(execution, true));
        CALL(ANeuralNetworksExecution_setInput(execution, 0, NULL, first, sizeof first));
        CALL(ANeuralNetworksExecution_setInput(execution, 1, NULL, second, sizeof second));
        CALL(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output));
        for (int run = 0; run < MODES; run++) { /* from the second one on, Python stays out of it */
            round_by(modes[run]);
            memset(output, 0, sizeof output);
            CALL(ANeuralNetworksExecution_compute(execution));
            if (built == 0 && run == 0)
                memcpy(expected, output, sizeof output);
            CHECK(memcmp(output, expected, sizeof output) == 0);
        }
        ANeuralNetworksExecution_free(execution);
        ANeuralNetworksCompilation_free(compilation);
        ANeuralNetworksModel_free(model);
        CHECK(is_kept());
    }
    return 0;
}
