/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals are the program's business on a thread of the library, or while Python starts. */
#pragma once

#include <signal.h>
#include <stddef.h>

/* All but those that a thread raises by what it does itself (signals.py leaves out the same). */
static inline void nn_signals_of_the_program(sigset_t *set)
{
    static const int own[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    sigfillset(set);
    for (size_t at = 0; at < sizeof own / sizeof *own; at++)
        sigdelset(set, own[at]);
}
