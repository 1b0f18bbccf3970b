/* SPDX-License-Identifier: Apache-2.0 */
/* Runs regions on several threads. */
#pragma once

#include "region.h"

#pragma GCC visibility push(hidden)

/* A run's part of the pool: taken with the first region that is shared, given back at the end. */
struct nn_shared {
    struct nn_slot *slot; /* NULL: all slots were taken */
    unsigned generation;
    bool is_counted;
};
/* Runs a region with worker threads; the result does not depend on the number of threads. */
int32_t nn_share(struct nn_run *run, const struct nn_region *region, struct nn_shared *shared);
void nn_end_sharing(struct nn_shared *shared);

#pragma GCC visibility pop
