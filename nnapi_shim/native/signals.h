/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to block on threads of the library, and while Python starts. */
#pragma once

#include <signal.h>
#include <stddef.h>

/* All signals except synchronous ones (signals.py has the same list). */
static inline void nn_signals_of_the_program(sigset_t *set)
{
    static const int own[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    sigfillset(set);
    for (size_t at = 0; at < sizeof own / sizeof *own; at++)
        sigdelset(set, own[at]);
}
