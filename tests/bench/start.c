/* SPDX-License-Identifier: Apache-2.0 */
/* One process from start to the result of a model with one operation, for bench.py. With an
 * argument it also prints which of the heavy Python packages are mapped: there should be none. */
#include <stdio.h>
#include <string.h>

#include <android/NeuralNetworks.h>

#define CHECK(call)                                        \
    do {                                                   \
        if ((call) != ANEURALNETWORKS_NO_ERROR) {          \
            fprintf(stderr, "failed: %s\n", #call);        \
            return 1;                                      \
        }                                                  \
    } while (0)

static void print_heavy_packages(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= (strstr(line, "_multiarray_umath") != NULL) | (strstr(line, "llvmlite") != NULL) << 1;
    if (maps != NULL)
        fclose(maps);
    printf("%s%s\n", found & 1 ? "numpy " : "", found & 2 ? "numba" : "");
}

int main(int count, char **arguments)
{
    const uint32_t four = 4, inputs[] = {0, 1, 2}, output = 3;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
    float sum[4] = {0};
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;

    (void)arguments;
    CHECK(ANeuralNetworksModel_create(&model));
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &output));
    CHECK(ANeuralNetworksModel_finish(model));
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x));
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    CHECK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    if (count > 1)
        print_heavy_packages();
    return sum[3] == 44 ? 0 : 1;
}
