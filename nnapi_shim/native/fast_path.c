/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast path: re-runs a bound execution without Python. Entering Python takes longer than running a
 * small model. Python publishes an execution in a slot of this table after its first run
 * (runtime/fast_path.py, abi/fast_path.py), and reclaims the slot before it reads or changes the execution.
 * All other cases call Python.
 *
 * The handle of an execution or burst determines its slot. The state of a slot is the handle with flags.
 * Bit 63 is set in every handle, and clear if a flag is set:
 *
 *   0                          -> FILLED, then the handle: Python publishes
 *   handle                     -> RUNNING: a thread starts a run; 0: Python reclaims the slot
 *   handle, RUNNING            -> handle: the run succeeded; FAILED: Python must report the failure
 *   handle, RUNNING and FREED  -> 0: the run ended; the program freed the object during the run
 *   handle, FAILED             -> 0: Python, called by the thread that failed, reclaims the slot
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "boot.h"
#include "calls.h"

enum { SLOTS = 256, FILLED = 1 };
static const uintptr_t IS_HANDLE = (uintptr_t)1 << 63, RUNNING = (uintptr_t)1 << 62,
                       FAILED = (uintptr_t)1 << 61, FREED = (uintptr_t)1 << 60;

static struct slot {
    _Atomic uintptr_t state;
    /* Written before the state becomes the handle. */
    int (*function)(uintptr_t block, int64_t tile);
    uintptr_t block, family; /* family: the compilation of an execution or burst */
    /* Written before the state becomes FAILED. */
    pthread_t thread;
    int code;
} slots[SLOTS];

/* The handle with flags instead of bit 63. The kind of a handle is a small number from bit 56 on, so
 * its bits lie below the flags (handles.py). */
static uintptr_t flagged(uintptr_t handle, uintptr_t flags)
{
    return (handle & ~IS_HANDLE) | flags;
}

static struct slot *slot_of(uintptr_t handle)
{
    return &slots[(handle ^ handle >> 50) % SLOTS];
}

static bool change(struct slot *slot, uintptr_t from, uintptr_t to)
{
    return atomic_compare_exchange_strong(&slot->state, &from, to);
}

/* Whether this is the state of a run, or of a failed run, of this handle. */
static bool is_of(uintptr_t state, uintptr_t handle)
{
    return (state & IS_HANDLE) == 0 && state != 0
        && (state & ~(RUNNING | FAILED | FREED)) == flagged(handle, 0);
}

/* Publishes a run in the slot of the handle; false if the slot is in use. */
static int publish(uintptr_t handle, uintptr_t function, uintptr_t block, uintptr_t family)
{
    struct slot *slot = slot_of(handle);
    if (!change(slot, 0, FILLED))
        return false;
    slot->function = (int (*)(uintptr_t, int64_t))function;
    slot->block = block;
    slot->family = family;
    atomic_store(&slot->state, handle);
    return true;
}

/* Empties the slot: 0, -1 during a run, or the code of a run that failed on this thread. */
static int reclaim(uintptr_t handle)
{
    struct slot *slot = slot_of(handle);
    uintptr_t state = atomic_load(&slot->state);
    while (state == handle)
        if (atomic_compare_exchange_weak(&slot->state, &state, 0))
            return 0;
    if (state == flagged(handle, FAILED) && pthread_equal(slot->thread, pthread_self())) {
        const int code = slot->code;
        atomic_store(&slot->state, 0);
        return code;
    }
    return is_of(state, handle) ? -1 : 0;
}

/* The program frees the object: empties the slot, or marks it FREED and returns true during a run.
 * Other threads may end and begin runs meanwhile. */
static int release(uintptr_t handle)
{
    struct slot *slot = slot_of(handle);
    uintptr_t state = atomic_load(&slot->state);
    while (state == handle || state == flagged(handle, RUNNING) || state == flagged(handle, FAILED)) {
        const bool runs = state == flagged(handle, RUNNING);
        if (atomic_compare_exchange_weak(&slot->state, &state,
                                         runs ? flagged(handle, RUNNING | FREED) : 0))
            return runs;
    }
    return false;
}

static int is_running(uintptr_t handle)
{
    return is_of(atomic_load(&slot_of(handle)->state), handle);
}

const struct nn_fast_path nn_fast_path = {publish, reclaim, release, is_running};

/* Ends a run; true if Python must report its failure. */
static bool end(struct slot *slot, uintptr_t handle, int code)
{
    slot->thread = pthread_self();
    slot->code = code;
    if (change(slot, flagged(handle, RUNNING), code == 0 ? handle : flagged(handle, FAILED)))
        return code != 0;
    atomic_store(&slot->state, 0);
    return false;
}

/* Marks the slot of a handle as RUNNING; NULL if it is not published as an execution, or as a burst
 * (without a function). */
static struct slot *begin(uintptr_t handle, bool is_burst)
{
    struct slot *slot = slot_of(handle);
    if ((handle & IS_HANDLE) == 0 /* an invalid handle 0 equals the state of an empty slot */
        || atomic_load_explicit(&slot->state, memory_order_relaxed) != handle
        || !change(slot, handle, flagged(handle, RUNNING)))
        return NULL;
    if ((slot->function == NULL) == is_burst)
        return slot;
    end(slot, handle, 0);
    return NULL;
}

/* Clears a failure that Python has not reclaimed, as the burst was freed meanwhile. */
static void settle(struct slot *slot, uintptr_t handle)
{
    change(slot, flagged(handle, FAILED), 0);
}

/* Reports a failed run whose execution was freed: Python no longer has the execution. */
static int report(int code)
{
    nn_refuse("the computation failed with code %d; its execution was freed meanwhile", code);
    return code;
}

int nn_compute(uintptr_t execution)
{
    /* A thread that holds the GIL enters Python, which releases it for the run. */
    struct slot *slot = nn_holds_python() ? NULL : begin(execution, false);
    if (slot == NULL)
        return nn_calls.ANeuralNetworksExecution_compute(execution);
    const int code = slot->function(slot->block, 0);
    if (!end(slot, execution, code))
        return code == 0 ? 0 : report(code);
    const int result = nn_calls.ANeuralNetworksExecution_compute(execution);
    settle(slot, execution);
    return result;
}

int nn_burst_compute(uintptr_t execution, uintptr_t burst)
{
    struct slot *series = nn_holds_python() ? NULL : begin(burst, true);
    struct slot *slot = series == NULL ? NULL : begin(execution, false);
    if (slot != NULL && slot->family == series->family) {
        const int code = slot->function(slot->block, 0);
        end(series, burst, code);
        if (!end(slot, execution, code)) {
            settle(series, burst);
            return code == 0 ? 0 : report(code);
        }
        const int result = nn_calls.ANeuralNetworksExecution_burstCompute(execution, burst);
        settle(slot, execution);
        settle(series, burst);
        return result;
    }
    if (slot != NULL)
        end(slot, execution, 0);
    if (series != NULL)
        end(series, burst, 0);
    return nn_calls.ANeuralNetworksExecution_burstCompute(execution, burst);
}
