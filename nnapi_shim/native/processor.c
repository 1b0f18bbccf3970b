/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects the tiers of kernels (drivers/cpu/isa/) that this processor supports. Uses cpuid and the
 * auxiliary vector instead of /proc/cpuinfo: they differ under an emulator such as valgrind or QEMU,
 * which implements the former correctly.
 */
#include <stdbool.h>
#include <stdint.h>

#include <nnapi_shim.h>

#if defined(__x86_64__)

#include <cpuid.h>

/* A kind of processor: its best tier, all of them, and the bits that they need: of leaf 1, leaf 7,
 * subleaf 1 of leaf 7, leaf 0x80000001, and of the state that the operating system saves (XCR0: 2
 * SSE, 4 AVX, 0xE0 AVX-512). */
struct kind {
    const char *best, *all;
    uint32_t ecx1, ebx7, ecx7, eax7_1, ecx80000001, saved;
};
enum {
    V2_ECX1 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT,
    V3_ECX1 = V2_ECX1 | bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C,
    V3_EBX7 = bit_BMI | bit_AVX2 | bit_BMI2,
    V4_EBX7 = V3_EBX7 | bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL,
    AVX_VNNI = 1 << 4, /* older headers lack it */
    V3_ECX80000001 = bit_LAHF_LM | bit_ABM,
};
static const struct kind kinds[] = {
    {"v4", "v4 v3vnni v3 v2", V3_ECX1, V4_EBX7, bit_AVX512VNNI, AVX_VNNI, V3_ECX80000001, 0xE6},
    {"v4", "v4 v3 v2", V3_ECX1, V4_EBX7, bit_AVX512VNNI, 0, V3_ECX80000001, 0xE6},
    {"v3vnni", "v3vnni v3 v2", V3_ECX1, V3_EBX7, 0, AVX_VNNI, V3_ECX80000001, 0x6},
    {"v3", "v3 v2", V3_ECX1, V3_EBX7, 0, 0, V3_ECX80000001, 0x6},
    {"v2", "v2", V2_ECX1, 0, 0, 0, bit_LAHF_LM, 0},
    {"", "", 0, 0, 0, 0, 0, 0},
};

static uint32_t saved_state(uint32_t ecx1)
{
    uint32_t low = 0, high;
    if ((ecx1 & bit_OSXSAVE) != 0)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static const struct kind *kind_of_processor(void)
{
    uint32_t a, b, c, d, ecx1 = 0, ebx7 = 0, ecx7 = 0, eax7_1 = 0, ecx80000001 = 0;
    if (__get_cpuid(1, &a, &b, &c, &d))
        ecx1 = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        ebx7 = b;
        ecx7 = c;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) /* a: the last subleaf */
            eax7_1 = a;
    }
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        ecx80000001 = c;
    const uint32_t saved = saved_state(ecx1);
    const struct kind *kind = kinds;
    while ((ecx1 & kind->ecx1) != kind->ecx1 || (ebx7 & kind->ebx7) != kind->ebx7
           || (ecx7 & kind->ecx7) != kind->ecx7 || (eax7_1 & kind->eax7_1) != kind->eax7_1
           || (ecx80000001 & kind->ecx80000001) != kind->ecx80000001
           || (saved & kind->saved) != kind->saved)
        kind++; /* the last one needs nothing */
    return kind;
}

const char *nnapi_shim_getProcessorTier(void)
{
    return kind_of_processor()->best;
}

const char *nnapi_shim_getProcessorTiers(void)
{
    return kind_of_processor()->all;
}

#elif defined(__aarch64__)

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>

/* Of <asm/hwcap.h>; older headers lack some. */
enum {
    HAS_ATOMICS = 1 << 8, /* with CRC32 and RDM, what LLVM takes for granted in Armv8.2 */
    HAS_CRC32 = 1 << 7,
    HAS_RDM = 1 << 12,
    HAS_DOT_PRODUCTS = 1 << 20,
    V8_2_WITH_DOTS = HAS_ATOMICS | HAS_CRC32 | HAS_RDM | HAS_DOT_PRODUCTS,
    HAS2_I8MM = 1 << 13,
};

/* An emulator may announce in HWCAP what another processor has. So an instruction of each tier is
 * executed before its kernels are: a signal that refuses it comes back to `executes`. */
static sigjmp_buf refused;
static pthread_t executing;
static struct sigaction others_action;

static void on_refusal(int number, siginfo_t *info, void *context)
{
    if (pthread_equal(pthread_self(), executing))
        siglongjmp(refused, 1);
    /* An instruction of another thread meanwhile: it is executed again, and what the program has
     * installed is called. */
    (void)info;
    (void)context;
    sigaction(number, &others_action, NULL);
}

static bool executes(void (*instruction)(void))
{
    struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO};
    bool is_executed = false;
    sigset_t illegal, before;
    sigemptyset(&illegal);
    sigaddset(&illegal, SIGILL);
    pthread_sigmask(SIG_UNBLOCK, &illegal, &before);
    executing = pthread_self();
    sigaction(SIGILL, &action, &others_action);
    if (sigsetjmp(refused, 0) == 0) {
        instruction();
        is_executed = true;
    }
    sigaction(SIGILL, &others_action, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_executed;
}

static void dot_product(void)
{
    __asm__ volatile(".inst 0x4e829420" : : : "v0"); /* sdot v0.4s, v1.16b, v2.16b */
}

static void mixed_dot_product(void)
{
    __asm__ volatile(".inst 0x4e829c20" : : : "v0"); /* usdot v0.4s, v1.16b, v2.16b */
}

static const char *tier = "neon"; /* Armv8.0, which Linux requires */

static void choose_tier(void)
{
    if ((getauxval(AT_HWCAP) & V8_2_WITH_DOTS) != V8_2_WITH_DOTS || !executes(dot_product))
        return;
    const bool has_i8mm = (getauxval(AT_HWCAP2) & HAS2_I8MM) != 0;
    tier = has_i8mm && executes(mixed_dot_product) ? "i8mm" : "dotprod";
}

const char *nnapi_shim_getProcessorTier(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_tier);
    return tier;
}

const char *nnapi_shim_getProcessorTiers(void)
{
    const char best = nnapi_shim_getProcessorTier()[0];
    return best == 'i' ? "i8mm dotprod neon" : best == 'd' ? "dotprod neon" : "neon";
}

#else

const char *nnapi_shim_getProcessorTier(void)
{
    return "portable";
}

const char *nnapi_shim_getProcessorTiers(void)
{
    return "portable";
}

#endif
