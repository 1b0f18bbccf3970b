/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads use the same objects:
 *
 *     threads SCENARIO DEVICE      SCENARIO: a name in the table at the end
 */
#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 1 << 14, THREADS = 4, ROUNDS = 100, OK = ANEURALNETWORKS_NO_ERROR };

static const uint32_t dimensions[] = {COUNT};
static const ANeuralNetworksOperandType tensor = {
    .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = dimensions};

static ANeuralNetworksDevice *device;
static ANeuralNetworksModel *model; /* c = activation(a + b); a, b and activation are inputs */
static ANeuralNetworksCompilation *compilation;
static pthread_barrier_t barrier;

static void find_device(const char *wanted)
{
    uint32_t count;
    CHECK(ANeuralNetworks_getDeviceCount(&count) == OK);
    for (uint32_t i = 0; i < count; i++) {
        const char *name;
        CHECK(ANeuralNetworks_getDevice(i, &device) == OK);
        CHECK(ANeuralNetworksDevice_getName(device, &name) == OK);
        if (strcmp(name, wanted) == 0)
            return;
    }
    CHECK(!"the device exists");
}

static uint32_t input_count; /* 2: the activation is a constant, and all is known at compilation */

static void build(uint32_t count)
{
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    static const int32_t none = 0;
    input_count = count;
    const ANeuralNetworksOperandType number = {.type = ANEURALNETWORKS_INT32};
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &number) == OK);
    if (count == 2)
        CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none) == OK);
    CHECK(ANeuralNetworksModel_addOperand(model, &tensor) == OK);
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs)
          == OK);
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, count, inputs, 1, outputs) == OK);
    CHECK(ANeuralNetworksModel_finish(model) == OK);
}

static ANeuralNetworksCompilation *compile(void)
{
    const ANeuralNetworksDevice *const devices[] = {device};
    ANeuralNetworksCompilation *made;
    CHECK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &made) == OK);
    CHECK(ANeuralNetworksCompilation_finish(made) == OK);
    return made;
}

/* An execution with its buffers. */
struct job {
    ANeuralNetworksExecution *execution;
    ANeuralNetworksEvent *event;
    float a[COUNT], b[COUNT], c[COUNT], offset;
    int32_t activation;
};

static struct job *new_job(ANeuralNetworksCompilation *of, float offset)
{
    struct job *job = calloc(1, sizeof *job);
    CHECK(job != NULL);
    job->offset = offset;
    for (int i = 0; i < COUNT; i++) {
        job->a[i] = (float)i;
        job->b[i] = offset;
    }
    CHECK(ANeuralNetworksExecution_create(of, &job->execution) == OK);
    CHECK(ANeuralNetworksExecution_setInput(job->execution, 0, NULL, job->a, sizeof job->a) == OK);
    CHECK(ANeuralNetworksExecution_setInput(job->execution, 1, NULL, job->b, sizeof job->b) == OK);
    if (input_count == 3)
        CHECK(ANeuralNetworksExecution_setInput(job->execution, 2, NULL, &job->activation, 4) == OK);
    CHECK(ANeuralNetworksExecution_setOutput(job->execution, 0, NULL, job->c, sizeof job->c) == OK);
    return job;
}

static void check_result(const struct job *job)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(job->c[i] == (float)i + job->offset);
}

static void free_job(struct job *job)
{
    ANeuralNetworksEvent_free(job->event);
    ANeuralNetworksExecution_free(job->execution);
    free(job);
}

/* Runs a function on several threads at once; each gets an element of the array. */
static void run_threads(int count, void *(*function)(void *), void *array, size_t size)
{
    pthread_t threads[THREADS];
    CHECK(count <= THREADS);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, function, (char *)array + i * size) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&barrier);
}

/* Executions of one compilation, each on its thread. */

static void *compute_many(void *number)
{
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < ROUNDS; round++) {
        struct job *job = new_job(compilation, (float)(*(int *)number * ROUNDS + round));
        CHECK(ANeuralNetworksExecution_compute(job->execution) == OK);
        check_result(job);
        free_job(job);
    }
    return NULL;
}

static void separate_executions(void)
{
    int numbers[THREADS] = {0, 1, 2, 3};
    run_threads(THREADS, compute_many, numbers, sizeof *numbers);
}

/* Compilations of one model, each on its thread. */

static void *compile_and_compute(void *number)
{
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 5; round++) {
        ANeuralNetworksCompilation *own = compile();
        struct job *job = new_job(own, (float)*(int *)number);
        CHECK(ANeuralNetworksExecution_compute(job->execution) == OK);
        check_result(job);
        free_job(job);
        ANeuralNetworksCompilation_free(own);
    }
    return NULL;
}

static void separate_compilations(void)
{
    int numbers[THREADS] = {0, 1, 2, 3};
    run_threads(THREADS, compile_and_compute, numbers, sizeof *numbers);
}

/* Many executions in flight; the starting thread does other things before it waits. */

static void in_flight(void)
{
    enum { JOBS = 16 };
    struct job *jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = new_job(compilation, (float)i);
        CHECK(ANeuralNetworksExecution_startCompute(jobs[i]->execution, &jobs[i]->event) == OK);
    }
    ANeuralNetworksCompilation *other = compile();
    struct job *job = new_job(other, 99);
    CHECK(ANeuralNetworksExecution_compute(job->execution) == OK);
    check_result(job);
    free_job(job);
    ANeuralNetworksCompilation_free(other);
    for (int i = JOBS - 1; i >= 0; i--) {
        CHECK(ANeuralNetworksEvent_wait(jobs[i]->event) == OK);
        check_result(jobs[i]);
        free_job(jobs[i]);
    }
}

/* Two threads start one execution, each in its way. */

enum mode { COMPUTE, START, BURST, FENCED, MODES };

struct racer {
    struct job *job;
    enum mode mode;
    ANeuralNetworksBurst *burst;
    int code;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    ANeuralNetworksExecution *execution = racer->job->execution;
    ANeuralNetworksEvent *event = (ANeuralNetworksEvent *)&barrier; /* set to NULL by a refusal */
    pthread_barrier_wait(&barrier);
    if (racer->mode == COMPUTE) {
        racer->code = ANeuralNetworksExecution_compute(execution);
    } else if (racer->mode == BURST) {
        racer->code = ANeuralNetworksExecution_burstCompute(execution, racer->burst);
    } else {
        racer->code = racer->mode == START
            ? ANeuralNetworksExecution_startCompute(execution, &event)
            : ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event);
        CHECK((racer->code == OK) == (event != NULL));
        if (racer->code == OK)
            CHECK(ANeuralNetworksEvent_wait(event) == OK);
        ANeuralNetworksEvent_free(event);
    }
    return NULL;
}

static void race_in_all_modes(bool reusable)
{
    ANeuralNetworksBurst *bursts[2];
    for (int i = 0; i < 2; i++)
        CHECK(ANeuralNetworksBurst_create(compilation, &bursts[i]) == OK);
    for (int pair = 0; pair < MODES * MODES; pair++)
        for (int round = 0; round < ROUNDS / 5; round++) {
            struct job *job = new_job(compilation, (float)pair);
            struct racer racers[2] = {{job, (enum mode)(pair / MODES), bursts[0], -1},
                                      {job, (enum mode)(pair % MODES), bursts[1], -1}};
            CHECK(ANeuralNetworksExecution_setReusable(job->execution, reusable) == OK);
            run_threads(2, race, racers, sizeof *racers);
            int won = (racers[0].code == OK) + (racers[1].code == OK);
            int lost = (racers[0].code == ANEURALNETWORKS_BAD_STATE)
                       + (racers[1].code == ANEURALNETWORKS_BAD_STATE);
            CHECK(won + lost == 2);
            CHECK(reusable ? won >= 1 : won == 1);
            check_result(job);
            free_job(job);
        }
    for (int i = 0; i < 2; i++)
        ANeuralNetworksBurst_free(bursts[i]);
}

static void race_once(void)
{
    race_in_all_modes(false);
}

static void race_reusable(void)
{
    race_in_all_modes(true);
}

/* Two threads use one burst: who finds it busy can use the execution afterwards. */

static void busy_burst(void)
{
    ANeuralNetworksBurst *burst;
    CHECK(ANeuralNetworksBurst_create(compilation, &burst) == OK);
    for (int round = 0; round < ROUNDS; round++) {
        struct racer racers[2];
        for (int i = 0; i < 2; i++)
            racers[i] = (struct racer){new_job(compilation, (float)i), BURST, burst, -1};
        run_threads(2, race, racers, sizeof *racers);
        CHECK(racers[0].code == OK || racers[1].code == OK);
        for (int i = 0; i < 2; i++) {
            if (racers[i].code != OK) {
                CHECK(racers[i].code == ANEURALNETWORKS_BAD_STATE);
                CHECK(ANeuralNetworksExecution_burstCompute(racers[i].job->execution, burst) == OK);
            }
            check_result(racers[i].job);
            free_job(racers[i].job);
        }
    }
    ANeuralNetworksBurst_free(burst);
}

/* All threads wait for one event, and get the same answer. */

struct waiter {
    ANeuralNetworksEvent *event;
    int code;
};

static void *wait_twice(void *argument)
{
    struct waiter *waiter = argument;
    pthread_barrier_wait(&barrier);
    waiter->code = ANeuralNetworksEvent_wait(waiter->event);
    CHECK(ANeuralNetworksEvent_wait(waiter->event) == waiter->code);
    return NULL;
}

static void all_wait(ANeuralNetworksEvent *event, int code)
{
    struct waiter array[THREADS];
    for (int i = 0; i < THREADS; i++)
        array[i] = (struct waiter){event, -1};
    run_threads(THREADS, wait_twice, array, sizeof *array);
    for (int i = 0; i < THREADS; i++)
        CHECK(array[i].code == code);
}

static void waiters(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct job *job = new_job(compilation, (float)round);
        bool fails = round % 2;
        if (fails)
            job->activation = 999; /* found when it runs */
        CHECK(ANeuralNetworksExecution_startCompute(job->execution, &job->event) == OK);
        all_wait(job->event, fails ? ANEURALNETWORKS_OP_FAILED : OK);
        if (!fails)
            check_result(job);
        free_job(job);
    }
}

/* The same for executions with dependencies, which the waits complete, and for fences. */

static void fenced_waiters(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct job *job = new_job(compilation, (float)round);
        uint32_t rank = 0;
        CHECK(ANeuralNetworksExecution_startComputeWithDependencies(job->execution, NULL, 0, 0,
                                                                    &job->event) == OK);
        all_wait(job->event, OK);
        CHECK(ANeuralNetworksExecution_getOutputOperandRank(job->execution, 0, &rank) == OK);
        CHECK(rank == 1);
        check_result(job);
        free_job(job);
    }
}

static void *signal_fence(void *descriptor)
{
    usleep(1000);
    CHECK(write(*(int *)descriptor, "x", 1) == 1);
    return NULL;
}

static void fence_waiters(void)
{
    for (int round = 0; round < ROUNDS / 5; round++) {
        int ends[2];
        pthread_t thread;
        ANeuralNetworksEvent *fence;
        CHECK(pipe(ends) == 0);
        CHECK(ANeuralNetworksEvent_createFromSyncFenceFd(ends[0], &fence) == OK);
        CHECK(pthread_create(&thread, NULL, signal_fence, &ends[1]) == 0);
        all_wait(fence, OK);
        CHECK(pthread_join(thread, NULL) == 0);
        ANeuralNetworksEvent_free(fence);
        CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
}

/* Memory of a device, filled by one thread and read by runs of others, which see all or nothing. */

static ANeuralNetworksMemory *shared;

static void *fill_or_use(void *number)
{
    static float values[COUNT];
    bool fills = *(int *)number == 0;
    ANeuralNetworksMemory *source = NULL;
    FILE *file = NULL;
    if (fills) {
        file = tmpfile();
        CHECK(file != NULL);
        for (int i = 0; i < COUNT; i++)
            values[i] = (float)i;
        CHECK(fwrite(values, sizeof values, 1, file) == 1 && fflush(file) == 0);
        CHECK(ANeuralNetworksMemory_createFromFd(sizeof values, PROT_READ, fileno(file), 0, &source)
              == OK);
    }
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < ROUNDS; round++) {
        if (fills) {
            CHECK(ANeuralNetworksMemory_copy(source, shared) == OK);
            continue;
        }
        struct job *job = new_job(compilation, 0);
        ANeuralNetworksExecution_free(job->execution);
        CHECK(ANeuralNetworksExecution_create(compilation, &job->execution) == OK);
        CHECK(ANeuralNetworksExecution_setInputFromMemory(job->execution, 0, NULL, shared, 0, 0)
              == OK);
        CHECK(ANeuralNetworksExecution_setInput(job->execution, 1, NULL, job->b, sizeof job->b)
              == OK);
        CHECK(ANeuralNetworksExecution_setInput(job->execution, 2, NULL, &job->activation, 4)
              == OK);
        CHECK(ANeuralNetworksExecution_setOutput(job->execution, 0, NULL, job->c, sizeof job->c)
              == OK);
        int code = ANeuralNetworksExecution_compute(job->execution);
        CHECK(code == OK || code == ANEURALNETWORKS_OP_FAILED); /* nothing in it yet */
        if (code == OK)
            check_result(job);
        free_job(job);
    }
    if (fills) {
        ANeuralNetworksMemory_free(source);
        fclose(file);
    }
    return NULL;
}

static void device_memory(void)
{
    int numbers[THREADS] = {0, 1, 2, 3};
    ANeuralNetworksMemoryDesc *desc;
    CHECK(ANeuralNetworksMemoryDesc_create(&desc) == OK);
    CHECK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1) == OK);
    CHECK(ANeuralNetworksMemoryDesc_finish(desc) == OK);
    CHECK(ANeuralNetworksMemory_createFromDesc(desc, &shared) == OK);
    ANeuralNetworksMemoryDesc_free(desc);
    run_threads(THREADS, fill_or_use, numbers, sizeof *numbers);
    ANeuralNetworksMemory_free(shared);
}

/* An execution is freed while it runs: it runs on to its end. */

static void freed_in_flight(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct job *job = new_job(compilation, (float)round);
        CHECK(ANeuralNetworksExecution_startCompute(job->execution, &job->event) == OK);
        ANeuralNetworksExecution_free(job->execution);
        CHECK(ANeuralNetworksExecution_compute(job->execution) == ANEURALNETWORKS_BAD_DATA);
        job->execution = NULL;
        if (round % 2) {
            CHECK(ANeuralNetworksEvent_wait(job->event) == OK);
        } else { /* freeing the event waits, too */
            ANeuralNetworksEvent_free(job->event);
            job->event = NULL;
        }
        check_result(job);
        free_job(job);
    }
}

/* An execution that one thread runs again and again: what others see of it, and free it while it runs. */

static struct job *repeated;
static ANeuralNetworksBurst *repeated_in;
static atomic_bool goes_on;

static int repeat(bool in_burst)
{
    return in_burst ? ANeuralNetworksExecution_burstCompute(repeated->execution, repeated_in)
                    : ANeuralNetworksExecution_compute(repeated->execution);
}

static void *repeat_until_freed(void *in_burst)
{
    int code = OK;
    while (code == OK || code == ANEURALNETWORKS_BAD_STATE) {
        code = repeat(*(bool *)in_burst);
        goes_on = true;
    }
    CHECK(code == ANEURALNETWORKS_BAD_DATA); /* freed */
    return NULL;
}

static void run_again(void)
{
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    build(2);
    compilation = compile();
    for (int round = 0; round < ROUNDS; round++) {
        bool in_burst = round % 2;
        pthread_t thread;
        CHECK(ANeuralNetworksBurst_create(compilation, &repeated_in) == OK);
        repeated = new_job(compilation, (float)round);
        CHECK(ANeuralNetworksExecution_setReusable(repeated->execution, true) == OK);
        goes_on = false;
        CHECK(pthread_create(&thread, NULL, repeat_until_freed, &in_burst) == 0);
        for (int i = 0; i < 20 || !goes_on; i++) {
            uint32_t rank = 0;
            int code = ANeuralNetworksExecution_getOutputOperandRank(repeated->execution, 0, &rank);
            CHECK(code == OK ? rank == 1 : code == ANEURALNETWORKS_BAD_STATE);
            code = ANeuralNetworksExecution_setInput(repeated->execution, 0, NULL, repeated->b,
                                                  sizeof repeated->b);
            CHECK(code == ANEURALNETWORKS_BAD_STATE);
            code = repeat(!in_burst);
            CHECK(code == OK || code == ANEURALNETWORKS_BAD_STATE);
        }
        if (round % 4 < 2)
            ANeuralNetworksExecution_free(repeated->execution);
        ANeuralNetworksBurst_free(repeated_in);
        if (round % 4 >= 2)
            ANeuralNetworksExecution_free(repeated->execution);
        CHECK(pthread_join(thread, NULL) == 0);
        check_result(repeated);
        repeated->execution = NULL;
        free_job(repeated);
    }
}

/* The last error belongs to the thread whose call failed. */

static void *fail_with_index(void *number)
{
    char wanted[32];
    ANeuralNetworksDevice *none;
    uint32_t index = *(uint32_t *)number;
    snprintf(wanted, sizeof wanted, "device %u does not exist", index);
    CHECK(strcmp(nnapi_shim_getLastError(), "") == 0);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        CHECK(ANeuralNetworks_getDevice(index, &none) == ANEURALNETWORKS_BAD_DATA);
        pthread_barrier_wait(&barrier);
        CHECK(strstr(nnapi_shim_getLastError(), wanted) != NULL);
    }
    return NULL;
}

static void last_errors(void)
{
    uint32_t numbers[THREADS] = {100, 101, 102, 103};
    CHECK(ANeuralNetworksModel_finish(NULL) == ANEURALNETWORKS_UNEXPECTED_NULL);
    run_threads(THREADS, fail_with_index, numbers, sizeof *numbers);
    CHECK(strstr(nnapi_shim_getLastError(), "ANeuralNetworksModel_finish") != NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"separate_executions", separate_executions},
    {"separate_compilations", separate_compilations},
    {"in_flight", in_flight},
    {"race_once", race_once},
    {"race_reusable", race_reusable},
    {"busy_burst", busy_burst},
    {"waiters", waiters},
    {"fenced_waiters", fenced_waiters},
    {"fence_waiters", fence_waiters},
    {"device_memory", device_memory},
    {"freed_in_flight", freed_in_flight},
    {"run_again", run_again},
    {"last_errors", last_errors},
};

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    find_device(argv[2]);
    build(3);
    compilation = compile();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run();
            ANeuralNetworksCompilation_free(compilation);
            ANeuralNetworksModel_free(model);
            return 0;
        }
    CHECK(!"the scenario exists");
}
