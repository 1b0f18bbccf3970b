/* SPDX-License-Identifier: Apache-2.0 */
/* One process from its start to the first result of a trained model, for bench.py, which writes the
 * rest of the program: create_model(), as `nnapi-shim convert` makes it of the model's file.
 *
 *     first_result [FOLDER]      FOLDER: a cache for the compilation
 *
 * Prints processor time in ms: until the library is started, for building the model, compiling it and
 * running it, and in all; then the peak memory in KB. */
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

int create_model(ANeuralNetworksModel **model);

static char input[INPUT_BYTES], output[OUTPUT_BYTES]; /* bench.py says how many */

static double used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

/* Of this program: getrusage() would also count the one that started it. */
static long peak_memory(void)
{
    char line[256];
    long found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL && found == 0)
        sscanf(line, "VmHWM: %ld", &found);
    if (status != NULL)
        fclose(status);
    return found;
}

int main(int count, char **arguments)
{
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
    const double begin = used();
    uint32_t devices;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;

    CHECK(ANeuralNetworks_getDeviceCount(&devices));
    const double started = used();
    CHECK(create_model(&model));
    const double built = used();
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    if (count > 1)
        CHECK(ANeuralNetworksCompilation_setCaching(compilation, arguments[1], token));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    const double compiled = used();
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof input));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output));
    CHECK(ANeuralNetworksExecution_compute(execution));
    const double end = used();
    printf("%.2f %.2f %.2f %.2f %.2f %ld\n", started - begin, built - started, compiled - built,
           end - compiled, end, peak_memory());
    return 0;
}
