/* SPDX-License-Identifier: Apache-2.0 */
/* A network as large as MobileNet (v1, 1.0, 224), compiled or loaded from the cache in a process
 * of its own, for bench.py: `caching FOLDER`, or `caching` without a cache. Prints the ns that
 * ANeuralNetworksCompilation_finish took, and those of processors' time in all its threads. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <android/NeuralNetworks.h>

#define CHECK(call)                                        \
    do {                                                   \
        if ((call) != ANEURALNETWORKS_NO_ERROR) {          \
            fprintf(stderr, "failed: %s\n", #call);        \
            exit(1);                                       \
        }                                                  \
    } while (0)

static ANeuralNetworksModel *model;
static uint32_t operands, random_state = 1;

static uint32_t add(int32_t type, uint32_t rank, const uint32_t *dimensions)
{
    const ANeuralNetworksOperandType kind = {type, rank, dimensions, 0, 0};
    CHECK(ANeuralNetworksModel_addOperand(model, &kind));
    return operands++;
}

static uint32_t number(int32_t value)
{
    uint32_t index = add(ANEURALNETWORKS_INT32, 0, NULL);
    CHECK(ANeuralNetworksModel_setOperandValue(model, (int32_t)index, &value, sizeof value));
    return index;
}

static uint32_t weights(uint32_t rank, const uint32_t *dimensions)
{
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dimensions[i];
    float *values = malloc(count * sizeof *values); /* to be read at finish; never freed */
    for (size_t i = 0; i < count; i++) {
        random_state = random_state * 1664525 + 1013904223;
        values[i] = ((float)(random_state >> 8) / (1 << 24) - 0.5f) / 8;
    }
    uint32_t index = add(ANEURALNETWORKS_TENSOR_FLOAT32, rank, dimensions);
    CHECK(ANeuralNetworksModel_setOperandValue(model, (int32_t)index, values,
                                               count * sizeof *values));
    return index;
}

/* A convolution of size x size images with padding SAME and RELU6; depthwise if depth is 0. */
static uint32_t convolution(uint32_t x, uint32_t size, uint32_t taps, uint32_t from, uint32_t depth,
                            int32_t stride)
{
    const uint32_t deep = depth != 0 ? depth : from;
    const uint32_t filter[] = {depth != 0 ? depth : 1, taps, taps, from};
    const uint32_t image[] = {1, size, size, deep};
    const uint32_t w = weights(4, filter), bias = weights(1, &deep);
    const uint32_t same = number(ANEURALNETWORKS_PADDING_SAME), step = number(stride);
    const uint32_t one = number(1), relu6 = number(ANEURALNETWORKS_FUSED_RELU6);
    const uint32_t y = add(ANEURALNETWORKS_TENSOR_FLOAT32, 4, image);
    const uint32_t full[] = {x, w, bias, same, step, step, relu6};
    const uint32_t depthwise[] = {x, w, bias, same, step, step, one, relu6};
    if (depth != 0)
        CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CONV_2D, 7, full, 1, &y));
    else
        CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_DEPTHWISE_CONV_2D, 8,
                                                depthwise, 1, &y));
    return y;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    static const uint32_t picture[] = {1, 224, 224, 3}, classes[] = {1, 1001}, dense[] = {1001, 1024};
    static const struct {
        int32_t stride;
        uint32_t depth;
    } blocks[] = {{1, 64},  {2, 128}, {1, 128}, {2, 256}, {1, 256},  {2, 512}, {1, 512},
                  {1, 512}, {1, 512}, {1, 512}, {1, 512}, {2, 1024}, {1, 1024}};
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {0};
    ANeuralNetworksCompilation *compilation;
    uint32_t size = 112, depth = 32;

    CHECK(ANeuralNetworksModel_create(&model));
    const uint32_t input = add(ANEURALNETWORKS_TENSOR_FLOAT32, 4, picture);
    uint32_t x = convolution(input, size, 3, 3, depth, 2);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        size /= (uint32_t)blocks[i].stride;
        x = convolution(x, size, 3, depth, 0, blocks[i].stride);
        x = convolution(x, size, 1, depth, blocks[i].depth, 1);
        depth = blocks[i].depth;
    }
    const uint32_t pooled[] = {1, 1, 1, depth};
    const uint32_t pool = add(ANEURALNETWORKS_TENSOR_FLOAT32, 4, pooled);
    const uint32_t one = number(1), zero = number(0), seven = number(7);
    const uint32_t valid = number(ANEURALNETWORKS_PADDING_VALID);
    const uint32_t pool_inputs[] = {x, valid, one, one, seven, seven, zero};
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_AVERAGE_POOL_2D, 7, pool_inputs,
                                            1, &pool));
    const uint32_t w = weights(2, dense), bias = weights(1, &classes[1]);
    const uint32_t scores = add(ANEURALNETWORKS_TENSOR_FLOAT32, 2, classes);
    const uint32_t dense_inputs[] = {pool, w, bias, zero};
    CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, dense_inputs,
                                            1, &scores));
    CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &scores));
    CHECK(ANeuralNetworksModel_finish(model));
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    if (argc > 1)
        CHECK(ANeuralNetworksCompilation_setCaching(compilation, argv[1], token));
    const double used = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC);
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    const double end = now(CLOCK_MONOTONIC);
    printf("%.0f %.0f\n", end - start, now(CLOCK_PROCESS_CPUTIME_ID) - used);
    return 0;
}
