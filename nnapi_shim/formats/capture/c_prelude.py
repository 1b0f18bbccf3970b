"""The fixed first part of a C program that replays a capture."""

PRELUDE = r"""/*
 * @TITLE@
 *
 * It repeats the calls in order and compares the results with the captured ones. The exit status is
 * 0 if all are equal, else 1.
 *
 *     cc -std=c99 -I include THIS.c -o this -L lib -lneuralnetworks -lm
 */
#define _GNU_SOURCE
@HEADERS@#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int made_calls, compared, differences;

/* Compares a result code. */
static inline void expect(int call, const char *function, int code, int expected)
{
    made_calls++;
    if (code != expected) {
        differences++;
        printf("call %d, %s: result %d; it was %d\n", call, function, code, expected);
    }
}

/* Compares the value of a variable. */
static inline void equal(int call, const char *name, int64_t value, int64_t expected)
{
    if (value != expected) {
        differences++;
        printf("call %d: %s is %" PRId64 "; it was %" PRId64 "\n", call, name, value, expected);
    }
}

/* Zeroed memory of at least one byte. */
static inline unsigned char *memory(size_t length)
{
    unsigned char *bytes = calloc(length == 0 ? 1 : length, 1);
    if (bytes == NULL) {
        fprintf(stderr, "%zu bytes cannot be allocated\n", length);
        exit(2);
    }
    return bytes;
}

/* An array for the dimensions of an output, at least as many as expected. */
static inline uint32_t *sizes(ANeuralNetworksExecution *execution, int32_t index, uint32_t expected)
{
    uint32_t rank = 0;
    ANeuralNetworksExecution_getOutputOperandRank(execution, index, &rank);
    return (uint32_t *)(void *)memory(sizeof rank * (rank > expected ? rank : expected));
}

/* Memory that the library can map: an unnamed file. *bytes: the mapping from `offset` on. */
static inline int shared(size_t length, size_t offset, unsigned char **bytes)
{
    FILE *file = tmpfile();
    const int fd = file == NULL ? -1 : dup(fileno(file));
    unsigned char *mapped = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)length) == 0)
        mapped = mmap(NULL, length == 0 ? 1 : length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "shared memory of %zu bytes cannot be created\n", length);
        exit(2);
    }
    fclose(file);
    *bytes = mapped + offset;
    return fd;
}

/* A fence that is signalled: a descriptor that can be read. */
static inline int fence(void)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "", 1) != 1)
        exit(2);
    close(ends[1]);
    return ends[0];
}

static inline ANeuralNetworksDevice *device(uint32_t number)
{
    ANeuralNetworksDevice *result = NULL;
    expect(0, "ANeuralNetworks_getDevice", ANeuralNetworks_getDevice(number, &result), 0);
    return result;
}

static inline double half(const unsigned char *at)
{
    const int bits = at[0] | at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
        value = fraction == 0 ? INFINITY : NAN;
    return bits >> 15 ? -value : value;
}

static inline double single(const unsigned char *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return (double)value;
}

static inline bool is_near(double value, double expected, double absolute, double relative)
{
    if (value == expected || (isnan(value) && isnan(expected)))
        return true;
    return isfinite(value) && isfinite(expected)
        && fabs(value - expected) <= absolute + relative * fabs(expected);
}

static inline void report(int call, int output, size_t wrong, size_t count, double value,
                          double expected)
{
    compared++;
    if (wrong == 0)
        return;
    differences++;
    printf("call %d: output %d: %zu of %zu elements differ; the first is %g, it was %g\n", call,
           output, wrong, count, value, expected);
}

#define COMPARE(NAME, BYTES, DECODE)                                                           \
    static inline void NAME(int call, int output, const unsigned char *value,                  \
                            const unsigned char *expected, size_t length, double absolute,     \
                            double relative)                                                   \
    {                                                                                          \
        size_t wrong = 0, first = 0;                                                           \
        for (size_t at = 0; at < length; at += BYTES)                                          \
            if (!is_near(DECODE(value + at), DECODE(expected + at), absolute, relative)        \
                && wrong++ == 0)                                                               \
                first = at;                                                                    \
        if (wrong == 0)                                                                        \
            report(call, output, 0, length / BYTES, 0, 0);                                     \
        else                                                                                   \
            report(call, output, wrong, length / BYTES, DECODE(value + first),                 \
                 DECODE(expected + first));                                                    \
    }
COMPARE(compare_f4, 4, single)
COMPARE(compare_f2, 2, half)

static inline void compare_bytes(int call, int output, const unsigned char *value,
                                 const unsigned char *expected, size_t length)
{
    size_t wrong = 0, first = 0;
    for (size_t at = 0; at < length; at++)
        if (value[at] != expected[at] && wrong++ == 0)
            first = at;
    report(call, output, wrong, length, length == 0 ? 0 : value[first],
         length == 0 ? 0 : expected[first]);
}

/* The contents of the file in the first argument, or of the data file next to the program. */
static inline unsigned char *read_data(int argc, char **argv, const char *name)
{
    char path[4096];
    const char *slash = strrchr(argv[0], '/');
    const int folder = slash == NULL ? 0 : (int)(slash - argv[0]) + 1;
    snprintf(path, sizeof path, "%.*s%s", folder, argv[0], name);
    if (argc > 1)
        snprintf(path, sizeof path, "%s", argv[1]);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s cannot be read; its name may be given as an argument\n", path);
        return NULL;
    }
    const long length = ftell(file);
    unsigned char *bytes = memory((size_t)length);
    rewind(file);
    if (fread(bytes, 1, (size_t)length, file) != (size_t)length)
        bytes = NULL;
    fclose(file);
    return bytes;
}

"""
