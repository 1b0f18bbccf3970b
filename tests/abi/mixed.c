/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads run executions of different models, in all ways, each result checked; what is in
 * memory may not grow with the number of executions.
 *
 *     mixed EXECUTIONS [DEVICE]
 *
 * EXECUTIONS: of each thread. Prints the resident memory at the start and at the end.
 */
#include <android/NeuralNetworks.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

enum { OK = ANEURALNETWORKS_NO_ERROR, THREADS = 8, MOST = 64, GROWTH_KIB = 16 << 10 };
enum { F32 = ANEURALNETWORKS_TENSOR_FLOAT32, INPUTS = 2 };

/* A model of two inputs a, b and one output, all of float numbers, and what it computes. */

struct kind {
    const char *name;
    uint32_t least, most; /* numbers per operand; the model leaves the size open if they differ */
    void (*build)(ANeuralNetworksModel *model, uint32_t size);
    float (*expected)(const float *a, const float *b, uint32_t i, uint32_t size);
    ANeuralNetworksCompilation *compilations[2]; /* of all devices, of the named one */
};

static void operand(ANeuralNetworksModel *model, int32_t code, uint32_t rank, uint32_t x, uint32_t y)
{
    uint32_t sizes[] = {x, y};
    ANeuralNetworksOperandType type = {code, rank, rank ? sizes : NULL, 0, 0};
    CHECK(ANeuralNetworksModel_addOperand(model, &type) == OK);
}

static void vector(ANeuralNetworksModel *model, uint32_t size)
{
    operand(model, F32, 1, size, 0);
}

static void scalar(ANeuralNetworksModel *model, uint32_t index, int32_t value)
{
    operand(model, ANEURALNETWORKS_INT32, 0, 0, 0);
    CHECK(ANeuralNetworksModel_setOperandValue(model, (int32_t)index, &value, sizeof value) == OK);
}

static void operation(ANeuralNetworksModel *model, int code, uint32_t count, const uint32_t *inputs,
                      uint32_t output)
{
    CHECK(ANeuralNetworksModel_addOperation(model, code, count, inputs, 1, &output) == OK);
}

static void finish(ANeuralNetworksModel *model, uint32_t output)
{
    uint32_t inputs[INPUTS] = {0, 1};
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, INPUTS, inputs, 1, &output) == OK);
    CHECK(ANeuralNetworksModel_finish(model) == OK);
}

/* a + b, then a few times more + b */

enum { SUMS = 6 };

static void build_sums(ANeuralNetworksModel *model, uint32_t size)
{
    vector(model, size);
    vector(model, size);
    scalar(model, 2, ANEURALNETWORKS_FUSED_NONE);
    for (uint32_t i = 0; i < SUMS; i++) {
        vector(model, size);
        operation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){i ? 2 + i : 0, 1, 2}, 3 + i);
    }
    finish(model, 2 + SUMS);
}

static float expected_sums(const float *a, const float *b, uint32_t i, uint32_t size)
{
    (void)size;
    return a[i] + SUMS * b[i];
}

/* relu(a * b) */

static void build_product(ANeuralNetworksModel *model, uint32_t size)
{
    vector(model, size);
    vector(model, size);
    scalar(model, 2, ANEURALNETWORKS_FUSED_RELU);
    vector(model, size);
    operation(model, ANEURALNETWORKS_MUL, 3, (uint32_t[]){0, 1, 2}, 3);
    finish(model, 3);
}

static float expected_product(const float *a, const float *b, uint32_t i, uint32_t size)
{
    (void)size;
    return a[i] * b[i] > 0 ? a[i] * b[i] : 0;
}

/* b + the sums of the numbers of a up to each: a matrix with zeros above the diagonal */

static float triangle[MOST * MOST];

static void build_matrix(ANeuralNetworksModel *model, uint32_t size)
{
    operand(model, F32, 2, 1, size);
    vector(model, size);
    operand(model, F32, 2, size, size);
    for (uint32_t row = 0; row < size; row++)
        for (uint32_t column = 0; column < size; column++)
            triangle[row * size + column] = column <= row;
    size_t length = size * size * sizeof *triangle;
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, triangle, length) == OK);
    scalar(model, 3, ANEURALNETWORKS_FUSED_NONE);
    operand(model, F32, 2, 1, size);
    operation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, (uint32_t[]){0, 2, 1, 3}, 4);
    finish(model, 4);
}

static float expected_matrix(const float *a, const float *b, uint32_t i, uint32_t size)
{
    float sum = b[i];
    (void)size;
    for (uint32_t j = 0; j <= i; j++)
        sum += a[j];
    return sum;
}

/* b doubled as long as its first number is below a's: a WHILE */

static ANeuralNetworksModel *is_below(void)
{
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    vector(model, 1);
    vector(model, 1);
    operand(model, ANEURALNETWORKS_TENSOR_BOOL8, 1, 1, 0);
    operation(model, ANEURALNETWORKS_LESS, 2, (uint32_t[]){1, 0}, 2);
    finish(model, 2);
    return model;
}

static ANeuralNetworksModel *doubled(void)
{
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    vector(model, 1);
    vector(model, 1);
    scalar(model, 2, ANEURALNETWORKS_FUSED_NONE);
    scalar(model, 3, ANEURALNETWORKS_FUSED_NONE);
    vector(model, 1);
    vector(model, 1);
    vector(model, 1);
    float zero = 0;
    CHECK(ANeuralNetworksModel_setOperandValue(model, 4, &zero, sizeof zero) == OK);
    operation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){0, 4, 2}, 5); /* a as it is */
    operation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){1, 1, 3}, 6);
    uint32_t inputs[] = {0, 1}, outputs[] = {5, 6};
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, outputs) == OK);
    CHECK(ANeuralNetworksModel_finish(model) == OK);
    return model;
}

static void build_loop(ANeuralNetworksModel *model, uint32_t size)
{
    vector(model, size);
    vector(model, size);
    ANeuralNetworksModel *graphs[] = {is_below(), doubled()};
    for (int i = 0; i < 2; i++) {
        operand(model, ANEURALNETWORKS_MODEL, 0, 0, 0);
        CHECK(ANeuralNetworksModel_setOperandValueFromModel(model, 2 + i, graphs[i]) == OK);
    }
    vector(model, size);
    vector(model, size);
    uint32_t inputs[] = {2, 3, 0, 1}, outputs[] = {4, 5};
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 4, inputs, 2, outputs)
          == OK);
    finish(model, 5);
    for (int i = 0; i < 2; i++)
        ANeuralNetworksModel_free(graphs[i]);
}

static float expected_loop(const float *a, const float *b, uint32_t i, uint32_t size)
{
    float value = b[i];
    (void)size;
    while (value < *a)
        value += value;
    return value;
}

static struct kind kinds[] = {
    {"sums", 16, 16, build_sums, expected_sums, {NULL, NULL}},
    {"sums of any size", 1, MOST, build_sums, expected_sums, {NULL, NULL}},
    {"product", 1, MOST, build_product, expected_product, {NULL, NULL}},
    {"matrix", 24, 24, build_matrix, expected_matrix, {NULL, NULL}},
    {"loop", 1, 1, build_loop, expected_loop, {NULL, NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ANeuralNetworksDevice *find_device(const char *wanted)
{
    uint32_t count;
    CHECK(ANeuralNetworks_getDeviceCount(&count) == OK);
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device;
        const char *name;
        CHECK(ANeuralNetworks_getDevice(i, &device) == OK);
        CHECK(ANeuralNetworksDevice_getName(device, &name) == OK);
        if (strcmp(name, wanted) == 0)
            return device;
    }
    CHECK(!"the device exists");
    return NULL;
}

static void prepare(struct kind *kind, ANeuralNetworksDevice *device)
{
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model) == OK);
    kind->build(model, kind->least == kind->most ? kind->most : 0);
    const ANeuralNetworksDevice *devices[] = {device};
    ANeuralNetworksCompilation **made = kind->compilations;
    CHECK(ANeuralNetworksCompilation_create(model, &made[0]) == OK);
    CHECK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &made[1]) == OK);
    for (int i = 0; i < 2; i++)
        CHECK(ANeuralNetworksCompilation_finish(made[i]) == OK);
    ANeuralNetworksModel_free(model);
}

/* One execution after another; each is new, or a reusable one that runs some times. */

struct job {
    unsigned state; /* of the random numbers */
    int executions;
    float *shared; /* mapped from `descriptor` */
    int descriptor;
    ANeuralNetworksMemory *memory;
    float a[MOST], b[MOST], c[MOST];
};

static unsigned draw(struct job *job, unsigned limit)
{
    job->state = job->state * 1103515245u + 12345u;
    return (job->state >> 16) % limit;
}

static void fill(struct job *job, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        job->a[i] = (float)draw(job, 100) - 20;
        job->b[i] = (float)draw(job, 10) + 1;
        job->c[i] = -1e9f;
    }
    memcpy(job->shared, job->a, size * sizeof *job->a);
}

static void run_once(struct job *job, ANeuralNetworksExecution *execution,
                     ANeuralNetworksBurst *burst)
{
    ANeuralNetworksEvent *event;
    switch (draw(job, 4)) {
    case 0:
        CHECK(ANeuralNetworksExecution_compute(execution) == OK);
        break;
    case 1:
        CHECK(ANeuralNetworksExecution_burstCompute(execution, burst) == OK);
        break;
    case 2:
        CHECK(ANeuralNetworksExecution_startCompute(execution, &event) == OK);
        CHECK(ANeuralNetworksEvent_wait(event) == OK);
        ANeuralNetworksEvent_free(event);
        break;
    default:
        CHECK(ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event)
              == OK);
        CHECK(ANeuralNetworksEvent_wait(event) == OK);
        ANeuralNetworksEvent_free(event);
    }
}

static int run_some(struct job *job, int most)
{
    const struct kind *kind = &kinds[draw(job, KINDS)];
    ANeuralNetworksCompilation *compilation = kind->compilations[draw(job, 2)];
    uint32_t size = kind->least + draw(job, kind->most - kind->least + 1);
    uint32_t sizes[] = {size};
    ANeuralNetworksOperandType type = {F32, 1, sizes, 0, 0};
    ANeuralNetworksOperandType *given = kind->least == kind->most ? NULL : &type;
    size_t bytes = size * sizeof(float);
    bool from_memory = draw(job, 3) == 0;
    int runs = draw(job, 3) == 0 ? 1 + (int)draw(job, 8) : 1;
    if (runs > most)
        runs = most;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst;
    CHECK(ANeuralNetworksBurst_create(compilation, &burst) == OK);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == OK);
    CHECK(ANeuralNetworksExecution_setReusable(execution, runs > 1) == OK);
    if (from_memory)
        CHECK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, given, job->memory, 0,
                                                          bytes) == OK);
    else
        CHECK(ANeuralNetworksExecution_setInput(execution, 0, given, job->a, bytes) == OK);
    CHECK(ANeuralNetworksExecution_setInput(execution, 1, given, job->b, bytes) == OK);
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, given, job->c, bytes) == OK);
    for (int run = 0; run < runs; run++) {
        fill(job, size);
        run_once(job, execution, burst);
        for (uint32_t i = 0; i < size; i++)
            CHECK(job->c[i] == kind->expected(job->a, job->b, i, size));
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(burst);
    return runs;
}

static void *work(void *argument)
{
    struct job *job = argument;
    for (int done = 0; done < job->executions;)
        done += run_some(job, job->executions - done);
    return NULL;
}

static void run_all(struct job *jobs, int executions)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i].executions = executions;
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static long resident_kib(void)
{
    char line[128];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    fclose(file);
    CHECK(kib > 0);
    return kib;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 || argc == 3);
    int executions = atoi(argv[1]);
    ANeuralNetworksDevice *device = find_device(argc == 3 ? argv[2] : "nnapi-cpu");
    static struct job jobs[THREADS];
    for (size_t i = 0; i < KINDS; i++)
        prepare(&kinds[i], device);
    for (int i = 0; i < THREADS; i++) {
        struct job *job = &jobs[i];
        job->state = 1u + (unsigned)i;
        job->descriptor = memfd_create("mixed", 0);
        CHECK(job->descriptor >= 0 && ftruncate(job->descriptor, sizeof job->a) == 0);
        job->shared = mmap(NULL, sizeof job->a, PROT_READ | PROT_WRITE, MAP_SHARED,
                           job->descriptor, 0);
        CHECK(job->shared != MAP_FAILED);
        CHECK(ANeuralNetworksMemory_createFromFd(sizeof job->a, PROT_READ | PROT_WRITE,
                                                 job->descriptor, 0, &job->memory) == OK);
    }
    run_all(jobs, 100); /* what is kept for good comes at the first runs */
    long before = resident_kib();
    run_all(jobs, executions);
    long after = resident_kib();
    printf("%d threads, %d executions each: %ld KiB before, %ld KiB after\n", THREADS, executions,
           before, after);
    CHECK(after - before < GROWTH_KIB);
    for (int i = 0; i < THREADS; i++)
        ANeuralNetworksMemory_free(jobs[i].memory);
    for (size_t i = 0; i < KINDS; i++)
        for (int j = 0; j < 2; j++)
            ANeuralNetworksCompilation_free(kinds[i].compilations[j]);
    return 0;
}
