/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays conformance vectors as any C program would run its models:
 *
 *     replay FILE DEVICE [sandbox]     FILE: written by flatten.py
 *
 * Each example is built, compiled for the device and executed, with the dimensions of its outputs
 * declared, and once more with them unknown. Prints a line for each failure, then which Python
 * packages the process has mapped ("mapped: ..."), then "N passed, N failed". `sandbox`: it loads
 * everything, gives up the right to open files, and cannot say what is mapped.
 */
#define _GNU_SOURCE

#include <android/NeuralNetworks.h>
#include <math.h>
#include <nnapi_shim.h>
#include <string.h>
#include <sys/mman.h>

#include "element.h"
#include "flat_file.h"
#include "hostile/sandbox.h"

enum { GUARD_BYTES = 64, GUARD = 0xA5 };

/* What an example holds while it runs. */
struct run {
    const struct example *example;
    bool dynamic;
    ANeuralNetworksModel *models[MOST_GRAPHS];
    FILE *file;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    unsigned char *inputs[MOST_ARGUMENTS], *outputs[MOST_ARGUMENTS];
    char failure[512];
};

#define FAIL(...) return snprintf(run->failure, sizeof run->failure, __VA_ARGS__), false

/* Makes an API call; when it fails, so does the example. */
#define TRY(call)                                                                    \
    do {                                                                             \
        int code = (call);                                                           \
        if (code != ANEURALNETWORKS_NO_ERROR)                                        \
            FAIL("line %d: result code %d: %s", __LINE__, code, nnapi_shim_getLastError()); \
    } while (0)

static size_t words(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

/* One memory object for all constants that are to lie in memory, one after another. */
static bool make_memory(struct run *run)
{
    size_t size = 0;
    run->file = fdopen(memfd_create("constants", MFD_CLOEXEC), "w+");
    CHECK(run->file != NULL);
    for (int32_t g = 0; g < run->example->graph_count; g++) {
        const struct graph *graph = &run->example->graphs[g];
        for (int32_t i = 0; i < graph->operand_count; i++)
            if (graph->operands[i].kind == IN_MEMORY) {
                const struct bytes *value = &graph->operands[i].value;
                CHECK(fwrite(value->data, 1, words(value->length), run->file)
                      == words(value->length));
                size += words(value->length);
            }
    }
    CHECK(fflush(run->file) == 0);
    if (size > 0)
        TRY(ANeuralNetworksMemory_createFromFd(size, PROT_READ, fileno(run->file), 0,
                                               &run->memory));
    return true;
}

static bool add_operand(struct run *run, ANeuralNetworksModel *model, int32_t index,
                        const struct operand *operand, size_t *offset)
{
    static const uint32_t unknown[16];
    bool is_unknown = run->dynamic && operand->kind == OUTPUT;
    ANeuralNetworksOperandType type = {
        .type = operand->type,
        .dimensionCount = operand->dimensions.count,
        .dimensions = operand->dimensions.count == 0 ? NULL
                      : is_unknown                   ? unknown
                                                     : operand->dimensions.values,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };
    CHECK(operand->dimensions.count <= sizeof unknown / sizeof *unknown);
    TRY(ANeuralNetworksModel_addOperand(model, &type));
    if (operand->scales != NULL) {
        ANeuralNetworksSymmPerChannelQuantParams quant = {
            operand->channel_dimension, operand->scale_count, operand->scales};
        TRY(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, index, &quant));
    }
    if (operand->kind == CONSTANT)
        TRY(ANeuralNetworksModel_setOperandValue(model, index, operand->value.data,
                                                 operand->value.length));
    else if (operand->kind == OMITTED)
        TRY(ANeuralNetworksModel_setOperandValue(model, index, NULL, 0));
    else if (operand->kind == GRAPH)
        TRY(ANeuralNetworksModel_setOperandValueFromModel(model, index,
                                                          run->models[operand->graph]));
    else if (operand->kind == IN_MEMORY) {
        TRY(ANeuralNetworksModel_setOperandValueFromMemory(model, index, run->memory, *offset,
                                                           operand->value.length));
        *offset += words(operand->value.length);
    }
    return true;
}

static bool build_graph(struct run *run, int32_t number, size_t *offset)
{
    const struct graph *graph = &run->example->graphs[number];
    TRY(ANeuralNetworksModel_create(&run->models[number]));
    ANeuralNetworksModel *model = run->models[number];
    for (int32_t i = 0; i < graph->operand_count; i++)
        if (!add_operand(run, model, i, &graph->operands[i], offset))
            return false;
    for (int32_t i = 0; i < graph->operation_count; i++) {
        const struct operation *operation = &graph->operations[i];
        TRY(ANeuralNetworksModel_addOperation(
            model, operation->code, operation->inputs.count, operation->inputs.values,
            operation->outputs.count, operation->outputs.values));
    }
    TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, graph->inputs.count,
                                                      graph->inputs.values, graph->outputs.count,
                                                      graph->outputs.values));
    if (number == 0)
        TRY(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, run->example->relaxed));
    TRY(ANeuralNetworksModel_finish(model));
    return true;
}

static bool compile(struct run *run, const ANeuralNetworksDevice *device)
{
    /* A graph refers to later ones only, and the constants in memory lie in the same order. */
    size_t offsets[MOST_GRAPHS] = {0};
    for (int32_t g = 0; g + 1 < run->example->graph_count; g++) {
        const struct graph *graph = &run->example->graphs[g];
        offsets[g + 1] = offsets[g];
        for (int32_t i = 0; i < graph->operand_count; i++)
            if (graph->operands[i].kind == IN_MEMORY)
                offsets[g + 1] += words(graph->operands[i].value.length);
    }
    if (!make_memory(run))
        return false;
    for (int32_t g = run->example->graph_count - 1; g >= 0; g--)
        if (!build_graph(run, g, &offsets[g]))
            return false;
    TRY(ANeuralNetworksCompilation_createForDevices(run->models[0], &device, 1,
                                                    &run->compilation));
    TRY(ANeuralNetworksCompilation_finish(run->compilation));
    return true;
}

static bool execute(struct run *run)
{
    const struct example *example = run->example;
    TRY(ANeuralNetworksExecution_create(run->compilation, &run->execution));
    if (example->has_to_fail) /* some do it by never ending */
        TRY(ANeuralNetworksExecution_setLoopTimeout(run->execution, 100 * 1000 * 1000));
    for (uint32_t i = 0; i < example->graphs[0].inputs.count; i++) {
        const struct bytes *input = &example->inputs[i];
        if (input->length > 0) {
            run->inputs[i] = malloc(input->length);
            CHECK(run->inputs[i] != NULL);
            memcpy(run->inputs[i], input->data, input->length);
        }
        TRY(ANeuralNetworksExecution_setInput(run->execution, (int32_t)i, NULL, run->inputs[i],
                                              input->length));
    }
    for (uint32_t i = 0; i < example->graphs[0].outputs.count; i++) {
        size_t length = example->outputs[i].expected.length;
        run->outputs[i] = malloc(length + GUARD_BYTES);
        CHECK(run->outputs[i] != NULL);
        memset(run->outputs[i], GUARD, length + GUARD_BYTES);
        TRY(ANeuralNetworksExecution_setOutput(run->execution, (int32_t)i, NULL, run->outputs[i],
                                               length > 0 ? length : 1));
    }
    TRY(ANeuralNetworksExecution_compute(run->execution));
    return true;
}

static bool check_shape(struct run *run, uint32_t index, const struct operand *operand)
{
    uint32_t rank = 0, dimensions[16];
    TRY(ANeuralNetworksExecution_getOutputOperandRank(run->execution, (int32_t)index, &rank));
    if (rank != operand->dimensions.count)
        FAIL("output %u has rank %u, expected %u", index, rank, operand->dimensions.count);
    if (rank > 0)
        TRY(ANeuralNetworksExecution_getOutputOperandDimensions(run->execution, (int32_t)index,
                                                                dimensions));
    for (uint32_t i = 0; i < rank; i++)
        if (dimensions[i] != operand->dimensions.values[i])
            FAIL("output %u has dimension %u of size %u, expected %u", index, i, dimensions[i],
                 operand->dimensions.values[i]);
    return true;
}

static bool check_output(struct run *run, uint32_t index)
{
    const struct graph *graph = &run->example->graphs[0];
    const struct operand *operand = &graph->operands[graph->outputs.values[index]];
    const struct output *output = &run->example->outputs[index];
    const unsigned char *result = run->outputs[index];

    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (result[output->expected.length + i] != GUARD)
            FAIL("output %u: byte %zu behind the end was written", index, i);
    if (!output->compared)
        return true;
    if (!check_shape(run, index, operand))
        return false;
    size_t count = output->expected.length / element(operand->type, NULL, 0, NULL);
    for (size_t i = 0; i < count; i++) {
        double is, wanted;
        element(operand->type, result, i, &is);
        element(operand->type, output->expected.data, i, &wanted);
        double allowed = output->absolute + output->relative * fabs(wanted);
        if (is != wanted && !(isfinite(wanted) && fabs(is - wanted) <= allowed))
            FAIL("output %u: element %zu is %g, expected %g within %g", index, i, is, wanted,
                 allowed);
    }
    return true;
}

static bool check_arguments(struct run *run)
{
    const struct graph *graph = &run->example->graphs[0];
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        const struct bytes *input = &run->example->inputs[i];
        if (input->length > 0 && memcmp(run->inputs[i], input->data, input->length) != 0)
            FAIL("input %u was changed", i);
    }
    for (uint32_t i = 0; i < graph->outputs.count; i++)
        if (!check_output(run, i))
            return false;
    return true;
}

static void end_run(struct run *run)
{
    for (size_t i = 0; i < MOST_ARGUMENTS; i++) {
        free(run->inputs[i]);
        free(run->outputs[i]);
    }
    ANeuralNetworksExecution_free(run->execution);
    ANeuralNetworksCompilation_free(run->compilation);
    for (int32_t g = 0; g < run->example->graph_count; g++)
        ANeuralNetworksModel_free(run->models[g]);
    ANeuralNetworksMemory_free(run->memory);
    if (run->file != NULL)
        fclose(run->file);
}

/* Whether the example passes: it gives what is expected or, if it has to, fails. */
static bool replay(const struct example *example, const ANeuralNetworksDevice *device, bool dynamic)
{
    static struct run run;
    run = (struct run){.example = example, .dynamic = dynamic};
    bool ran = compile(&run, device) && execute(&run);
    bool passed = example->has_to_fail ? !ran : ran && check_arguments(&run);
    if (!passed)
        printf("FAIL %s%s: %s\n", example->name, dynamic ? " (dynamic)" : "",
               ran && example->has_to_fail ? "succeeded, but has to fail" : run.failure);
    end_run(&run);
    return passed;
}

static const ANeuralNetworksDevice *find_device(const char *wanted)
{
    uint32_t count;
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_NO_ERROR);
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device;
        const char *name;
        CHECK(ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR);
        CHECK(ANeuralNetworksDevice_getName(device, &name) == ANEURALNETWORKS_NO_ERROR);
        if (strcmp(name, wanted) == 0)
            return device;
    }
    return NULL;
}

/* Names the packages that a computation by compiled kernels has no use for. */
static void print_mapped(void)
{
    static const struct { const char *file, *package; } looked_for[] = {
        {"_multiarray_umath", " numpy"}, {"libllvmlite", " llvmlite"}};
    bool found[2] = {false};
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        for (int i = 0; i < 2; i++)
            found[i] |= strstr(line, looked_for[i].file) != NULL;
    fclose(maps);
    printf("mapped:%s%s\n", found[0] ? looked_for[0].package : "",
           found[1] ? looked_for[1].package : "");
}

int main(int argc, char **argv)
{
    static struct example example;
    int passed = 0, failed = 0;

    CHECK(argc == 3 || argc == 4);
    struct reader reader = open_file(argv[1]);
    const ANeuralNetworksDevice *device = find_device(argv[2]);
    CHECK(device != NULL);
    if (argc == 4)
        enter_sandbox();
    for (int32_t left = read_count(&reader, INT32_MAX); left > 0; left--) {
        read_example(&reader, &example);
        bool good = replay(&example, device, false);
        if (example.can_be_dynamic && !example.has_to_fail)
            good &= replay(&example, device, true);
        passed += good;
        failed += !good;
    }
    CHECK(reader.next == reader.end);
    if (argc == 3)
        print_mapped();
    printf("%d passed, %d failed\n", passed, failed);
    return 0;
}
