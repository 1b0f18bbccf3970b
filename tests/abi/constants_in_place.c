/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FULLY_CONNECTED with constants that lie in different memory of a program: which are copied, which are read
 * where they lie, and what is left of them in memory when they have been packed.
 *
 *     constants_in_place KIND [PATH]     KIND: const, heap, written, after, prepared; file, a new file; cache, a folder
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>

#include "check.h"

enum { INPUTS = 1024, UNITS = 256, LARGEST_PAGE = 64 << 10, BYTES = 4 * INPUTS * UNITS };

/* Weight (unit, input) is 1 + unit / 4, so that an output is INPUTS times that; a file of its own pages. */
#define FOUR(a) a, a, a, a
#define FEW(a) FOUR(FOUR(FOUR(FOUR(a))))
#define ROW(a) FOUR(FEW(a))
#define SAME(a) ROW(a), ROW(a), ROW(a), ROW(a)
#define MANY(a) SAME(a), SAME(a + 1), SAME(a + 2), SAME(a + 3)
#define MOST(a) MANY(a), MANY(a + 4), MANY(a + 8), MANY(a + 12)
static const float weights[UNITS * INPUTS] __attribute__((aligned(LARGEST_PAGE))) = {
    MOST(1.0f), MOST(17.0f), MOST(33.0f), MOST(49.0f)};

static const float bias[UNITS];
static const char *cache;

static int page_bytes(void)
{
    return (int)sysconf(_SC_PAGESIZE);
}

/* How many pages of an array are in the memory of this process. */
static int present(const void *start)
{
    const int number = BYTES / page_bytes();
    uint64_t pages[number];
    int count = 0, file = open("/proc/self/pagemap", O_RDONLY);
    CHECK(file >= 0);
    CHECK(pread(file, pages, sizeof pages, (off_t)((uintptr_t)start / (uintptr_t)page_bytes() * 8)) == sizeof pages);
    close(file);
    for (int at = 0; at < number; at++)
        count += (int)(pages[at] >> 63);
    return count;
}

static ANeuralNetworksModel *model_of(const float *filter, ANeuralNetworksMemory *memory, size_t offset)
{
    const uint32_t in[] = {1, INPUTS}, all[] = {UNITS, INPUTS}, units = UNITS, out[] = {1, UNITS};
    const ANeuralNetworksOperandType types[] = {
        {ANEURALNETWORKS_TENSOR_FLOAT32, 2, in, 0, 0},     {ANEURALNETWORKS_TENSOR_FLOAT32, 2, all, 0, 0},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &units, 0, 0}, {ANEURALNETWORKS_INT32, 0, NULL, 0, 0},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 2, out, 0, 0}};
    const uint32_t inputs[] = {0, 1, 2, 3}, output = 4;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model;
    CHECK(ANeuralNetworksModel_create(&model) == 0);
    for (int at = 0; at < 5; at++)
        CHECK(ANeuralNetworksModel_addOperand(model, &types[at]) == 0);
    if (memory != NULL)
        CHECK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, offset, BYTES) == 0);
    else
        CHECK(ANeuralNetworksModel_setOperandValue(model, 1, filter, BYTES) == 0);
    CHECK(ANeuralNetworksModel_setOperandValue(model, 2, bias, sizeof bias) == 0);
    CHECK(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof none) == 0);
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, inputs, 1, &output) == 0);
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output) == 0);
    CHECK(ANeuralNetworksModel_finish(model) == 0);
    return model;
}

/* Compiles and computes with ones; the first weight of unit 0 adds `more` to its output. */
static void check_result(ANeuralNetworksModel *model, float more)
{
    static float input[INPUTS], output[UNITS];
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    for (int at = 0; at < INPUTS; at++)
        input[at] = 1;
    CHECK(ANeuralNetworksCompilation_create(model, &compilation) == 0);
    if (cache != NULL) {
        static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
        CHECK(ANeuralNetworksCompilation_setCaching(compilation, cache, token) == 0);
    }
    CHECK(ANeuralNetworksCompilation_finish(compilation) == 0);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == 0);
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof input) == 0);
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output) == 0);
    CHECK(ANeuralNetworksExecution_compute(execution) == 0);
    CHECK(output[0] == INPUTS + more);
    for (int unit = 1; unit < UNITS; unit++)
        CHECK(output[unit] == INPUTS * (1.0f + (float)(unit / 4)));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

/* Writes to the array, as a program that decrypts its model would. */
static void write_first(float value)
{
    float *first = (float *)(uintptr_t)weights;
    CHECK(mprotect(first, (size_t)page_bytes(), PROT_READ | PROT_WRITE) == 0);
    *(volatile float *)first = value;
    CHECK(mprotect(first, (size_t)page_bytes(), PROT_READ) == 0);
}

/* setOperandValueFromMemory: memory of a file, at an offset that is not a multiple of a page or of 16. */
static void use_file(const char *path)
{
    enum { OFFSET = 4 * 1027 };
    ANeuralNetworksMemory *memory;
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && pwrite(file, weights, BYTES, OFFSET) == BYTES);
    CHECK(ANeuralNetworksMemory_createFromFd(OFFSET + BYTES, PROT_READ, file, 0, &memory) == 0);
    ANeuralNetworksModel *model = model_of(NULL, memory, OFFSET);
    check_result(model, 0);
    check_result(model, 0);
    char line[512], *found = NULL;
    long kilobytes = -1;
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    while (kilobytes < 0 && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, path) != NULL)
            found = line;
        else if (found != NULL)
            sscanf(line, "Rss: %ld", &kilobytes);
    }
    fclose(maps);
    CHECK(found != NULL && kilobytes >= 0 && kilobytes <= 64);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    close(file);
}

int main(int count, char **arguments)
{
    CHECK(count > 1);
    const char *kind = arguments[1];
    if (strcmp(kind, "cache") == 0 && count > 2)
        cache = arguments[2];
    if (strcmp(kind, "const") == 0 || cache != NULL) { /* in place, twice; no page of it is left */
        ANeuralNetworksModel *model = model_of(weights, NULL, 0);
        check_result(model, 0);
        CHECK(present(weights) == 0);
        check_result(model, 0);
        ANeuralNetworksModel_free(model);
    } else if (strcmp(kind, "heap") == 0) { /* it may be changed and freed after finish */
        float *copy = malloc(BYTES);
        CHECK(copy != NULL);
        memcpy(copy, weights, BYTES);
        ANeuralNetworksModel *model = model_of(copy, NULL, 0);
        copy[0] = 1000;
        check_result(model, 0);
        free(copy);
        check_result(model, 0);
        ANeuralNetworksModel_free(model);
    } else if (strcmp(kind, "written") == 0) { /* a program that writes to its constants nevertheless */
        write_first(8);
        ANeuralNetworksModel *model = model_of(weights, NULL, 0);
        write_first(1000);
        check_result(model, 7);
        ANeuralNetworksModel_free(model);
    } else if (strcmp(kind, "after") == 0) { /* it writes there between finish and compilations */
        ANeuralNetworksModel *model = model_of(weights, NULL, 0);
        write_first(8);
        check_result(model, 0);
        write_first(1000);
        check_result(model, 0);
        CHECK(*(const volatile float *)weights == 1000);
        ANeuralNetworksModel_free(model);
    } else if (strcmp(kind, "prepared") == 0) { /* no files are opened: all is copied */
        CHECK(nnapi_shim_loadEverything() == 0);
        ANeuralNetworksModel *model = model_of(weights, NULL, 0);
        check_result(model, 0);
        CHECK(present(weights) == BYTES / page_bytes());
        ANeuralNetworksModel_free(model);
    } else {
        CHECK(strcmp(kind, "file") == 0 && count > 2);
        use_file(arguments[2]);
    }
    return 0;
}
