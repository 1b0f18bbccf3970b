/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding mode and flush-to-zero mode; workers use those of their caller. */
#pragma once

static inline unsigned nn_float_environment(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu; /* without the exception flags */
#elif defined(__aarch64__)
    return (unsigned)__builtin_aarch64_get_fpcr();
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
        __builtin_aarch64_set_fpcr(wanted);
#else
    (void)wanted;
#endif
}
