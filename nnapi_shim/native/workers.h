/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads for shared regions. They run tiles, and use neither Python nor NNAPI. */
#pragma once

#include "slot.h"

enum { NN_MOST_THREADS = 64 }; /* bits of a word; bit 0 and number 0 are the caller */

#pragma GCC visibility push(hidden)

/* Starts workers 1 to threads - 1 that are missing. */
void nn_start_workers(int64_t threads);
/* Wakes some workers that may help with a slot. */
void nn_wake_workers(const struct nn_slot *slot);

#pragma GCC visibility pop
