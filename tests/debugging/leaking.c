/* SPDX-License-Identifier: Apache-2.0 */
/* Runs ADD and loses two blocks of its own: one that it took before the library was used, and one
 * after. With an argument, it also lets the library read from a block that is freed. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, BYTES = COUNT * sizeof(float) };

#define CHECK(call)                                 \
    do {                                            \
        int code = (call);                          \
        if (code != ANEURALNETWORKS_NO_ERROR) {     \
            fprintf(stderr, "%d: %s\n", code, #call); \
            exit(EXIT_FAILURE);                     \
        }                                           \
    } while (0)

static void *volatile lost;

static __attribute__((noinline)) void lose_early(void)
{
    lost = malloc(1001);
    lost = NULL;
}

static __attribute__((noinline)) void lose_late(void)
{
    lost = malloc(2002);
    lost = NULL;
}

static ANeuralNetworksModel *addition(void)
{
    const uint32_t count = COUNT, inputs[] = {0, 0, 1}, input = 0, output = 2;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &count, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model));
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    CHECK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none));
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    CHECK(ANeuralNetworksModel_finish(model));
    return model;
}

static void compute(ANeuralNetworksCompilation *compilation, const float *input, float *output)
{
    ANeuralNetworksExecution *execution;
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, BYTES));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, BYTES));
    CHECK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
}

int main(int argc, char **argv)
{
    (void)argv;
    lose_early();
    ANeuralNetworksModel *model = addition();
    ANeuralNetworksCompilation *compilation;
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));

    float *volatile input = calloc(1, BYTES); /* volatile: the compiler would warn of what is done */
    float *output = malloc(BYTES);
    compute(compilation, input, output);
    free(input);
    if (argc > 1)
        compute(compilation, input, output);
    free(output);

    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    lose_late();
    return EXIT_SUCCESS;
}
