/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: the regions that are being shared, and the units of them that no thread has taken yet.
 *
 * A run that meets a region to be shared takes one of a few slots. It publishes the region in one word,
 * the tickets: its first step, and the range of units that nobody has taken. The caller takes units from
 * the low end, workers from the high end, with one compare-and-swap; so neighbouring tiles stay on one
 * processor. Slots are never freed, so a worker may read the tickets of any slot at any time. It touches the
 * rest of a slot, and the run itself, only with a ticket that it has taken: the run waits until every
 * ticket has been reported in `done`. ABA is harmless: the word fully describes the state.
 *
 * Which tile fails does not depend on the number of threads: after a worker's failure the tiles below it
 * still run, and the lowest failure is reported. When the time is up, all units are left that nobody runs.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contention.h"
#include "region.h"

enum {
    NN_SLOTS_PER_RANK = 8, /* runs of a rank that are helped at the same time */
    NN_LOOKS = 16,         /* at the tickets, between two at the clock */
    NN_SPIN_NS = 30000,    /* how long a worker looks for tickets, and a caller for the last report */
};

/* Tickets: the first step, the end of the remaining units, the first remaining unit. */
enum { NN_UNIT_BITS = 20, NN_STEP_BITS = 64 - 2 * NN_UNIT_BITS, NN_MOST_UNITS = (1 << NN_UNIT_BITS) - 1 };

/* Failures: tile, step within the region, code. The lowest is reported. */
static const uint64_t NN_NO_FAILURE = UINT64_MAX;
enum { NN_STEP_OFFSET_BITS = 16, NN_CODE_BITS = 8 };

static const uint32_t NN_WAITED_FOR = (uint32_t)1 << 31; /* in `done`: the caller sleeps */

#pragma GCC visibility push(hidden)

/* What a caller and a worker exchange is one line of the cache: each further one takes a region 0.02 us
 * more, or 0.1 us where the processors are far apart. */
extern struct nn_slot {
    _Alignas(64) _Atomic uint64_t tickets;
    _Atomic uint32_t done; /* units that workers have run, or dropped because the time is up */
    /* Written by the caller in front of the tickets; read with a ticket. */
    unsigned environment;
    struct nn_run *run;
    struct nn_region region;
    int64_t unit; /* tiles */
    _Atomic int64_t threads; /* of the run; read at any time */
    _Atomic uint64_t failure; /* the lowest so far */
    _Alignas(64) struct nn_contention seen; /* of the caller */
} nn_slots[NN_RANKS * NN_SLOTS_PER_RANK];
_Static_assert(offsetof(struct nn_slot, seen) == 64, "what threads exchange is one line of the cache");

extern _Atomic uint32_t nn_taken;      /* slots, a bit for each */
extern _Atomic int nn_callers;         /* runs that have come to share */
extern _Atomic int nn_size;            /* the most threads that a run has asked for */
extern _Atomic unsigned nn_generation; /* forks between this process and the first that had a pool */

/* Takes some units from one end, fewer towards the end, so that all threads end together. A worker on a slow
 * processor leaves the last ones to faster ones. */
bool nn_take(struct nn_slot *slot, bool is_caller, int64_t *first, int64_t *count);
/* Runs units that were taken: the number of others that it dropped after a failure. */
int64_t nn_run_units(struct nn_slot *slot, bool is_caller, int64_t first, int64_t count);
/* Empties all slots in the child of a fork. */
void nn_empty_slots(void);

#pragma GCC visibility pop

static inline int64_t nn_low_of(uint64_t tickets)
{
    return (int64_t)(tickets & NN_MOST_UNITS);
}

static inline int64_t nn_high_of(uint64_t tickets)
{
    return (int64_t)(tickets >> NN_UNIT_BITS & NN_MOST_UNITS);
}

static inline int64_t nn_units_left(uint64_t tickets)
{
    return nn_high_of(tickets) - nn_low_of(tickets);
}

/* Whether a worker may run now: callers go first. */
static inline bool nn_is_allowed(int number)
{
    return number + atomic_load_explicit(&nn_callers, memory_order_relaxed)
        <= atomic_load_explicit(&nn_size, memory_order_relaxed);
}

/* Tells the processor that this thread polls. */
static inline void nn_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
