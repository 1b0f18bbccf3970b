/* SPDX-License-Identifier: Apache-2.0 */
/* Oversubscription: whether other programs have the processors that workers would run on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A caller's record of regions without help: when the first of them began, and when the last ended. */
struct nn_contention {
    int64_t since, last; /* since is 0: the last region was helped */
};

/* Whether runs stay on their calling thread for now. */
bool nn_is_oversubscribed(void);
/* Records that a region begins; that it ended, and whether a worker helped. */
void nn_region_begins(struct nn_contention *seen);
void nn_region_ended(struct nn_contention *seen, bool is_helped);

#pragma GCC visibility pop
