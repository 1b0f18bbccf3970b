/* SPDX-License-Identifier: Apache-2.0 */
/* Whether other programs have the processors that workers would run on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* What a caller has seen of its helpers: since when nobody has helped it, and when it was the last time. */
struct nn_seen {
    int64_t since, last; /* 0: it is helped */
};

/* Whether runs go alone for now. */
bool nn_is_crowded(void);
/* Tells that a region begins, and whether somebody helped with it. */
void nn_region_begins(struct nn_seen *seen);
void nn_region_ended(struct nn_seen *seen, bool is_helped);

#pragma GCC visibility pop
