/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a user has it: adds two numbers on the Neural Networks API. */
#include <android/NeuralNetworks.h>
#ifdef WITH_COMPANIONS
#include <android/log.h>
#include <android/sharedmem.h>
#include <unistd.h>
#endif
#include <stdio.h>

#define CHECK(call) \
    do { \
        int code_ = (call); \
        if (code_ != ANEURALNETWORKS_NO_ERROR) { \
            printf("%s: %d\n", #call, code_); \
            return 1; \
        } \
    } while (0)

int main(void)
{
    static const uint32_t one[] = {1};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, one, 0.0f, 0};
    const ANeuralNetworksOperandType code = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    const float left = 1.5f, right = 2.25f;
    float sum = 0.0f;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;

    CHECK(ANeuralNetworksModel_create(&model));
    CHECK(ANeuralNetworksModel_addOperand(model, &number));
    CHECK(ANeuralNetworksModel_addOperand(model, &number));
    CHECK(ANeuralNetworksModel_addOperand(model, &code));
    CHECK(ANeuralNetworksModel_addOperand(model, &number));
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    CHECK(ANeuralNetworksModel_finish(model));
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, &left, sizeof left));
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, &right, sizeof right));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &sum, sizeof sum));
    CHECK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
#ifdef WITH_COMPANIONS
    int memory = ASharedMemory_create("sum", 4096);
    if (memory < 0 || ASharedMemory_getSize(memory) != 4096)
        return 1;
    close(memory);
    __android_log_print(ANDROID_LOG_INFO, "add", "done");
#endif
    printf("%g\n", sum);
    return 0;
}
