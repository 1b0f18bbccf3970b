/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a word to change, and waking threads that wait. errno stays as it is. */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void nn_futex_wait(_Atomic uint32_t *word, uint32_t value, int milliseconds)
{
    const struct timespec most = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    const int error = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
    errno = error;
}

static inline void nn_futex_wake(_Atomic uint32_t *word)
{
    const int error = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}
