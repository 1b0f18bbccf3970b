/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that calls one function, while Python goes on (drivers/cpu/program/native_task.py).
 *
 * Here and not in Python, where the handler of a signal may raise between any two steps: what began would be
 * forgotten, and would go on in memory that is no longer its own, or signals would stay blocked.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <nnapi_shim.h>

#include "boot.h"
#include "signals.h"

/* native_task.py makes it, of zeros but for the first two. */
struct helper {
    int32_t (*function)(uintptr_t argument, int64_t part);
    uintptr_t argument;
    int64_t result;
    _Atomic int64_t process; /* which has the thread; 0 where there is none */
    pthread_t thread;
};

static void *call(void *given)
{
    struct helper *helper = given;
    helper->result = helper->function(helper->argument, 0);
    return NULL;
}

/* Its signals are the program's, which has threads for them. */
static int32_t begin(struct helper *helper)
{
    sigset_t blocked, before;
    nn_signals_of_the_program(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (pthread_create(&helper->thread, NULL, call, helper) == 0)
        atomic_store(&helper->process, getpid());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return atomic_load(&helper->process) != 0;
}

/* What makes the thread (`ends` is NULL), or waits for it: 1 where it is there, or has called its function to
 * the end. 0 where no thread is to be had; where there was none, or somebody has waited for it already; and in
 * the child of a fork, which has not got it. */
static int32_t help(struct helper *helper, const void *ends)
{
    if (ends == NULL)
        return begin(helper);
    if (atomic_exchange(&helper->process, 0) != getpid())
        return 0;
    pthread_join(helper->thread, NULL);
    return 1;
}

uint64_t nnapi_shim_getHelper(void)
{
    return (uint64_t)(uintptr_t)help;
}
