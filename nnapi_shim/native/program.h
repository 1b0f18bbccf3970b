/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the CPU device as they lie in memory; drivers/cpu/program/program.py says what the words mean. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { NN_END, NN_CHAIN, NN_BESIDE };

struct nn_step {
    int32_t (*kernel)(uintptr_t block, int64_t tile, int64_t deadline);
    uintptr_t block;
    int64_t tiles, jump, join;
};

/* A run of a program. threads: how many it may take, with the one that calls. rank: 0 for those that are
 * helped first, up to NN_RANKS - 1. deadline: ns of the monotonic clock, 0 for none. */
struct nn_run {
    const struct nn_step *steps;
    int64_t count, stopped, deadline, threads, rank;
};
enum { NN_RANKS = 3 };

/* A part of a run whose tiles may run at the same time, but for those of chained steps: `first` is its
 * first step, `tiles` how many there are in all. */
struct nn_region {
    int64_t first, tiles;
};

/* Nanoseconds of the monotonic clock. */
static inline int64_t nn_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#pragma GCC visibility push(hidden)

/* Runs a program to its end, or to a step that fails: its code. part: 0; this has the signature of a kernel. */
int32_t nn_run_program(struct nn_run *run, int64_t part);

/* The code of a tile of a region, counted from its first; *step is the step that answered with it. */
int32_t nn_run_tile(const struct nn_run *run, const struct nn_region *region, int64_t tile, int64_t *step);
/* Runs a region on this thread. */
int32_t nn_run_alone(struct nn_run *run, const struct nn_region *region);

/* A run's part of the pool: taken with the first region that is shared, given back at the end. */
struct nn_shared {
    struct nn_slot *slot; /* NULL: no place was free */
    unsigned generation;
    bool is_counted;
};
/* Runs a region with the help of the pool's threads, as one thread would. */
int32_t nn_share(struct nn_run *run, const struct nn_region *region, struct nn_shared *shared);
void nn_end_sharing(struct nn_shared *shared);

#pragma GCC visibility pop
