/* SPDX-License-Identifier: Apache-2.0 */
/* Regions that several threads run together. */
#pragma once

#include "region.h"

#pragma GCC visibility push(hidden)

/* A run's part of the pool: taken with the first region that is shared, given back at the end. */
struct nn_shared {
    struct nn_slot *slot; /* NULL: all slots were taken */
    unsigned generation;
    bool is_counted;
};
/* Runs a region with the help of the pool's threads; the result is that of one thread. */
int32_t nn_share(struct nn_run *run, const struct nn_region *region, struct nn_shared *shared);
void nn_end_sharing(struct nn_shared *shared);

#pragma GCC visibility pop
