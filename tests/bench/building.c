/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of calls that build and of whole executions, for bench.py: a name and ns per line, medians
 * of several rounds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <android/NeuralNetworks.h>

enum { ROUNDS = 15, CALLS = 500, CYCLES = 200, LONGEST = 10000 };

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
static const int32_t none = ANEURALNETWORKS_FUSED_NONE;
static const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
static float sum[4];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_median(const char *name, double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%s %.1f\n", name, times[count / 2]);
}

/* x0 + x1 = x3, x3 + x1 = x4, ...; operand 2 is the activation. */
static void add_chain(ANeuralNetworksModel *model, uint32_t length, double *spent)
{
    static uint32_t inputs[LONGEST][3], outputs[LONGEST];
    const uint32_t arguments[] = {0, 1}, last = 2 + length;
    double start = now();
    for (uint32_t i = 0; i < 3 + length; i++)
        CHECK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    spent[0] = (now() - start) / (3 + length);
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    for (uint32_t i = 0; i < length; i++) {
        inputs[i][0] = i == 0 ? 0 : 2 + i, inputs[i][1] = 1, inputs[i][2] = 2;
        outputs[i] = 3 + i;
    }
    start = now();
    for (uint32_t i = 0; i < length; i++)
        CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs[i], 1,
                                                &outputs[i]));
    spent[1] = (now() - start) / length;
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, arguments, 1, &last));
    CHECK(ANeuralNetworksModel_finish(model));
}

static double chain(uint32_t length, ANeuralNetworksDevice *device, double *spent)
{
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    double start = now();
    CHECK(ANeuralNetworksModel_create(&model));
    add_chain(model, length, spent);
    const ANeuralNetworksDevice *devices[] = {device};
    CHECK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    double time = now() - start;
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return time;
}

static double set_values(void)
{
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < CALLS; i++)
        CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
    double start = now();
    for (int i = 0; i < CALLS; i++)
        CHECK(ANeuralNetworksModel_setOperandValue(model, i, x, sizeof x));
    double time = (now() - start) / CALLS;
    ANeuralNetworksModel_free(model);
    return time;
}

static double set_inputs(ANeuralNetworksCompilation *compilation)
{
    static ANeuralNetworksExecution *executions[CALLS];
    for (int i = 0; i < CALLS; i++)
        CHECK(ANeuralNetworksExecution_create(compilation, &executions[i]));
    double start = now();
    for (int i = 0; i < CALLS; i++)
        CHECK(ANeuralNetworksExecution_setInput(executions[i], 0, NULL, x, sizeof x));
    double time = (now() - start) / CALLS;
    for (int i = 0; i < CALLS; i++)
        ANeuralNetworksExecution_free(executions[i]);
    return time;
}

static ANeuralNetworksExecution *bound(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution;
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x));
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    return execution;
}

static double cycle(ANeuralNetworksCompilation *compilation)
{
    double start = now();
    for (int i = 0; i < CYCLES; i++) {
        ANeuralNetworksExecution *execution = bound(compilation);
        CHECK(ANeuralNetworksExecution_compute(execution));
        ANeuralNetworksExecution_free(execution);
    }
    return (now() - start) / CYCLES;
}

static double started(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution = bound(compilation);
    CHECK(ANeuralNetworksExecution_setReusable(execution, true));
    double start = now();
    for (int i = 0; i < CYCLES; i++) {
        ANeuralNetworksEvent *event;
        CHECK(ANeuralNetworksExecution_startCompute(execution, &event));
        CHECK(ANeuralNetworksEvent_wait(event));
        ANeuralNetworksEvent_free(event);
    }
    double time = (now() - start) / CYCLES;
    ANeuralNetworksExecution_free(execution);
    return time;
}

/* A bare hand-over to another thread and back. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn; /* 0: the main thread's, 1: the other one's, 2: the end */
} ball = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static int wait_for_turn(int other)
{
    pthread_mutex_lock(&ball.lock);
    while (ball.turn == other)
        pthread_cond_wait(&ball.changed, &ball.lock);
    int turn = ball.turn;
    pthread_mutex_unlock(&ball.lock);
    return turn;
}

static void give(int turn)
{
    pthread_mutex_lock(&ball.lock);
    ball.turn = turn;
    pthread_cond_signal(&ball.changed);
    pthread_mutex_unlock(&ball.lock);
}

static void *give_back(void *nothing)
{
    while (wait_for_turn(0) == 1)
        give(0);
    return nothing;
}

static double hand_over(void)
{
    double start = now();
    for (int i = 0; i < CYCLES; i++) {
        give(1);
        wait_for_turn(1);
    }
    return (now() - start) / CYCLES;
}

int main(void)
{
    enum { EMPTY, OPERAND, VALUE, OPERATION, INPUT, CYCLE, START, HAND_OVER, FIGURES };
    static const char *const names[] = {"empty", "addOperand", "setOperandValue", "addOperation",
                                        "setInput", "cycle", "start", "handOver"};
    static double times[FIGURES][ROUNDS], chains[3][ROUNDS];
    static const uint32_t lengths[] = {100, 1000, 10000};
    double spent[2];
    ANeuralNetworksDevice *device;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    pthread_t thread;

    CHECK(ANeuralNetworks_getDevice(0, &device));
    CHECK(ANeuralNetworksModel_create(&model));
    add_chain(model, 1, spent);
    const ANeuralNetworksDevice *devices[] = {device};
    CHECK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    pthread_create(&thread, NULL, give_back, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int i = 0; i < CALLS; i++)
            CHECK(ANeuralNetworksDevice_wait(device));
        times[EMPTY][round] = (now() - start) / CALLS;
        chains[0][round] = chain(lengths[0], device, spent);
        times[OPERAND][round] = spent[0];
        times[OPERATION][round] = spent[1];
        times[VALUE][round] = set_values();
        times[INPUT][round] = set_inputs(compilation);
        times[CYCLE][round] = cycle(compilation);
        times[START][round] = started(compilation);
        times[HAND_OVER][round] = hand_over();
    }
    give(2);
    pthread_join(thread, NULL);
    for (int figure = 0; figure < FIGURES; figure++)
        print_median(names[figure], times[figure], ROUNDS);
    print_median("chain100", chains[0], ROUNDS);
    for (int i = 1; i < 3; i++) {
        for (int round = 0; round < 5; round++)
            chains[i][round] = chain(lengths[i], device, spent);
        print_median(i == 1 ? "chain1000" : "chain10000", chains[i], 5);
    }
    return sum[3] == 44 ? 0 : 1;
}
