/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with less stack than the C library allows (PTHREAD_STACK_MIN: 16 KiB on x86-64, 128 KiB on
 * AArch64): they are given that much, and the rest is taken before they go on. */
#ifndef REMAINING_STACK_H
#define REMAINING_STACK_H

#include <alloca.h>
#include <limits.h>
#include <stddef.h>

/* The size of the stack of a thread of which `size` bytes are to remain. */
static inline size_t allowed_stack(size_t size)
{
    const size_t least = (size_t)PTHREAD_STACK_MIN;
    return size < least ? least : size;
}

/* Calls a function with as much less stack as allowed_stack() has given. */
static __attribute__((noinline)) void with_remaining_stack(size_t size, void (*function)(void))
{
    const size_t taken = allowed_stack(size) - size;
    volatile char *lowest = alloca(taken + 1);
    *lowest = 0;
    function();
    *lowest = 0; /* so that the call above is no jump, for which the stack would be free again */
}

#endif
