/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, wakes and ends the threads that help with shared regions.
 *
 * Workers look for tickets for some microseconds after the last that they had, then they sleep; those that
 * sleep for long end. Callers and workers that run are together no more than the pool's size: the more
 * callers, the fewer workers may help.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "boot.h"
#include "float_environment.h"
#include "futex.h"
#include "hybrid.h"
#include "signals.h"
#include "workers.h"

enum {
    IDLE_MS = 2000,    /* how long a worker sleeps before it ends: a process ends with its last thread */
    STACK = 256 << 10,
    WOKEN_AT_ONCE = 2, /* those that are woken wake others */
};

/* The bits of a word of workers are their numbers. */
static _Alignas(64) _Atomic uint64_t asleep;
static _Atomic uint64_t alive;
static _Atomic uint32_t sleeping[NN_MOST_THREADS]; /* 1: the worker sleeps, or is about to */
static atomic_flag is_starting = ATOMIC_FLAG_INIT;
static _Atomic int cannot_start; /* no bool: RISC-V has no instruction that exchanges a byte */

void nn_wake_workers(const struct nn_slot *slot)
{
    const int64_t threads = atomic_load_explicit(&slot->threads, memory_order_relaxed);
    uint64_t sleepers = atomic_load(&asleep);
    for (int woken = 0; sleepers != 0 && woken < WOKEN_AT_ONCE; sleepers &= sleepers - 1) {
        const int number = __builtin_ctzll(sleepers);
        if (number >= threads || !nn_is_allowed(number))
            return;
        const uint64_t bit = (uint64_t)1 << number;
        if ((atomic_fetch_and(&asleep, ~bit) & bit) != 0) {
            atomic_store(&sleeping[number], 0);
            nn_futex_wake(&sleeping[number]);
            woken++;
        }
    }
}

/* Runs units of a slot until none is left or a run of a better rank waits: whether it ran any. */
static bool help(struct nn_slot *slot, int number)
{
    if (number >= atomic_load_explicit(&slot->threads, memory_order_relaxed))
        return false;
    const int64_t rank = (slot - nn_slots) / NN_SLOTS_PER_RANK;
    const uint32_t going_first = ((uint32_t)1 << (rank * NN_SLOTS_PER_RANK)) - 1;
    uint32_t run = 0;
    int64_t first, count;
    while (number < atomic_load_explicit(&slot->threads, memory_order_relaxed) && nn_is_allowed(number)
           && nn_take(slot, false, &first, &count)) {
        if (run == 0) {
            nn_set_float_environment(slot->environment);
            if (nn_units_left(atomic_load_explicit(&slot->tickets, memory_order_relaxed)) > 1)
                nn_wake_workers(slot);
        }
        run += (uint32_t)(count + nn_run_units(slot, false, first, count));
        if ((atomic_load_explicit(&nn_taken, memory_order_relaxed) & going_first) != 0)
            break;
    }
    if (run == 0 && nn_is_hybrid && nn_units_left(atomic_load_explicit(&slot->tickets, memory_order_relaxed)) > 0)
        nn_wake_workers(slot); /* one on a faster processor takes what this one has left */
    if (run != 0 && (atomic_fetch_add(&slot->done, run) & NN_WAITED_FOR) != 0)
        nn_futex_wake(&slot->done);
    return run != 0;
}

/* Helps one run of the best rank that has work. Workers with different numbers begin with different runs. */
static bool help_someone(int number)
{
    const uint32_t all = atomic_load_explicit(&nn_taken, memory_order_acquire);
    for (int rank = 0; all >> (rank * NN_SLOTS_PER_RANK) != 0 && rank < NN_RANKS; rank++) {
        const uint32_t these = all >> (rank * NN_SLOTS_PER_RANK) & ((1u << NN_SLOTS_PER_RANK) - 1);
        if (these == 0)
            continue;
        uint32_t later = these;
        for (int skipped = number % __builtin_popcount(these); skipped > 0; skipped--)
            later &= later - 1;
        const uint32_t parts[] = {later, these & ~later};
        for (int at = 0; at < 2; at++)
            for (uint32_t part = parts[at]; part != 0; part &= part - 1)
                if (help(&nn_slots[rank * NN_SLOTS_PER_RANK + __builtin_ctz(part)], number))
                    return true;
    }
    return false;
}

/* Sleeps until a thread wakes this worker; false after IDLE_MS. */
static bool sleep_long(int number)
{
    const uint64_t bit = (uint64_t)1 << number;
    atomic_store(&sleeping[number], 1);
    atomic_fetch_or(&asleep, bit);
    /* A caller publishes tickets and then looks for sleepers; this thread does the reverse, and its loads
     * are not sequentially consistent. One of the two has to see the other. */
    atomic_thread_fence(memory_order_seq_cst);
    if (nn_is_allowed(number) && help_someone(number)) { /* work came after the last look */
        atomic_fetch_and(&asleep, ~bit);
        return true;
    }
    while (atomic_load(&sleeping[number]) == 1) {
        const int64_t began = nn_now();
        nn_futex_wait(&sleeping[number], 1, IDLE_MS);
        const bool is_long = nn_now() - began >= (int64_t)IDLE_MS * 1000000;
        if (is_long && (atomic_fetch_and(&asleep, ~bit) & bit) != 0)
            return false; /* no thread is about to wake it */
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
        if (nn_is_allowed(number) && help_someone(number)) {
            looks = 0;
            last = 0;
            continue;
        }
        nn_relax();
        if (looks % NN_LOOKS != 0)
            continue;
        const int64_t now = nn_now();
        if (last == 0)
            last = now;
        if (now - last < NN_SPIN_NS && nn_is_allowed(number))
            continue;
        if (!sleep_long(number))
            break;
        last = looks = 0;
    }
    atomic_fetch_and(&alive, ~((uint64_t)1 << number));
    return NULL;
}

/* The child of a fork has no workers. Its only run can be one of this thread whose signal handler forked. */
static void in_child(void)
{
    nn_empty_slots();
    atomic_store(&asleep, 0);
    atomic_store(&alive, 0);
    atomic_store(&cannot_start, false);
    atomic_flag_clear(&is_starting);
}

static void observe_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static int start(int number)
{
    int error = EINVAL;
    /* Thread-local variables may fill the small stack: then one of the default size is taken. */
    for (int is_small = 1; is_small >= 0 && error == EINVAL; is_small--) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (is_small)
            pthread_attr_setstacksize(&attributes, STACK);
        error = pthread_create(&thread, &attributes, work, (void *)(intptr_t)number);
        pthread_attr_destroy(&attributes);
    }
    return error;
}

/* Workers block the signals of the program, which has threads for them. */
void nn_start_workers(int64_t threads)
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
