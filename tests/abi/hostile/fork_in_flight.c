/* SPDX-License-Identifier: Apache-2.0 */
/* A child that waits for what only its parent does is told so, and the parent goes on. argv: the
 * device, and a number of layers that takes it some time. */
#include <nnapi_shim.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../check.h"
#include "add.h"

enum { SIZE = 1 << 22 };
static uint32_t layers;

/* A model that takes a while: `layers` times out = tanh(in), of SIZE numbers. */
static ANeuralNetworksModel *make_long_model(void)
{
    static const uint32_t size = SIZE;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &size, 0, 0};
    ANeuralNetworksModel *model = NULL;
    CHECK(ANeuralNetworksModel_create(&model) == 0);
    for (uint32_t i = 0; i <= layers; i++)
        CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == 0);
    for (uint32_t i = 0; i < layers; i++) {
        const uint32_t ends[] = {i, i + 1};
        CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_TANH, 1, &ends[0], 1,
                                                &ends[1]) == 0);
    }
    const uint32_t ends[] = {0, layers};
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[1]) == 0);
    CHECK(ANeuralNetworksModel_finish(model) == 0);
    return model;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    layers = (uint32_t)atoi(argv[2]);
    ANeuralNetworksModel *model = make_long_model();
    ANeuralNetworksCompilation *compilation = compile(model, argv[1]);
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;
    float *in = calloc(SIZE, sizeof *in), *out = calloc(SIZE, sizeof *out);
    CHECK(compilation != NULL && in != NULL && out != NULL);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == 0);
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, SIZE * sizeof *in) == 0);
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, SIZE * sizeof *out) == 0);
    CHECK(ANeuralNetworksExecution_startCompute(execution, &event) == 0);
    usleep(100000);
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        CHECK(ANeuralNetworksEvent_wait(event) == ANEURALNETWORKS_OP_FAILED);
        CHECK(strstr(nnapi_shim_getLastError(), "forked") != NULL);
        ANeuralNetworksEvent_free(event);
        CHECK(ANeuralNetworksExecution_compute(execution) == ANEURALNETWORKS_BAD_STATE);
        ANeuralNetworksExecution_free(execution);
        CHECK(add(argv[1]) == ANEURALNETWORKS_NO_ERROR);
        ANeuralNetworksCompilation_free(compilation);
        ANeuralNetworksModel_free(model);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(ANeuralNetworksEvent_wait(event) == ANEURALNETWORKS_NO_ERROR);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
