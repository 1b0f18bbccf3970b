/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a region with the help of the workers.
 *
 * A run takes a slot with its first region that is shared, and gives it back at its end. The caller takes
 * units itself and never waits for a worker to wake; at the end it waits for the units that workers have
 * taken. Without a free slot, or where other programs have the processors, it runs the region alone.
 */
#include "float_environment.h"
#include "futex.h"
#include "pool.h"
#include "workers.h"

enum { WAIT_MS = 20 }; /* a waiting caller checks so often whether it is in a forked child */

static int64_t allowed_threads(const struct nn_run *run)
{
    return run->threads < NN_MOST_THREADS ? run->threads : NN_MOST_THREADS;
}

/* Takes a slot for a run, and starts workers that are missing. */
static void begin_sharing(struct nn_run *run, struct nn_shared *shared)
{
    const int64_t threads = allowed_threads(run);
    shared->is_counted = true;
    shared->generation = atomic_load(&nn_generation);
    atomic_fetch_add(&nn_callers, 1);
    int known = atomic_load(&nn_size);
    while (known < threads && !atomic_compare_exchange_weak(&nn_size, &known, (int)threads))
        ;
    nn_start_workers(threads);
    const int rank = run->rank < 0 || run->rank >= NN_RANKS ? NN_RANKS - 1 : (int)run->rank;
    const uint32_t these = ((1u << NN_SLOTS_PER_RANK) - 1) << (rank * NN_SLOTS_PER_RANK);
    uint32_t before = atomic_load(&nn_taken);
    do {
        const uint32_t rest = these & ~before;
        if (rest == 0)
            return; /* all slots of this rank are taken */
        shared->slot = &nn_slots[__builtin_ctz(rest)];
    } while (!atomic_compare_exchange_weak(&nn_taken, &before, before | 1u << (shared->slot - nn_slots)));
    struct nn_slot *slot = shared->slot;
    slot->run = run;
    slot->environment = nn_float_environment();
    atomic_store_explicit(&slot->threads, threads, memory_order_relaxed);
}

void nn_end_sharing(struct nn_shared *shared)
{
    if (!shared->is_counted || shared->generation != atomic_load(&nn_generation))
        return;
    if (shared->slot != NULL)
        atomic_fetch_and(&nn_taken, ~(1u << (shared->slot - nn_slots)));
    atomic_fetch_sub(&nn_callers, 1);
}

/* Waits until workers have reported `wanted` units; false in a forked child, which has no workers. */
static bool wait_for(struct nn_slot *slot, uint32_t wanted, unsigned forks)
{
    int64_t began = 0;
    for (int looks = 1; atomic_load_explicit(&slot->done, memory_order_acquire) != wanted; looks++) {
        nn_relax();
        if (looks % NN_LOOKS != 0)
            continue;
        const int64_t now = nn_now();
        if (began == 0)
            began = now;
        if (now - began < NN_SPIN_NS)
            continue;
        while ((atomic_fetch_or(&slot->done, NN_WAITED_FOR) & ~NN_WAITED_FOR) != wanted) {
            if (atomic_load(&nn_generation) != forks)
                return false;
            const uint32_t seen = atomic_load(&slot->done);
            if ((seen & ~NN_WAITED_FOR) != wanted)
                nn_futex_wait(&slot->done, seen, WAIT_MS);
        }
        return true;
    }
    return true;
}

int32_t nn_share(struct nn_run *run, const struct nn_region *region, struct nn_shared *shared)
{
    if (!shared->is_counted)
        begin_sharing(run, shared);
    struct nn_slot *slot = shared->slot;
    /* In the child of a fork during the run, another run may have the slot. */
    const bool is_own = slot != NULL && shared->generation == atomic_load(&nn_generation);
    const bool is_helped = is_own && nn_is_allowed(1) && !nn_is_oversubscribed()
        && region->first < (int64_t)1 << NN_STEP_BITS
        && run->count - region->first < (int64_t)1 << NN_STEP_OFFSET_BITS;
    if (!is_helped)
        return nn_run_alone(run, region);
    nn_region_begins(&slot->seen);
    slot->region = *region;
    slot->unit = (region->tiles + NN_MOST_UNITS - 1) / NN_MOST_UNITS;
    const int64_t units = (region->tiles + slot->unit - 1) / slot->unit;
    atomic_store_explicit(&slot->done, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->failure, NN_NO_FAILURE, memory_order_relaxed);
    atomic_exchange(&slot->tickets, (uint64_t)region->first << (2 * NN_UNIT_BITS)
                        | (uint64_t)units << NN_UNIT_BITS);
    nn_wake_workers(slot);
    int64_t mine = 0, first, count;
    while (nn_take(slot, true, &first, &count))
        mine += count + nn_run_units(slot, true, first, count);
    nn_region_ended(&slot->seen, mine < units);
    if (mine < units && !wait_for(slot, (uint32_t)(units - mine), shared->generation))
        return ANEURALNETWORKS_OP_FAILED;
    const uint64_t failure = atomic_load_explicit(&slot->failure, memory_order_relaxed);
    if (failure == NN_NO_FAILURE)
        return 0;
    run->stopped = region->first + (int64_t)(failure >> NN_CODE_BITS & ((1 << NN_STEP_OFFSET_BITS) - 1));
    return (int32_t)(failure & ((1 << NN_CODE_BITS) - 1));
}
