/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a program in memory, and the regions into which a run divides them;
 * drivers/cpu/program/program.py documents the words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

#include "clock.h"

enum { NN_END, NN_CHAIN, NN_BESIDE };

struct nn_step {
    int32_t (*kernel)(uintptr_t block, int64_t tile, int64_t deadline);
    uintptr_t block;
    int64_t tiles, jump, join;
};

/* A run of a program. threads: the most that it may take, the calling one included. rank: 0 is helped
 * first, NN_RANKS - 1 last. deadline: ns of the monotonic clock, 0 for none. */
struct nn_run {
    const struct nn_step *steps;
    int64_t count, stopped, deadline, threads, rank;
};
enum { NN_RANKS = 3 };

/* A part of a run. Its tiles may run at the same time, except those of chained steps. first: its first
 * step. tiles: the number of tiles of all its steps. */
struct nn_region {
    int64_t first, tiles;
};

/* Runs a tile of a step: the code of its kernel, or MISSED_DEADLINE when the time is up. */
static inline int32_t nn_run_step(const struct nn_run *run, int64_t step, int64_t tile)
{
    const struct nn_step *it = &run->steps[step];
    if (run->deadline != 0 && nn_now() >= run->deadline)
        return ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT;
    return it->kernel(it->block, tile, run->deadline);
}

/* The last of the steps that are chained to one; a run of some steps of a region ends with them. */
static inline int64_t nn_end_of_chain(const struct nn_run *run, int64_t step)
{
    while (step + 1 < run->count && run->steps[step].join == NN_CHAIN)
        step++;
    return step;
}

#pragma GCC visibility push(hidden)

/* Runs a tile of a region, counted from its first. On failure *step is the step that failed. */
int32_t nn_run_tile(const struct nn_run *run, const struct nn_region *region, int64_t tile, int64_t *step);
/* Runs a region on this thread. */
int32_t nn_run_alone(struct nn_run *run, const struct nn_region *region);

#pragma GCC visibility pop
