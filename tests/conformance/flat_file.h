/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file that flatten.py writes, and whose format is described there. */
#ifndef FLAT_FILE_H
#define FLAT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST_GRAPHS = 8, MOST_OPERANDS = 256, MOST_OPERATIONS = 256, MOST_ARGUMENTS = 64 };

enum value_kind { TEMPORARY, INPUT, OUTPUT, OMITTED, CONSTANT, IN_MEMORY, GRAPH };

struct bytes {
    size_t length;
    const void *data;
};

struct indexes {
    uint32_t count;
    const uint32_t *values;
};

struct operand {
    int32_t type, zero_point;
    float scale;
    struct indexes dimensions;
    enum value_kind kind;
    struct bytes value;     /* CONSTANT, IN_MEMORY */
    int32_t graph;          /* GRAPH */
    uint32_t channel_dimension, scale_count;
    const float *scales;    /* per channel; NULL for most operands */
};

struct operation {
    int32_t code;
    struct indexes inputs, outputs;
};

struct graph {
    int32_t operand_count, operation_count;
    struct operand operands[MOST_OPERANDS];
    struct operation operations[MOST_OPERATIONS];
    struct indexes inputs, outputs;
};

struct output {
    bool compared;
    double absolute, relative;
    struct bytes expected;
};

struct example {
    char name[256];
    bool has_to_fail, relaxed, can_be_dynamic;
    int32_t graph_count;
    struct graph graphs[MOST_GRAPHS];
    struct bytes inputs[MOST_ARGUMENTS];
    struct output outputs[MOST_ARGUMENTS];
};

/* Reads the file word by word; leaving it is the end of the program. */
struct reader {
    const int32_t *next, *end;
};

static const void *read_words(struct reader *reader, size_t count)
{
    CHECK(count <= (size_t)(reader->end - reader->next));
    const int32_t *here = reader->next;
    reader->next += count;
    return here;
}

static int32_t read_int(struct reader *reader)
{
    return *(const int32_t *)read_words(reader, 1);
}

static float read_float(struct reader *reader)
{
    return *(const float *)read_words(reader, 1);
}

static int32_t read_count(struct reader *reader, int32_t most)
{
    int32_t count = read_int(reader);
    CHECK(0 <= count && count <= most);
    return count;
}

static struct bytes read_bytes(struct reader *reader)
{
    struct bytes bytes = {(size_t)read_count(reader, INT32_MAX), NULL};
    bytes.data = read_words(reader, bytes.length / 4 + (bytes.length % 4 != 0));
    return bytes;
}

static struct indexes read_indexes(struct reader *reader)
{
    struct indexes indexes = {(uint32_t)read_count(reader, INT32_MAX), NULL};
    indexes.values = read_words(reader, indexes.count);
    return indexes;
}

static void read_operand(struct reader *reader, struct operand *operand)
{
    enum { PER_CHANNEL = 11 };

    memset(operand, 0, sizeof *operand);
    operand->type = read_int(reader);
    operand->zero_point = read_int(reader);
    operand->scale = read_float(reader);
    operand->dimensions = read_indexes(reader);
    operand->kind = (enum value_kind)read_count(reader, GRAPH);
    if (operand->kind == CONSTANT || operand->kind == IN_MEMORY)
        operand->value = read_bytes(reader);
    else if (operand->kind == GRAPH)
        operand->graph = read_count(reader, MOST_GRAPHS - 1);
    if (operand->type == PER_CHANNEL) {
        operand->channel_dimension = (uint32_t)read_int(reader);
        operand->scale_count = (uint32_t)read_count(reader, INT32_MAX);
        operand->scales = read_words(reader, operand->scale_count);
    }
}

static void read_graph(struct reader *reader, struct graph *graph)
{
    graph->operand_count = read_count(reader, MOST_OPERANDS);
    for (int32_t i = 0; i < graph->operand_count; i++)
        read_operand(reader, &graph->operands[i]);
    graph->operation_count = read_count(reader, MOST_OPERATIONS);
    for (int32_t i = 0; i < graph->operation_count; i++) {
        struct operation *operation = &graph->operations[i];
        operation->code = read_int(reader);
        operation->inputs = read_indexes(reader);
        operation->outputs = read_indexes(reader);
    }
    graph->inputs = read_indexes(reader);
    graph->outputs = read_indexes(reader);
    CHECK(graph->inputs.count <= MOST_ARGUMENTS && graph->outputs.count <= MOST_ARGUMENTS);
}

static void read_example(struct reader *reader, struct example *example)
{
    struct bytes name = read_bytes(reader);
    snprintf(example->name, sizeof example->name, "%.*s", (int)name.length,
             (const char *)name.data);
    example->has_to_fail = read_int(reader);
    example->relaxed = read_int(reader);
    example->can_be_dynamic = read_int(reader);
    example->graph_count = read_count(reader, MOST_GRAPHS);
    for (int32_t i = 0; i < example->graph_count; i++)
        read_graph(reader, &example->graphs[i]);
    for (uint32_t i = 0; i < example->graphs[0].inputs.count; i++)
        example->inputs[i] = read_bytes(reader);
    for (uint32_t i = 0; i < example->graphs[0].outputs.count; i++) {
        struct output *output = &example->outputs[i];
        output->compared = read_int(reader);
        output->absolute = read_float(reader);
        output->relative = read_float(reader);
        output->expected = read_bytes(reader);
    }
}

/* The whole file; its words are used in place until the program ends. */
static struct reader open_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    CHECK(size > 0 && size % 4 == 0);
    int32_t *words = malloc((size_t)size);
    rewind(file);
    CHECK(words != NULL && fread(words, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    return (struct reader){words, words + size / 4};
}

#endif
