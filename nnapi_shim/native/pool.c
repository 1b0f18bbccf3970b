/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that help runs of the CPU device. They know neither Python nor NNAPI: they take tiles.
 *
 * A run that meets a region to be shared takes one of a few slots for itself. It publishes the region in
 * one word, the tickets: which step it begins with, and which of its tiles nobody has taken. The caller
 * takes tiles from the low end, workers from the high end, in one compare-and-swap; so neighbours stay
 * on one processor. Slots are never freed, so a worker may look at one whenever it likes; what else is
 * in it, and the run itself, it touches only with a ticket that it has taken: the run waits until every
 * ticket has been reported in `done`. A word that comes again is no danger: it says what is true then.
 *
 * The caller never waits for a worker to wake. Workers look for tickets for some microseconds after the
 * last that they had, then they sleep; those that sleep for long end. Callers and workers that run are
 * together no more than the pool's size: the more callers, the fewer workers may help.
 *
 * Which tile fails does not depend on the number of threads: a worker's failure leaves the tiles below it
 * to be run, and the lowest that fails is told. Where time is up, all tiles are left that nobody runs.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <android/NeuralNetworks.h>

#include "boot.h"
#include "contention.h"
#include "program.h"
#include "signals.h"

enum {
    MOST_THREADS = 64,  /* bits of a word; bit 0 and number 0 stand for the caller */
    SLOTS_PER_RANK = 8, /* runs of a rank that are helped at the same time */
    LOOKS = 16,         /* at the tickets, between two at the clock */
    SPIN_NS = 30000,    /* how long a worker looks for tickets, and a caller for the last report */
    WAIT_MS = 20,       /* how long a caller waits before it looks whether it is in a forked child */
    IDLE_MS = 2000,     /* how long a worker sleeps before it ends: a process ends with its last thread */
    STACK = 256 << 10,
    WOKEN_AT_ONCE = 2,  /* those that are woken wake others */
};

/* Tickets: first step, behind the last tile that is left, first tile that is left; of equal units. */
enum { UNIT_BITS = 20, STEP_BITS = 64 - 2 * UNIT_BITS, MOST_UNITS = (1 << UNIT_BITS) - 1 };

static int64_t low_of(uint64_t tickets)
{
    return (int64_t)(tickets & MOST_UNITS);
}

static int64_t high_of(uint64_t tickets)
{
    return (int64_t)(tickets >> UNIT_BITS & MOST_UNITS);
}

static int64_t left_in(uint64_t tickets)
{
    return high_of(tickets) - low_of(tickets);
}

/* Failures: tile, step within the region, code. The lowest counts. */
static const uint64_t NO_FAILURE = UINT64_MAX;
enum { STEP_OFFSET_BITS = 16, CODE_BITS = 8, FAILED_STEP_BITS = STEP_OFFSET_BITS + CODE_BITS };

static const uint32_t WAITED_FOR = (uint32_t)1 << 31; /* in `done`: the caller sleeps */

static struct nn_slot {
    _Alignas(64) _Atomic uint64_t tickets;
    _Alignas(64) _Atomic uint32_t done; /* units that workers have run, or left because time is up */
    _Atomic uint64_t failure;
    /* Written by the caller in front of the tickets; read with a ticket. */
    _Alignas(64) struct nn_run *run;
    struct nn_region region;
    int64_t unit; /* tiles */
    unsigned environment;
    _Atomic int64_t threads; /* of the run; read at any time */
    struct nn_seen seen;     /* the caller's */
} slots[NN_RANKS * SLOTS_PER_RANK];

/* The bits of a word of workers are their numbers. */
static _Alignas(64) _Atomic uint32_t taken; /* slots */
static _Atomic int callers;                 /* runs that have come to share */
static _Atomic int size = 1;                /* the most threads that a run has asked for */
static _Alignas(64) _Atomic uint64_t asleep;
static _Atomic uint64_t alive;
static _Atomic uint32_t sleeping[MOST_THREADS]; /* 1: the worker sleeps, or is about to */
static atomic_flag is_starting = ATOMIC_FLAG_INIT;
static _Atomic bool cannot_start;
static _Atomic unsigned generation; /* forks between this process and the first that had a pool */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, int milliseconds)
{
    const struct timespec most = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    const int error = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
    errno = error;
}

static void futex_wake(_Atomic uint32_t *word)
{
    const int error = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}

/* How the processor rounds, and what it makes of tiny numbers: workers do as the caller. */
static unsigned environment(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu; /* without what has happened */
#elif defined(__aarch64__)
    return (unsigned)__builtin_aarch64_get_fpcr();
#else
    return 0;
#endif
}

static void set_environment(unsigned wanted)
{
#if defined(__x86_64__)
    if (environment() != wanted)
        __builtin_ia32_ldmxcsr(wanted);
#elif defined(__aarch64__)
    if (environment() != wanted)
        __builtin_aarch64_set_fpcr(wanted);
#else
    (void)wanted;
#endif
}

/* Whether a worker may run now: callers go first. */
static bool is_allowed(int number)
{
    return number + atomic_load_explicit(&callers, memory_order_relaxed)
        <= atomic_load_explicit(&size, memory_order_relaxed);
}

/* Takes some units from one end. They are fewer towards the end, so that all threads end together. */
static bool take(struct nn_slot *slot, bool is_caller, int64_t *first, int64_t *count)
{
    const int64_t threads = atomic_load_explicit(&slot->threads, memory_order_relaxed);
    uint64_t tickets = atomic_load_explicit(&slot->tickets, memory_order_acquire);
    for (;;) {
        const int64_t left = left_in(tickets);
        if (left <= 0)
            return false;
        const int64_t share = left / (4 * (threads > 0 ? threads : 1));
        *count = share > 1 ? share : 1;
        *first = is_caller ? low_of(tickets) : high_of(tickets) - *count;
        const uint64_t rest = is_caller ? tickets + (uint64_t)*count
                                        : tickets - ((uint64_t)*count << UNIT_BITS);
        if (atomic_compare_exchange_weak_explicit(
                &slot->tickets, &tickets, rest, memory_order_acq_rel, memory_order_acquire))
            return true;
    }
}

/* Leaves the units that nobody has taken: how many they are. */
static int64_t leave(struct nn_slot *slot)
{
    uint64_t tickets = atomic_load(&slot->tickets);
    while (!atomic_compare_exchange_weak(&slot->tickets, &tickets, tickets + (uint64_t)left_in(tickets)))
        ;
    return left_in(tickets);
}

static void note_failure(struct nn_slot *slot, int64_t tile, int64_t step, int32_t code)
{
    const uint64_t found = (uint64_t)tile << FAILED_STEP_BITS
        | (uint64_t)(step - slot->region.first) << CODE_BITS | (uint8_t)code;
    uint64_t lowest = atomic_load(&slot->failure);
    while (found < lowest && !atomic_compare_exchange_weak(&slot->failure, &lowest, found))
        ;
}

/* Runs units that were taken: how many more were left because of a failure. */
static int64_t run_units(struct nn_slot *slot, bool is_caller, int64_t first, int64_t count)
{
    int64_t end = (first + count) * slot->unit;
    if (end > slot->region.tiles)
        end = slot->region.tiles;
    for (int64_t tile = first * slot->unit; tile < end; tile++) {
        int64_t step;
        const int32_t code = nn_run_tile(slot->run, &slot->region, tile, &step);
        if (code > 0) {
            note_failure(slot, tile, step, code);
            /* All that is left is above what a caller has taken, and below what a worker has. */
            return is_caller || code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ? leave(slot) : 0;
        }
    }
    return 0;
}

static void wake_some(const struct nn_slot *slot)
{
    const int64_t threads = atomic_load_explicit(&slot->threads, memory_order_relaxed);
    uint64_t sleepers = atomic_load(&asleep);
    for (int woken = 0; sleepers != 0 && woken < WOKEN_AT_ONCE; sleepers &= sleepers - 1) {
        const int number = __builtin_ctzll(sleepers);
        if (number >= threads || !is_allowed(number))
            return;
        const uint64_t bit = (uint64_t)1 << number;
        if ((atomic_fetch_and(&asleep, ~bit) & bit) != 0) {
            atomic_store(&sleeping[number], 0);
            futex_wake(&sleeping[number]);
            woken++;
        }
    }
}

/* Runs tiles of a slot while there are some, and nobody goes first: whether there were. */
static bool help(struct nn_slot *slot, int number)
{
    if (number >= atomic_load_explicit(&slot->threads, memory_order_relaxed))
        return false;
    const uint32_t going_first = ((uint32_t)1 << ((slot - slots) / SLOTS_PER_RANK * SLOTS_PER_RANK)) - 1;
    uint32_t run = 0;
    int64_t first, count;
    while (number < atomic_load_explicit(&slot->threads, memory_order_relaxed) && is_allowed(number)
           && take(slot, false, &first, &count)) {
        if (run == 0) {
            set_environment(slot->environment);
            if (left_in(atomic_load_explicit(&slot->tickets, memory_order_relaxed)) > 1)
                wake_some(slot);
        }
        run += (uint32_t)(count + run_units(slot, false, first, count));
        if ((atomic_load_explicit(&taken, memory_order_relaxed) & going_first) != 0)
            break;
    }
    if (run != 0 && (atomic_fetch_add(&slot->done, run) & WAITED_FOR) != 0)
        futex_wake(&slot->done);
    return run != 0;
}

/* Helps one run, of those of the first rank that has something to do. Each worker of several begins with
 * another run. */
static bool help_someone(int number)
{
    const uint32_t all = atomic_load_explicit(&taken, memory_order_acquire);
    for (int rank = 0; all >> (rank * SLOTS_PER_RANK) != 0 && rank < NN_RANKS; rank++) {
        const uint32_t these = all >> (rank * SLOTS_PER_RANK) & ((1u << SLOTS_PER_RANK) - 1);
        if (these == 0)
            continue;
        uint32_t later = these;
        for (int skipped = number % __builtin_popcount(these); skipped > 0; skipped--)
            later &= later - 1;
        for (uint32_t part = later; part != 0; part &= part - 1)
            if (help(&slots[rank * SLOTS_PER_RANK + __builtin_ctz(part)], number))
                return true;
        for (uint32_t part = these & ~later; part != 0; part &= part - 1)
            if (help(&slots[rank * SLOTS_PER_RANK + __builtin_ctz(part)], number))
                return true;
    }
    return false;
}

/* Sleeps until somebody wakes this worker; false when nobody did for long. */
static bool sleep_long(int number)
{
    const uint64_t bit = (uint64_t)1 << number;
    atomic_store(&sleeping[number], 1);
    atomic_fetch_or(&asleep, bit);
    if (is_allowed(number) && help_someone(number)) { /* since the last look */
        atomic_fetch_and(&asleep, ~bit);
        return true;
    }
    while (atomic_load(&sleeping[number]) == 1) {
        const int64_t began = nn_now();
        futex_wait(&sleeping[number], 1, IDLE_MS);
        const bool is_long = nn_now() - began >= (int64_t)IDLE_MS * 1000000;
        if (is_long && (atomic_fetch_and(&asleep, ~bit) & bit) != 0)
            return false; /* nobody is about to wake it */
    }
    atomic_fetch_and(&asleep, ~bit);
    return true;
}

static void *work(void *argument)
{
    const int number = (int)(intptr_t)argument;
    char name[16];
    snprintf(name, sizeof name, "nnapi-%u", (unsigned char)(number - 1));
    pthread_setname_np(pthread_self(), name);
    int64_t last = nn_now();
    for (int looks = 0;; looks++) {
        if (is_allowed(number) && help_someone(number)) {
            looks = 0;
            last = 0;
            continue;
        }
        relax();
        if (looks % LOOKS != 0)
            continue;
        const int64_t now = nn_now();
        if (last == 0)
            last = now;
        if (now - last < SPIN_NS && is_allowed(number))
            continue;
        if (!sleep_long(number))
            break;
        last = looks = 0;
    }
    atomic_fetch_and(&alive, ~((uint64_t)1 << number));
    return NULL;
}

/* The child of a fork has no workers, and no runs but one of this thread whose signal handler forked. */
static void in_child(void)
{
    atomic_fetch_add(&generation, 1);
    atomic_store(&taken, 0);
    atomic_store(&callers, 0);
    atomic_store(&asleep, 0);
    atomic_store(&alive, 0);
    atomic_store(&cannot_start, false);
    atomic_flag_clear(&is_starting);
    for (size_t at = 0; at < sizeof slots / sizeof *slots; at++)
        atomic_store(&slots[at].tickets, 0);
}

static void observe_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static int start(int number)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int is_set = pthread_attr_setstacksize(&attributes, STACK);
    int error = pthread_create(&thread, &attributes, work, (void *)(intptr_t)number);
    if (error == EINVAL && is_set == 0) { /* variables of threads fill that stack: as large as usual */
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&thread, &attributes, work, (void *)(intptr_t)number);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

/* Starts workers 1 to threads - 1 that are not there. Their signals are the program's, which has threads for
 * them. */
static void start_missing(int64_t threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint64_t wanted = (threads < 64 ? (uint64_t)1 << threads : 0) - 2;
    if ((wanted & ~atomic_load_explicit(&alive, memory_order_relaxed)) == 0
        || atomic_load_explicit(&cannot_start, memory_order_relaxed)
        || atomic_flag_test_and_set(&is_starting))
        return;
    pthread_once(&once, observe_forks);
    sigset_t blocked, before;
    nn_signals_of_the_program(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    for (uint64_t missing = wanted & ~atomic_load(&alive); missing != 0; missing &= missing - 1) {
        const int number = __builtin_ctzll(missing);
        atomic_fetch_or(&alive, (uint64_t)1 << number);
        if (start(number) != 0) {
            atomic_fetch_and(&alive, ~((uint64_t)1 << number));
            if (!atomic_exchange(&cannot_start, true))
                nn_warn("no more threads can be started: computations take the ones there are");
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_flag_clear(&is_starting);
}

static int64_t allowed_threads(const struct nn_run *run)
{
    return run->threads < MOST_THREADS ? run->threads : MOST_THREADS;
}

/* Takes a slot for a run, and starts workers that are missing. */
static void begin_sharing(struct nn_run *run, struct nn_shared *shared)
{
    const int64_t threads = allowed_threads(run);
    shared->is_counted = true;
    shared->generation = atomic_load(&generation);
    atomic_fetch_add(&callers, 1);
    int known = atomic_load(&size);
    while (known < threads && !atomic_compare_exchange_weak(&size, &known, (int)threads))
        ;
    start_missing(threads);
    const int rank = run->rank < 0 || run->rank >= NN_RANKS ? NN_RANKS - 1 : (int)run->rank;
    const uint32_t these = ((1u << SLOTS_PER_RANK) - 1) << (rank * SLOTS_PER_RANK);
    uint32_t before = atomic_load(&taken);
    do {
        const uint32_t rest = these & ~before;
        if (rest == 0)
            return; /* as many are helped as can be */
        shared->slot = &slots[__builtin_ctz(rest)];
    } while (!atomic_compare_exchange_weak(&taken, &before, before | 1u << (shared->slot - slots)));
    struct nn_slot *slot = shared->slot;
    slot->run = run;
    slot->environment = environment();
    atomic_store_explicit(&slot->threads, threads, memory_order_relaxed);
}

void nn_end_sharing(struct nn_shared *shared)
{
    if (!shared->is_counted || shared->generation != atomic_load(&generation))
        return;
    if (shared->slot != NULL)
        atomic_fetch_and(&taken, ~(1u << (shared->slot - slots)));
    atomic_fetch_sub(&callers, 1);
}

/* Waits until workers have reported so many units; false in a child that has no workers. */
static bool wait_for(struct nn_slot *slot, uint32_t wanted, unsigned forks)
{
    int64_t began = 0;
    for (int looks = 1; atomic_load_explicit(&slot->done, memory_order_acquire) != wanted; looks++) {
        relax();
        if (looks % LOOKS != 0)
            continue;
        const int64_t now = nn_now();
        if (began == 0)
            began = now;
        if (now - began < SPIN_NS)
            continue;
        while ((atomic_fetch_or(&slot->done, WAITED_FOR) & ~WAITED_FOR) != wanted) {
            if (atomic_load(&generation) != forks)
                return false;
            const uint32_t seen = atomic_load(&slot->done);
            if ((seen & ~WAITED_FOR) != wanted)
                futex_wait(&slot->done, seen, WAIT_MS);
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
    /* In a child of a fork in the midst of the run, the slot may be another's. */
    const bool is_own = slot != NULL && shared->generation == atomic_load(&generation);
    const bool is_helped = is_own && is_allowed(1) && !nn_is_crowded()
        && region->first < (int64_t)1 << STEP_BITS
        && run->count - region->first < (int64_t)1 << STEP_OFFSET_BITS;
    if (!is_helped)
        return nn_run_alone(run, region);
    nn_region_begins(&slot->seen);
    slot->region = *region;
    slot->unit = (region->tiles + MOST_UNITS - 1) / MOST_UNITS;
    const int64_t units = (region->tiles + slot->unit - 1) / slot->unit;
    atomic_store_explicit(&slot->done, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->failure, NO_FAILURE, memory_order_relaxed);
    atomic_exchange(&slot->tickets, (uint64_t)region->first << (2 * UNIT_BITS)
                        | (uint64_t)units << UNIT_BITS);
    wake_some(slot);
    int64_t mine = 0, first, count;
    while (take(slot, true, &first, &count))
        mine += count + run_units(slot, true, first, count);
    nn_region_ended(&slot->seen, mine < units);
    if (mine < units && !wait_for(slot, (uint32_t)(units - mine), shared->generation))
        return ANEURALNETWORKS_OP_FAILED;
    const uint64_t failure = atomic_load_explicit(&slot->failure, memory_order_relaxed);
    if (failure == NO_FAILURE)
        return 0;
    run->stopped = region->first + (int64_t)(failure >> CODE_BITS & ((1 << STEP_OFFSET_BITS) - 1));
    return (int32_t)(failure & ((1 << CODE_BITS) - 1));
}
