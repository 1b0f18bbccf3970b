/* SPDX-License-Identifier: Apache-2.0 */
/* Takes units of a shared region, and runs them; slot.h describes the words. */
#include <stddef.h>

#include "hybrid.h"
#include "slot.h"

enum { FAILED_STEP_BITS = NN_STEP_OFFSET_BITS + NN_CODE_BITS };

struct nn_slot nn_slots[NN_RANKS * NN_SLOTS_PER_RANK];
_Alignas(64) _Atomic uint32_t nn_taken;
_Atomic int nn_callers;
_Atomic int nn_size = 1;
_Atomic unsigned nn_generation;

bool nn_take(struct nn_slot *slot, bool is_caller, int64_t *first, int64_t *count)
{
    const int64_t threads = atomic_load_explicit(&slot->threads, memory_order_relaxed);
    uint64_t tickets = atomic_load_explicit(&slot->tickets, memory_order_acquire);
    for (;;) {
        const int64_t left = nn_units_left(tickets);
        if (left <= 0 || (!is_caller && nn_is_too_slow(left, threads)))
            return false;
        const int64_t share = left / (4 * (threads > 0 ? threads : 1));
        *count = share > 1 ? share : 1;
        *first = is_caller ? nn_low_of(tickets) : nn_high_of(tickets) - *count;
        const uint64_t rest = is_caller ? tickets + (uint64_t)*count
                                        : tickets - ((uint64_t)*count << NN_UNIT_BITS);
        if (atomic_compare_exchange_weak_explicit(
                &slot->tickets, &tickets, rest, memory_order_acq_rel, memory_order_acquire))
            return true;
    }
}

/* Drops the units that no thread has taken: their number. */
static int64_t leave(struct nn_slot *slot)
{
    uint64_t tickets = atomic_load(&slot->tickets);
    while (!atomic_compare_exchange_weak(
        &slot->tickets, &tickets, tickets + (uint64_t)nn_units_left(tickets)))
        ;
    return nn_units_left(tickets);
}

static void note_failure(struct nn_slot *slot, int64_t tile, int64_t step, int32_t code)
{
    const uint64_t found = (uint64_t)tile << FAILED_STEP_BITS
        | (uint64_t)(step - slot->region.first) << NN_CODE_BITS | (uint8_t)code;
    uint64_t lowest = atomic_load(&slot->failure);
    while (found < lowest && !atomic_compare_exchange_weak(&slot->failure, &lowest, found))
        ;
}

int64_t nn_run_units(struct nn_slot *slot, bool is_caller, int64_t first, int64_t count)
{
    int64_t end = (first + count) * slot->unit;
    if (end > slot->region.tiles)
        end = slot->region.tiles;
    for (int64_t tile = first * slot->unit; tile < end; tile++) {
        int64_t step;
        const int32_t code = nn_run_tile(slot->run, &slot->region, tile, &step);
        if (code > 0) {
            note_failure(slot, tile, step, code);
            /* The remaining units are above those of the caller, and below those of a worker. */
            return is_caller || code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ? leave(slot) : 0;
        }
    }
    return 0;
}

void nn_empty_slots(void)
{
    atomic_fetch_add(&nn_generation, 1);
    atomic_store(&nn_taken, 0);
    atomic_store(&nn_callers, 0);
    for (size_t at = 0; at < sizeof nn_slots / sizeof *nn_slots; at++)
        atomic_store(&nn_slots[at].tickets, 0);
}
