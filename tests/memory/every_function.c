/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the C API, used well and used badly, for the run under AddressSanitizer and
 * valgrind: whatever the library reads or writes lies in malloc'ed memory of its exact size.
 *
 *     every_function DEVICE ROUNDS
 */
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <android/hardware_buffer.h>
#include <nnapi_shim.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../abi/check.h"

enum { OK = ANEURALNETWORKS_NO_ERROR, COUNT = 5, LARGE = 48, EXTRA = 6 };
#define NAME "com.example.extension"

static ANeuralNetworksDevice *device;

/* A copy of `bytes` bytes that nothing lies around; freed by free_all(). */

static void *blocks[4096];
static size_t block_count;

static void *exact(const void *data, size_t bytes)
{
    void *block = malloc(bytes);
    CHECK(block != NULL && block_count < sizeof blocks / sizeof *blocks);
    if (data != NULL)
        memcpy(block, data, bytes);
    else
        memset(block, 0, bytes);
    return blocks[block_count++] = block;
}

#define EXACT(value) exact(&(value), sizeof(value))
#define NEW(type) ((type *)exact(NULL, sizeof(type)))

static void free_all(void)
{
    while (block_count > 0)
        free(blocks[--block_count]);
}

static uint32_t *list(uint32_t a, uint32_t b, uint32_t c, size_t count)
{
    uint32_t array[] = {a, b, c};
    return exact(array, count * sizeof *array);
}

static ANeuralNetworksOperandType *operand(int32_t code, uint32_t rank, const uint32_t *sizes,
                                           float scale)
{
    ANeuralNetworksOperandType type = {code, rank, NULL, scale, 0};
    if (rank > 0)
        type.dimensions = exact(sizes, rank * sizeof *sizes);
    return EXACT(type);
}

static float *numbers(size_t count, float first)
{
    float *values = exact(NULL, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = first + (float)i;
    return values;
}

/* c = a + b, of `count` numbers; b is a constant unless b_is_input. */

static ANeuralNetworksModel *addition(uint32_t count, bool b_is_input)
{
    ANeuralNetworksModel **model = NEW(ANeuralNetworksModel *);
    CHECK(ANeuralNetworksModel_create(model) == OK);
    for (int i = 0; i < 3; i++)
        CHECK(ANeuralNetworksModel_addOperand(
                  *model, operand(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &count, 0)) == OK);
    CHECK(ANeuralNetworksModel_addOperand(*model, operand(ANEURALNETWORKS_INT32, 0, NULL, 0))
          == OK);
    int32_t none = 0;
    CHECK(ANeuralNetworksModel_setOperandValue(*model, 3, EXACT(none), sizeof none) == OK);
    if (!b_is_input)
        CHECK(ANeuralNetworksModel_setOperandValue(*model, 1, numbers(count, 10),
                                                   count * sizeof(float)) == OK);
    CHECK(ANeuralNetworksModel_addOperation(*model, ANEURALNETWORKS_ADD, 3, list(0, 1, 3, 3), 1,
                                            list(2, 0, 0, 1)) == OK);
    CHECK(ANeuralNetworksModel_relaxComputationFloat32toFloat16(*model, false) == OK);
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(*model, b_is_input ? 2 : 1,
                                                        list(0, 1, 0, b_is_input ? 2 : 1), 1,
                                                        list(2, 0, 0, 1)) == OK);
    CHECK(ANeuralNetworksModel_finish(*model) == OK);
    bool *supported = exact(NULL, 1);
    ANeuralNetworksDevice **devices = EXACT(device);
    CHECK(ANeuralNetworksModel_getSupportedOperationsForDevices(
              *model, (const ANeuralNetworksDevice *const *)devices, 1, supported) == OK);
    CHECK(*supported);
    return *model;
}

static ANeuralNetworksCompilation *compiled(ANeuralNetworksModel *model, const char *folder)
{
    ANeuralNetworksCompilation **it = NEW(ANeuralNetworksCompilation *);
    ANeuralNetworksDevice **devices = EXACT(device);
    CHECK(ANeuralNetworksCompilation_createForDevices(
              model, (const ANeuralNetworksDevice *const *)devices, 1, it) == OK);
    CHECK(ANeuralNetworksCompilation_setPreference(*it, ANEURALNETWORKS_PREFER_LOW_POWER) == OK);
    CHECK(ANeuralNetworksCompilation_setPriority(*it, ANEURALNETWORKS_PRIORITY_HIGH) == OK);
    CHECK(ANeuralNetworksCompilation_setTimeout(*it, UINT64_MAX) == OK);
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1, 2, 3};
    CHECK(ANeuralNetworksCompilation_setCaching(*it, exact(folder, strlen(folder) + 1),
                                                EXACT(token)) == OK);
    CHECK(ANeuralNetworksCompilation_addExtensionAttribute(*it, exact(NAME, sizeof NAME), 1,
                                                           exact("data", 4), 4) == OK);
    CHECK(ANeuralNetworksCompilation_finish(*it) == OK);
    uint32_t *bytes = NEW(uint32_t);
    CHECK(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(*it, 0, bytes) == OK);
    CHECK(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(*it, 0, bytes) == OK);
    CHECK(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(*it, 0, bytes) == OK);
    CHECK(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(*it, 0, bytes) == OK);
    return *it;
}

static ANeuralNetworksExecution *execution_of(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution **it = NEW(ANeuralNetworksExecution *);
    CHECK(ANeuralNetworksExecution_create(compilation, it) == OK);
    CHECK(ANeuralNetworksExecution_setMeasureTiming(*it, true) == OK);
    CHECK(ANeuralNetworksExecution_setTimeout(*it, UINT64_MAX) == OK);
    CHECK(ANeuralNetworksExecution_setLoopTimeout(*it, 1000) == OK);
    CHECK(ANeuralNetworksExecution_setReusable(*it, true) == OK);
    CHECK(ANeuralNetworksExecution_enableInputAndOutputPadding(*it, true) == OK);
    CHECK(ANeuralNetworksExecution_addExtensionAttribute(*it, exact(NAME, sizeof NAME), 1,
                                                         exact("data", 4), 4) == OK);
    return *it;
}

static void check_results(ANeuralNetworksExecution *execution, const float *c, uint32_t count)
{
    uint32_t *rank = NEW(uint32_t), *sizes = NEW(uint32_t);
    uint64_t *duration = NEW(uint64_t);
    for (uint32_t i = 0; i < count; i++)
        CHECK(c[i] == 10.0f + 2.0f * (float)i);
    CHECK(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, rank) == OK && *rank == 1);
    CHECK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, sizes) == OK);
    CHECK(*sizes == count);
    CHECK(ANeuralNetworksExecution_getDuration(execution, 0, duration) == OK);
}

/* All ways to run, with all kinds of memory. */

static void run_in_all_ways(uint32_t count, const char *folder)
{
    size_t bytes = count * sizeof(float);
    ANeuralNetworksModel *model = addition(count, false);
    ANeuralNetworksCompilation *compilation = compiled(model, folder);
    ANeuralNetworksExecution *execution = execution_of(compilation);
    float *a = numbers(count + EXTRA, 0), *c = exact(NULL, bytes + EXTRA);
    ANeuralNetworksOperandType *type = operand(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &count, 0);
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, type, a, bytes + EXTRA) == OK);
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, c, bytes + EXTRA) == OK);
    ANeuralNetworksBurst **burst = NEW(ANeuralNetworksBurst *);
    ANeuralNetworksEvent **event = NEW(ANeuralNetworksEvent *);
    CHECK(ANeuralNetworksBurst_create(compilation, burst) == OK);
    CHECK(ANeuralNetworksExecution_compute(execution) == OK);
    check_results(execution, c, count);
    CHECK(ANeuralNetworksExecution_burstCompute(execution, *burst) == OK);
    CHECK(ANeuralNetworksExecution_startCompute(execution, event) == OK);
    CHECK(ANeuralNetworksEvent_wait(*event) == OK);
    int *descriptor = NEW(int);
    CHECK(ANeuralNetworksEvent_getSyncFenceFd(*event, descriptor) == ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksEvent_free(*event);

    ANeuralNetworksEvent **fence = NEW(ANeuralNetworksEvent *);
    int signalled = eventfd(1, 0);
    CHECK(ANeuralNetworksEvent_createFromSyncFenceFd(signalled, fence) == OK);
    CHECK(close(signalled) == 0);
    CHECK(ANeuralNetworksEvent_getSyncFenceFd(*fence, descriptor) == OK);
    CHECK(close(*descriptor) == 0);
    ANeuralNetworksEvent **events = EXACT(*fence);
    CHECK(ANeuralNetworksExecution_startComputeWithDependencies(
              execution, (const ANeuralNetworksEvent *const *)events, 1, UINT64_MAX, event) == OK);
    CHECK(ANeuralNetworksEvent_wait(*event) == OK);
    check_results(execution, c, count);
    ANeuralNetworksEvent_free(*event);
    ANeuralNetworksEvent_free(*fence);
    ANeuralNetworksExecution_free(execution);

    int file = memfd_create("every_function", 0);
    CHECK(file >= 0 && ftruncate(file, 4 * (off_t)bytes) == 0);
    ANeuralNetworksMemory **shared = NEW(ANeuralNetworksMemory *);
    ANeuralNetworksMemory **made = NEW(ANeuralNetworksMemory *);
    ANeuralNetworksMemory **buffered = NEW(ANeuralNetworksMemory *);
    CHECK(ANeuralNetworksMemory_createFromFd(bytes, PROT_READ | PROT_WRITE, file, bytes, shared)
          == OK);
    AHardwareBuffer_Desc desc = {(uint32_t)bytes, 1, 1, AHARDWAREBUFFER_FORMAT_BLOB,
                                 AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN
                                     | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
                                 0, 0, 0};
    AHardwareBuffer *buffer;
    CHECK(AHardwareBuffer_allocate(&desc, &buffer) == 0);
    CHECK(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, buffered) == OK);
    ANeuralNetworksMemoryDesc **roles = NEW(ANeuralNetworksMemoryDesc *);
    CHECK(ANeuralNetworksMemoryDesc_create(roles) == OK);
    CHECK(ANeuralNetworksMemoryDesc_addInputRole(*roles, compilation, 0, 1.0f) == OK);
    CHECK(ANeuralNetworksMemoryDesc_addOutputRole(*roles, compilation, 0, 1.0f) == OK);
    CHECK(ANeuralNetworksMemoryDesc_setDimensions(*roles, 1, EXACT(count)) == OK);
    CHECK(ANeuralNetworksMemoryDesc_finish(*roles) == OK);
    CHECK(ANeuralNetworksMemory_createFromDesc(*roles, made) == OK);
    ANeuralNetworksMemoryDesc_free(*roles);
    CHECK(pwrite(file, a, bytes, (off_t)bytes) == (ssize_t)bytes);
    CHECK(ANeuralNetworksMemory_copy(*shared, *made) == OK);
    CHECK(ANeuralNetworksExecution_create(compilation, &execution) == OK);
    CHECK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, *made, 0, 0) == OK);
    CHECK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, *buffered, 0, bytes)
          == OK);
    CHECK(ANeuralNetworksExecution_burstCompute(execution, *burst) == OK);
    CHECK(ANeuralNetworksMemory_copy(*buffered, *shared) == OK);
    CHECK(pread(file, c, bytes, (off_t)bytes) == (ssize_t)bytes);
    for (uint32_t i = 0; i < count; i++)
        CHECK(c[i] == 10.0f + 2.0f * (float)i);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(*burst);
    ANeuralNetworksMemory_free(*shared);
    ANeuralNetworksMemory_free(*made);
    ANeuralNetworksMemory_free(*buffered);
    AHardwareBuffer_release(buffer);
    CHECK(close(file) == 0);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* What the model of run_in_all_ways() has not: scales per channel, values from elsewhere. */

static void other_values(void)
{
    ANeuralNetworksModel **model = NEW(ANeuralNetworksModel *), *inner = addition(COUNT, true);
    ANeuralNetworksMemory **memory = NEW(ANeuralNetworksMemory *);
    CHECK(ANeuralNetworksModel_create(model) == OK);
    uint32_t sizes[] = {3, 2};
    CHECK(ANeuralNetworksModel_addOperand(
              *model, operand(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, sizes, 0)) == OK);
    ANeuralNetworksSymmPerChannelQuantParams scales = {0, 3, numbers(3, 0.5f)};
    CHECK(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(*model, 0, EXACT(scales)) == OK);
    CHECK(ANeuralNetworksModel_addOperand(*model, operand(ANEURALNETWORKS_MODEL, 0, NULL, 0))
          == OK);
    CHECK(ANeuralNetworksModel_setOperandValueFromModel(*model, 1, inner) == OK);
    int file = memfd_create("every_function", 0);
    CHECK(file >= 0 && ftruncate(file, 16) == 0);
    CHECK(ANeuralNetworksMemory_createFromFd(16, PROT_READ, file, 0, memory) == OK);
    CHECK(close(file) == 0);
    CHECK(ANeuralNetworksModel_setOperandValueFromMemory(*model, 0, *memory, 8, 6) == OK);
    int32_t *code = NEW(int32_t);
    const char *name = exact(NAME, sizeof NAME);
    CHECK(nnapi_shim_setOperandName(*model, 0, name) == OK);
    CHECK(ANeuralNetworksModel_getExtensionOperandType(*model, name, 1, code) == OK);
    CHECK(ANeuralNetworksModel_getExtensionOperationType(*model, name, 1, code) == OK);
    CHECK(ANeuralNetworksModel_setOperandExtensionData(*model, 0, exact("data", 4), 4)
          == ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation **compilation = NEW(ANeuralNetworksCompilation *);
    CHECK(ANeuralNetworksCompilation_create(*model, compilation) == ANEURALNETWORKS_BAD_STATE);
    CHECK(*compilation == NULL);
    ANeuralNetworksMemory_free(*memory);
    ANeuralNetworksModel_free(*model);
    ANeuralNetworksModel_free(inner);
}

static void devices(const char *wanted)
{
    uint32_t *count = NEW(uint32_t);
    CHECK(ANeuralNetworks_getDeviceCount(count) == OK);
    for (uint32_t i = 0; i < *count; i++) {
        ANeuralNetworksDevice **it = NEW(ANeuralNetworksDevice *);
        const char **text = NEW(const char *);
        int32_t *type = NEW(int32_t);
        int64_t *level = NEW(int64_t);
        bool *has = NEW(bool);
        CHECK(ANeuralNetworks_getDevice(i, it) == OK);
        CHECK(ANeuralNetworksDevice_getVersion(*it, text) == OK && **text != '\0');
        CHECK(ANeuralNetworksDevice_getType(*it, type) == OK);
        CHECK(ANeuralNetworksDevice_getFeatureLevel(*it, level) == OK);
        CHECK(*level <= ANeuralNetworks_getRuntimeFeatureLevel());
        CHECK(ANeuralNetworksDevice_wait(*it) == OK);
        CHECK(ANeuralNetworksDevice_getExtensionSupport(*it, exact(NAME, sizeof NAME), has) == OK);
        CHECK(ANeuralNetworksDevice_getName(*it, text) == OK);
        if (strcmp(*text, wanted) == 0)
            device = *it;
    }
    CHECK(device != NULL);
    CHECK(ANeuralNetworks_getDefaultLoopTimeout() < ANeuralNetworks_getMaximumLoopTimeout());
    CHECK(*nnapi_shim_getVersion() != '\0');
    CHECK(nnapi_shim_getProcessorTier() != NULL);
    CHECK(nnapi_shim_getProcessorTiers() != NULL);
    CHECK(nnapi_shim_getAndroidApiLevel() == 0);
    CHECK(nnapi_shim_getProgramRunner() != 0);
    CHECK(nnapi_shim_getHelper() != 0);
    CHECK(nnapi_shim_getPageReleaser() != 0);
    CHECK(nnapi_shim_loadEverything() == OK);
}

/* Every function that takes an object, with something else in its place: it is refused, and
 * nothing is read or written through the other pointers but the out-parameters. */

#define REFUSED(call)                                   \
    do {                                                \
        CHECK((call) != OK);                            \
        CHECK(strstr(nnapi_shim_getLastError(), ": ")); \
    } while (0)

static void refuse(void *bad)
{
    void **out = NEW(void *);
    uint32_t *numbers32 = exact(NULL, sizeof(uint32_t));
    uint64_t *number64 = NEW(uint64_t);
    int32_t *code = NEW(int32_t);
    ANeuralNetworksOperandType *type = operand(ANEURALNETWORKS_TENSOR_FLOAT32, 0, NULL, 0);
    ANeuralNetworksSymmPerChannelQuantParams quant = {0, 0, NULL};
    void **handles = EXACT(bad);
    char *name = exact(NAME, sizeof NAME), *token = exact(NULL, 32), *data = exact(NULL, 4);
    float *values = exact(NULL, 8);

    REFUSED(ANeuralNetworksDevice_getName(bad, (const char **)out));
    REFUSED(ANeuralNetworksDevice_getType(bad, code));
    REFUSED(ANeuralNetworksDevice_getVersion(bad, (const char **)out));
    REFUSED(ANeuralNetworksDevice_getFeatureLevel(bad, (int64_t *)number64));
    REFUSED(ANeuralNetworksDevice_wait(bad));
    REFUSED(ANeuralNetworksDevice_getExtensionSupport(bad, name, (bool *)out));
    REFUSED(ANeuralNetworksModel_finish(bad));
    REFUSED(ANeuralNetworksModel_addOperand(bad, type));
    REFUSED(ANeuralNetworksModel_setOperandValue(bad, 0, data, 4));
    REFUSED(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(bad, 0, EXACT(quant)));
    REFUSED(ANeuralNetworksModel_setOperandValueFromMemory(bad, 0, bad, 0, 4));
    REFUSED(ANeuralNetworksModel_setOperandValueFromModel(bad, 0, bad));
    REFUSED(ANeuralNetworksModel_setOperandExtensionData(bad, 0, data, 4));
    REFUSED(nnapi_shim_setOperandName(bad, 0, name));
    REFUSED(ANeuralNetworksModel_addOperation(bad, 0, 1, numbers32, 1, numbers32));
    REFUSED(ANeuralNetworksModel_identifyInputsAndOutputs(bad, 1, numbers32, 1, numbers32));
    REFUSED(ANeuralNetworksModel_relaxComputationFloat32toFloat16(bad, true));
    REFUSED(ANeuralNetworksModel_getSupportedOperationsForDevices(
        bad, (const ANeuralNetworksDevice *const *)handles, 1, (bool *)out));
    REFUSED(ANeuralNetworksModel_getExtensionOperandType(bad, name, 1, code));
    REFUSED(ANeuralNetworksModel_getExtensionOperationType(bad, name, 1, code));
    REFUSED(ANeuralNetworksCompilation_create(bad, (ANeuralNetworksCompilation **)out));
    REFUSED(ANeuralNetworksCompilation_createForDevices(
        bad, (const ANeuralNetworksDevice *const *)handles, 1,
        (ANeuralNetworksCompilation **)out));
    REFUSED(ANeuralNetworksCompilation_setPreference(bad, 0));
    REFUSED(ANeuralNetworksCompilation_setPriority(bad, 90));
    REFUSED(ANeuralNetworksCompilation_setTimeout(bad, 0));
    REFUSED(ANeuralNetworksCompilation_setCaching(bad, name, (uint8_t *)token));
    REFUSED(ANeuralNetworksCompilation_addExtensionAttribute(bad, name, 1, data, 4));
    REFUSED(ANeuralNetworksCompilation_finish(bad));
    REFUSED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(bad, 0, numbers32));
    REFUSED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(bad, 0, numbers32));
    REFUSED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(bad, 0, numbers32));
    REFUSED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(bad, 0, numbers32));
    REFUSED(ANeuralNetworksBurst_create(bad, (ANeuralNetworksBurst **)out));
    REFUSED(ANeuralNetworksExecution_create(bad, (ANeuralNetworksExecution **)out));
    REFUSED(ANeuralNetworksExecution_setInput(bad, 0, type, values, 8));
    REFUSED(ANeuralNetworksExecution_setOutput(bad, 0, type, values, 8));
    REFUSED(ANeuralNetworksExecution_setInputFromMemory(bad, 0, type, bad, 0, 8));
    REFUSED(ANeuralNetworksExecution_setOutputFromMemory(bad, 0, type, bad, 0, 8));
    REFUSED(ANeuralNetworksExecution_enableInputAndOutputPadding(bad, true));
    REFUSED(ANeuralNetworksExecution_setReusable(bad, true));
    REFUSED(ANeuralNetworksExecution_setTimeout(bad, 0));
    REFUSED(ANeuralNetworksExecution_setLoopTimeout(bad, 0));
    REFUSED(ANeuralNetworksExecution_setMeasureTiming(bad, true));
    REFUSED(ANeuralNetworksExecution_addExtensionAttribute(bad, name, 1, data, 4));
    REFUSED(ANeuralNetworksExecution_compute(bad));
    REFUSED(ANeuralNetworksExecution_burstCompute(bad, bad));
    REFUSED(ANeuralNetworksExecution_startCompute(bad, (ANeuralNetworksEvent **)out));
    REFUSED(ANeuralNetworksExecution_startComputeWithDependencies(
        bad, (const ANeuralNetworksEvent *const *)handles, 1, 0, (ANeuralNetworksEvent **)out));
    REFUSED(ANeuralNetworksExecution_getOutputOperandRank(bad, 0, numbers32));
    REFUSED(ANeuralNetworksExecution_getOutputOperandDimensions(bad, 0, numbers32));
    REFUSED(ANeuralNetworksExecution_getDuration(bad, 0, number64));
    REFUSED(ANeuralNetworksEvent_wait(bad));
    REFUSED(ANeuralNetworksEvent_getSyncFenceFd(bad, code));
    REFUSED(ANeuralNetworksEvent_createFromSyncFenceFd(-1, (ANeuralNetworksEvent **)out));
    REFUSED(ANeuralNetworksMemory_createFromDesc(bad, (ANeuralNetworksMemory **)out));
    REFUSED(ANeuralNetworksMemory_createFromFd(8, 3, -1, 0, (ANeuralNetworksMemory **)out));
    REFUSED(
        ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, (ANeuralNetworksMemory **)out));
    REFUSED(ANeuralNetworksMemory_copy(bad, bad));
    REFUSED(ANeuralNetworksMemoryDesc_addInputRole(bad, bad, 0, 1));
    REFUSED(ANeuralNetworksMemoryDesc_addOutputRole(bad, bad, 0, 1));
    REFUSED(ANeuralNetworksMemoryDesc_setDimensions(bad, 1, numbers32));
    REFUSED(ANeuralNetworksMemoryDesc_finish(bad));
    REFUSED(ANeuralNetworks_getDeviceCount(NULL));
    REFUSED(ANeuralNetworks_getDevice(0, NULL));
    REFUSED(ANeuralNetworksModel_create(NULL));
    REFUSED(ANeuralNetworksMemoryDesc_create(NULL));
    ANeuralNetworksModel_free(bad);
    ANeuralNetworksCompilation_free(bad);
    ANeuralNetworksExecution_free(bad);
    ANeuralNetworksBurst_free(bad);
    ANeuralNetworksEvent_free(bad);
    ANeuralNetworksMemory_free(bad);
    ANeuralNetworksMemoryDesc_free(bad);
}

static void misuse(void)
{
    ANeuralNetworksMemoryDesc *freed;
    CHECK(ANeuralNetworksMemoryDesc_create(&freed) == OK);
    ANeuralNetworksMemoryDesc_free(freed);
    ANeuralNetworksMemoryDesc_free(freed);
    char *heap = exact(NULL, 1);
    uintptr_t foreign[] = {1, 0x8000000000000000, 0x81ffffffffffffff, UINTPTR_MAX};
    refuse(NULL);
    refuse(freed);
    refuse(heap);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        refuse((void *)foreign[i]);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/every_function_XXXXXX";
    CHECK(argc == 3);
    CHECK(mkdtemp(folder) != NULL);
    devices(argv[1]);
    for (int round = atoi(argv[2]); round > 0; round--) {
        run_in_all_ways(COUNT, folder);
        run_in_all_ways(LARGE, folder); /* a constant that is read at finish */
        other_values();
        misuse();
        free_all();
    }
    char command[sizeof folder + 8];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
