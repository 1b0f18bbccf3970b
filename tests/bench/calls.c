/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of calls, for bench.py: prints `empty`, `compute` and `chain` in ns, the least of several
 * rounds each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <android/NeuralNetworks.h>

enum { CHAIN = 100, ROUNDS = 30, CALLS = 2000 };

#define CHECK(call)                                        \
    do {                                                   \
        if ((call) != ANEURALNETWORKS_NO_ERROR) {          \
            fprintf(stderr, "failed: %s\n", #call);        \
            exit(1);                                       \
        }                                                  \
    } while (0)

static const uint32_t four = 4;
static const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four, 0, 0};
static const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* x0 + x1 = x3, x3 + x1 = x4, ...; operand 2 is the activation. */
static void build(uint32_t length, const ANeuralNetworksDevice *device,
                  ANeuralNetworksModel **model, ANeuralNetworksCompilation **compilation)
{
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t arguments[] = {0, 1};
    uint32_t last = 2 + length;

    CHECK(ANeuralNetworksModel_create(model));
    CHECK(ANeuralNetworksModel_addOperand(*model, &tensor));
    CHECK(ANeuralNetworksModel_addOperand(*model, &tensor));
    CHECK(ANeuralNetworksModel_addOperand(*model, &scalar));
    CHECK(ANeuralNetworksModel_setOperandValue(*model, 2, &none, sizeof none));
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t inputs[] = {i == 0 ? 0 : 2 + i, 1, 2}, output = 3 + i;
        CHECK(ANeuralNetworksModel_addOperand(*model, &tensor));
        CHECK(ANeuralNetworksModel_addOperation(*model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
    }
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(*model, 2, arguments, 1, &last));
    CHECK(ANeuralNetworksModel_finish(*model));
    CHECK(ANeuralNetworksCompilation_createForDevices(*model, &device, 1, compilation));
    CHECK(ANeuralNetworksCompilation_finish(*compilation));
}

int main(void)
{
    ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
    float sum[4];
    double empty = 1e18, compute = 1e18, chain = 1e18;

    CHECK(ANeuralNetworks_getDevice(0, &device));
    build(1, device, &model, &compilation);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setReusable(execution, true));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x));
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    CHECK(ANeuralNetworksExecution_compute(execution));
    for (int round = 0; round < ROUNDS; round++) {
        double start = now(), time;
        for (int i = 0; i < CALLS; i++)
            CHECK(ANeuralNetworksDevice_wait(device));
        time = (now() - start) / CALLS;
        empty = time < empty ? time : empty;

        start = now();
        for (int i = 0; i < CALLS; i++)
            CHECK(ANeuralNetworksExecution_compute(execution));
        time = (now() - start) / CALLS;
        compute = time < compute ? time : compute;

        start = now();
        ANeuralNetworksModel *long_model;
        ANeuralNetworksCompilation *long_compilation;
        build(CHAIN, device, &long_model, &long_compilation);
        time = now() - start;
        chain = time < chain ? time : chain;
        ANeuralNetworksCompilation_free(long_compilation);
        ANeuralNetworksModel_free(long_model);
    }
    printf("empty %.1f\ncompute %.1f\nchain %.1f\n", empty, compute, chain);
    return sum[3] == 44 ? 0 : 1;
}
