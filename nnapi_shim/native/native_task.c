/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A native task: a thread that calls one function while Python continues (drivers/cpu/program/native_task.py).
 *
 * Written in C, as in Python a signal handler may raise between any two steps: a started thread would be
 * lost and write to freed memory, or signals would stay blocked.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <nnapi_shim.h>

#include "boot.h"
#include "signals.h"

/* Allocated by native_task.py; all fields but the first two are 0. */
struct task {
    int32_t (*function)(uintptr_t argument, int64_t part);
    uintptr_t argument;
    int64_t result;
    _Atomic int64_t process; /* process id of the thread's process; 0: no thread */
    pthread_t thread;
};

static void *call(void *argument)
{
    struct task *task = argument;
    task->result = task->function(task->argument, 0);
    return NULL;
}

/* Starts the thread with the signals of the program blocked, which has threads for them. */
static int32_t begin(struct task *task)
{
    sigset_t blocked, before;
    nn_signals_of_the_program(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (pthread_create(&task->thread, NULL, call, task) == 0)
        atomic_store(&task->process, getpid());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return atomic_load(&task->process) != 0;
}

/* Starts the thread (`ends` is NULL), or joins it. Returns 1 if the thread was started, or has returned from
 * its function; 0 if no thread can be started, if there is none to join, or in the child of a fork. */
static int32_t run_task(struct task *task, const void *ends)
{
    if (ends == NULL)
        return begin(task);
    if (atomic_exchange(&task->process, 0) != getpid())
        return 0;
    pthread_join(task->thread, NULL);
    return 1;
}

uint64_t nnapi_shim_getHelper(void)
{
    return (uint64_t)(uintptr_t)run_task;
}
