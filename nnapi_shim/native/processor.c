/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects the tier of kernels (drivers/cpu/isa/) that this processor supports. Uses cpuid and the
 * auxiliary vector instead of /proc/cpuinfo: they differ under an emulator such as valgrind or QEMU,
 * which implements the former correctly.
 */
#include <stdbool.h>
#include <stdint.h>

#include <nnapi_shim.h>

#if defined(__x86_64__)

#include <cpuid.h>

/* The bits that a tier needs: of leaf 1, leaf 7, leaf 0x80000001, and of the state that the
 * operating system saves (XCR0: 2 SSE, 4 AVX, 0xE0 AVX-512). */
struct tier {
    const char *name;
    uint32_t ecx1, ebx7, ecx7, ecx80000001, saved;
};
enum {
    V2_ECX1 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT,
    V3_ECX1 = V2_ECX1 | bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C,
    V3_EBX7 = bit_BMI | bit_AVX2 | bit_BMI2,
};
static const struct tier tiers[] = {
    {"v4", V3_ECX1,
     V3_EBX7 | bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL,
     bit_AVX512VNNI, bit_LAHF_LM | bit_ABM, 0xE6},
    {"v3", V3_ECX1, V3_EBX7, 0, bit_LAHF_LM | bit_ABM, 0x6},
    {"v2", V2_ECX1, 0, 0, bit_LAHF_LM, 0},
};

static uint32_t saved_state(uint32_t ecx1)
{
    uint32_t low = 0, high;
    if ((ecx1 & bit_OSXSAVE) != 0)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

const char *nnapi_shim_getProcessorTier(void)
{
    uint32_t a, b, c, d, ecx1 = 0, ebx7 = 0, ecx7 = 0, ecx80000001 = 0;
    if (__get_cpuid(1, &a, &b, &c, &d))
        ecx1 = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        ebx7 = b;
        ecx7 = c;
    }
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        ecx80000001 = c;
    const uint32_t saved = saved_state(ecx1);
    for (unsigned i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        const struct tier *tier = &tiers[i];
        if ((ecx1 & tier->ecx1) == tier->ecx1 && (ebx7 & tier->ebx7) == tier->ebx7
            && (ecx7 & tier->ecx7) == tier->ecx7
            && (ecx80000001 & tier->ecx80000001) == tier->ecx80000001
            && (saved & tier->saved) == tier->saved)
            return tier->name;
    }
    return "";
}

#elif defined(__aarch64__)

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

const char *nnapi_shim_getProcessorTier(void)
{
    if ((getauxval(AT_HWCAP) & V8_2_WITH_DOTS) != V8_2_WITH_DOTS)
        return "neon"; /* Armv8.0, which Linux requires */
    return (getauxval(AT_HWCAP2) & HAS2_I8MM) != 0 ? "i8mm" : "dotprod";
}

#else

const char *nnapi_shim_getProcessorTier(void)
{
    return "portable";
}

#endif
