/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding mode and flush-to-zero mode. The library rounds to nearest, whatever the mode of the program, on which
 * results do not depend. Denormal numbers are flushed as the program has it; workers do as their caller.
 *
 * RISC-V never flushes denormal numbers. On processors other than these three nothing is read or set.
 */
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
enum { NN_ROUNDING_MODE = 3 << 13, NN_FLOAT_FLAGS = 0x3f };
#elif defined(__aarch64__)
enum { NN_ROUNDING_MODE = 3 << 22, NN_FLOAT_FLAGS = 0 };
#elif defined(__riscv_flen)
enum { NN_ROUNDING_MODE = 7, NN_FLOAT_FLAGS = 0 };
#else
enum { NN_ROUNDING_MODE = 0, NN_FLOAT_FLAGS = 0 };
#endif

/* All of it, with the flags of exceptions where they are in the same register. */
static inline unsigned nn_float_register(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (unsigned)word;
#elif defined(__riscv_flen)
    unsigned long word;
    __asm__ volatile("frrm %0" : "=r"(word));
    return (unsigned)word;
#else
    return 0;
#endif
}

static inline void nn_set_float_register(unsigned wanted)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(wanted);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)wanted));
#elif defined(__riscv_flen)
    __asm__ volatile("fsrm %0" : : "r"((unsigned long)wanted));
#else
    (void)wanted;
#endif
}

static inline unsigned nn_float_environment(void)
{
    return nn_float_register() & ~(unsigned)NN_FLOAT_FLAGS;
}

static inline void nn_set_float_environment(unsigned wanted)
{
    if (nn_float_environment() != wanted)
        nn_set_float_register(wanted);
}

/* Rounds to nearest until nn_round_as_before() gets the result. */
static inline unsigned nn_round_to_nearest(void)
{
    const unsigned before = nn_float_register();
    if ((before & NN_ROUNDING_MODE) != 0)
        nn_set_float_register(before & ~(unsigned)NN_ROUNDING_MODE);
    return before & NN_ROUNDING_MODE;
}

static inline void nn_round_as_before(unsigned mode)
{
    if (mode != 0)
        nn_set_float_register(nn_float_register() | mode);
}
