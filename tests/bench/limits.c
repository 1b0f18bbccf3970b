/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of this machine on one thread, for the instructions of the tier that its argument
 * names, as lines of a name and a number: multiply-adds of float32 and of bytes per second, and the
 * bytes per second that a copy reads and writes, by how many bytes it touches.
 *
 * Times are medians of many short ones, in processor time: other programs disturb them little.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 101, ROUNDS = 4000, CHAINS = 12, LARGEST = 1 << 26 };

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A function of ROUNDS times the same on CHAINS registers, which do not wait for each other. The
 * statements of assembler keep the compiler from computing it in advance. */
#define CHAIN(name, extensions, type, step)                                                        \
    __attribute__((target(extensions))) static void name(void)                                     \
    {                                                                                              \
        type sums[CHAINS] = {{0}}, x = {0}, w = {0};                                               \
        for (int round = 0; round < ROUNDS; round++) {                                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)                              \
            {                                                                                      \
                __asm__ volatile("" : "+x"(x), "+x"(w));                                           \
                sums[i] = step;                                                                    \
                __asm__ volatile("" : "+x"(sums[i]));                                              \
            }                                                                                      \
        }                                                                                          \
    }

CHAIN(floats_v4, "avx512f", __m512, _mm512_fmadd_ps(x, w, sums[i]))
CHAIN(floats_v3, "avx2,fma", __m256, _mm256_fmadd_ps(x, w, sums[i]))
CHAIN(floats_v2, "sse4.2", __m128, _mm_add_ps(sums[i], _mm_mul_ps(x, w)))
CHAIN(bytes_v4, "avx512vnni", __m512i, _mm512_dpbusd_epi32(sums[i], x, w))
CHAIN(bytes_v3vnni, "avxvnni", __m256i, _mm256_dpbusd_avx_epi32(sums[i], x, w))
/* Without dot products of bytes: pairs of products in 16 bits, added up in 32. */
CHAIN(bytes_v3, "avx2", __m256i,
      _mm256_add_epi32(sums[i], _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), w)))
CHAIN(bytes_v2, "sse4.2", __m128i,
      _mm_add_epi32(sums[i], _mm_madd_epi16(_mm_maddubs_epi16(x, w), w)))

static const struct {
    const char *tier;
    void (*floats)(void), (*bytes)(void);
    int lanes;
} tiers[] = {
    {"v4", floats_v4, bytes_v4, 16},
    {"v3vnni", floats_v3, bytes_v3vnni, 8},
    {"v3", floats_v3, bytes_v3, 8},
    {"v2", floats_v2, bytes_v2, 4},
};

static char *source, *target;
static size_t copied;

static void copy(void)
{
    for (size_t done = 0; done < 1 << 17; done += copied)
        memcpy(target, source, copied);
    __asm__ volatile("" ::"r"(target) : "memory");
}

/* What a call does per second. */
static double rate(void (*call)(void), double amount)
{
    double times[TIMES];
    call();
    for (int i = 0; i < TIMES; i++) {
        const double began = seconds();
        call();
        times[i] = seconds() - began;
    }
    qsort(times, TIMES, sizeof *times, compare);
    return amount / times[TIMES / 2];
}

int main(int count, char **arguments)
{
    const double products = (double)ROUNDS * CHAINS;
    static const size_t touched[] = {1 << 14, 1 << 18, 1 << 22, LARGEST}; /* caches, memory */
    size_t at = 0;
    while (count == 2 && at < sizeof tiers / sizeof *tiers
           && strcmp(tiers[at].tier, arguments[1]) != 0)
        at++;
    source = aligned_alloc(4096, LARGEST / 2);
    target = aligned_alloc(4096, LARGEST / 2);
    if (count != 2 || at == sizeof tiers / sizeof *tiers || source == NULL || target == NULL) {
        fputs("limits: one argument, v4, v3vnni, v3 or v2\n", stderr);
        return 1;
    }
    memset(source, 1, LARGEST / 2);
    memset(target, 1, LARGEST / 2);
    printf("float32 %.4g\n", rate(tiers[at].floats, products * tiers[at].lanes));
    printf("int8 %.4g\n", rate(tiers[at].bytes, 4 * products * tiers[at].lanes));
    for (size_t i = 0; i < sizeof touched / sizeof *touched; i++) {
        copied = touched[i] / 2;
        const size_t rounds = copied > 1 << 17 ? 1 : (1 << 17) / copied;
        printf("%zu %.4g\n", touched[i], rate(copy, 2.0 * (double)(copied * rounds)));
    }
    return 0;
}
