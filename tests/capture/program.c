/* SPDX-License-Identifier: Apache-2.0 */
/* Computes, and does what its argument says. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hostile/add.h"

enum { OK = ANEURALNETWORKS_NO_ERROR, THREADS = 4, ROUNDS = 20 };

static void *add_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        CHECK(add("nnapi-cpu") == OK);
    return NULL;
}

static void compute_with(const float *input)
{
    float out[4];
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksCompilation *compilation = compile(make_model(), "nnapi-cpu");
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == OK);
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof out) == OK);
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof out) == OK);
    ANeuralNetworksExecution_compute(execution);
}

/* A model whose constant and whose arguments lie in memory of a file, which changes between runs. */
static void compute_from_memory(void)
{
    static const uint32_t four = 4;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four, 0, 0};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = 0;
    const uint32_t inputs[] = {0, 1, 2}, ends[] = {0, 3};
    const int fd = memfd_create("memory", 0);
    CHECK(ftruncate(fd, 4096) == 0);
    float *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ANeuralNetworksMemory *memory = NULL;
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    for (int i = 0; i < 8; i++)
        bytes[16 + i] = (float)i; /* the constant, from byte 64 on, is a part of this */
    CHECK(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &memory) == OK);
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    for (int i = 0; i < 4; i++)
        CHECK(ANeuralNetworksModel_addOperand(model, i == 2 ? &number : &tensor) == OK);
    CHECK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 64, 16) == OK);
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none) == OK);
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &ends[1]) == OK);
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, ends, 1, &ends[1]) == OK);
    CHECK(ANeuralNetworksModel_finish(model) == OK);
    CHECK(ANeuralNetworksCompilation_create(model, &compilation) == OK);
    CHECK(ANeuralNetworksCompilation_finish(compilation) == OK);
    for (int round = 0; round < 2; round++) {
        ANeuralNetworksExecution *execution = NULL;
        for (int i = 0; i < 4; i++)
            bytes[64 + i] = (float)(10 * round + i);
        CHECK(ANeuralNetworksExecution_create(compilation, &execution) == OK);
        CHECK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 256, 16) == OK);
        CHECK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 512, 16) == OK);
        CHECK(ANeuralNetworksExecution_compute(execution) == OK);
        for (int i = 0; i < 4; i++)
            CHECK(bytes[128 + i] == (float)(10 * round + 2 * i));
        ANeuralNetworksExecution_free(execution);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    CHECK(add("nnapi-cpu") == OK);
    if (strcmp(what, "kill") == 0) {
        CHECK(make_model() != NULL);
        raise(SIGKILL);
    } else if (strcmp(what, "crash") == 0) {
        compute_with((const float *)4096); /* where nothing is */
    } else if (strcmp(what, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            CHECK(add("nnapi-cpu") == OK);
            exit(0);
        }
        int status = 1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(add("nnapi-cpu") == OK);
    } else if (strcmp(what, "threads") == 0) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, add_often, NULL) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    } else if (strcmp(what, "memory") == 0) {
        compute_from_memory();
    } else if (strcmp(what, "close") == 0) {
        /* All descriptors but the standard ones; the next file gets the number of one of them. */
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        int fd = -1;
        for (int i = 0; i < 8; i++)
            fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
        CHECK(fd >= 0 && write(fd, "mine", 4) == 4);
        CHECK(add("nnapi-cpu") == OK);
    } else if (strcmp(what, "run") == 0) {
        CHECK(system(argv[2]) == 0);
        CHECK(add("nnapi-cpu") == OK);
    }
    puts("done");
    return 0;
}
