/* SPDX-License-Identifier: Apache-2.0 */
/* Hybrid machines, which have fast and slow processors: the last tiles of a region run on fast ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether the processors of this process differ. */
extern bool nn_is_hybrid;

/* Reads the speeds of the processors, at the first call: when kernels are loaded, as a program may not be allowed to
 * open files later. */
void nn_read_speeds(void);
/* Whether `threads` threads on faster processors than this one run the units that are left in less time than
 * this one runs a unit. False where nn_is_hybrid is. */
bool nn_is_too_slow(int64_t left, int64_t threads);

#pragma GCC visibility pop
