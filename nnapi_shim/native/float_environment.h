/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding mode and flush-to-zero mode; workers use those of their caller. */
#pragma once

#include <stdint.h>

static inline unsigned nn_float_environment(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu; /* without the exception flags */
#elif defined(__aarch64__)
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (unsigned)word;
#else
    return 0;
#endif
}

static inline void nn_set_float_environment(unsigned wanted)
{
#if defined(__x86_64__)
    if (nn_float_environment() != wanted)
        __builtin_ia32_ldmxcsr(wanted);
#elif defined(__aarch64__)
    if (nn_float_environment() != wanted)
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)wanted));
#else
    (void)wanted;
#endif
}
