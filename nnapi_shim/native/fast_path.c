/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a bound execution once more without Python, which takes longer to enter than a small model to
 * run. Python lends what it has run to this table (runtime/fast_path.py, abi/fast_path.py), and takes it
 * back before it looks at it or changes it. Whatever is unusual is not here: then Python is called.
 *
 * Executions and bursts lie under their handles, in the one entry that the handle can have. The state of
 * an entry is the handle with marks; bit 63, which all handles have, is missing in a marked one:
 *
 *   0                          -> FILLED, then the handle: Python lends it
 *   handle                     -> RUNNING when a thread takes it; 0 when Python takes it back
 *   handle, RUNNING            -> the handle at the end; FAILED at one that Python has to tell of
 *   handle, RUNNING and FREED  -> 0 at the end; the program has freed it meanwhile
 *   handle, FAILED             -> 0 when Python, called by the thread that failed, takes it back
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "boot.h"
#include "calls.h"

enum { ENTRIES = 256, FILLED = 1 };
static const uintptr_t LENT = (uintptr_t)1 << 63, RUNNING = (uintptr_t)1 << 62,
                       FAILED = (uintptr_t)1 << 61, FREED = (uintptr_t)1 << 60;

static struct entry {
    _Atomic uintptr_t state;
    /* Written before the state says that it is lent. */
    int (*function)(uintptr_t block, int64_t tile);
    uintptr_t block, family; /* family: which bursts and executions belong together */
    /* Written before the state says that it failed. */
    pthread_t thread;
    int code;
} entries[ENTRIES];

/* The handle with marks in place of bit 63. Kinds of handles are small numbers: their bits, from 56 on,
 * end below those of the marks (handles.py). */
static uintptr_t marked(uintptr_t handle, uintptr_t marks)
{
    return (handle & ~LENT) | marks;
}

static struct entry *entry_of(uintptr_t handle)
{
    return &entries[(handle ^ handle >> 50) % ENTRIES];
}

static bool change(struct entry *entry, uintptr_t from, uintptr_t to)
{
    return atomic_compare_exchange_strong(&entry->state, &from, to);
}

/* Whether a state is that of a run of this handle. */
static bool is_of(uintptr_t state, uintptr_t handle)
{
    return (state & LENT) == 0 && state != 0
        && (state & ~(RUNNING | FAILED | FREED)) == marked(handle, 0);
}

/* Python lends: false where the entry is another's. */
static int lend(uintptr_t handle, uintptr_t function, uintptr_t block, uintptr_t family)
{
    struct entry *entry = entry_of(handle);
    if (!change(entry, 0, FILLED))
        return false;
    entry->function = (int (*)(uintptr_t, int64_t))function;
    entry->block = block;
    entry->family = family;
    atomic_store(&entry->state, handle);
    return true;
}

/* Python takes back: 0, or the code of a run on this thread that failed; -1 while it runs. */
static int take_back(uintptr_t handle)
{
    struct entry *entry = entry_of(handle);
    uintptr_t state = atomic_load(&entry->state);
    while (state == handle)
        if (atomic_compare_exchange_weak(&entry->state, &state, 0))
            return 0;
    if (state == marked(handle, FAILED) && pthread_equal(entry->thread, pthread_self())) {
        const int code = entry->code;
        atomic_store(&entry->state, 0);
        return code;
    }
    return is_of(state, handle) ? -1 : 0;
}

/* The program frees it: whether it runs, and to its end. Meanwhile runs may end and begin. */
static int release(uintptr_t handle)
{
    struct entry *entry = entry_of(handle);
    uintptr_t state = atomic_load(&entry->state);
    while (state == handle || state == marked(handle, RUNNING) || state == marked(handle, FAILED)) {
        const bool runs = state == marked(handle, RUNNING);
        if (atomic_compare_exchange_weak(&entry->state, &state,
                                         runs ? marked(handle, RUNNING | FREED) : 0))
            return runs;
    }
    return false;
}

static int is_running(uintptr_t handle)
{
    return is_of(atomic_load(&entry_of(handle)->state), handle);
}

const struct nn_lending nn_lending = {lend, take_back, release, is_running};

/* The end of a run: whether Python has to tell of it. */
static bool end(struct entry *entry, uintptr_t handle, int code)
{
    entry->thread = pthread_self();
    entry->code = code;
    if (change(entry, marked(handle, RUNNING), code == 0 ? handle : marked(handle, FAILED)))
        return code != 0;
    atomic_store(&entry->state, 0);
    return false;
}

/* Takes what is lent under a handle, an execution or a burst, which has no function; or NULL. */
static struct entry *begin(uintptr_t handle, bool is_burst)
{
    struct entry *entry = entry_of(handle);
    if ((handle & LENT) == 0 /* NULL is the state of an empty entry */
        || atomic_load_explicit(&entry->state, memory_order_relaxed) != handle
        || !change(entry, handle, marked(handle, RUNNING)))
        return NULL;
    if ((entry->function == NULL) == is_burst)
        return entry;
    end(entry, handle, 0);
    return NULL;
}

/* What nobody has taken back, as its burst was freed meanwhile. */
static void settle(struct entry *entry, uintptr_t handle)
{
    change(entry, marked(handle, FAILED), 0);
}

/* The code of a run that failed, whose execution is freed: Python has forgotten it. */
static int tell(int code)
{
    nn_refuse("the computation failed with code %d; its execution was freed meanwhile", code);
    return code;
}

int nn_compute(uintptr_t execution)
{
    /* Who has Python's lock gives it up for a run, there. */
    struct entry *entry = nn_holds_python() ? NULL : begin(execution, false);
    if (entry == NULL)
        return nn_calls.ANeuralNetworksExecution_compute(execution);
    const int code = entry->function(entry->block, 0);
    if (!end(entry, execution, code))
        return code == 0 ? 0 : tell(code);
    const int told = nn_calls.ANeuralNetworksExecution_compute(execution);
    settle(entry, execution);
    return told;
}

int nn_burst_compute(uintptr_t execution, uintptr_t burst)
{
    struct entry *series = nn_holds_python() ? NULL : begin(burst, true);
    struct entry *entry = series == NULL ? NULL : begin(execution, false);
    if (entry != NULL && entry->family == series->family) {
        const int code = entry->function(entry->block, 0);
        end(series, burst, code);
        if (!end(entry, execution, code)) {
            settle(series, burst);
            return code == 0 ? 0 : tell(code);
        }
        const int told = nn_calls.ANeuralNetworksExecution_burstCompute(execution, burst);
        settle(entry, execution);
        settle(series, burst);
        return told;
    }
    if (entry != NULL)
        end(entry, execution, 0);
    if (series != NULL)
        end(series, burst, 0);
    return nn_calls.ANeuralNetworksExecution_burstCompute(execution, burst);
}
