/* SPDX-License-Identifier: Apache-2.0 */
/* write(2) that raises no SIGPIPE: a closed pipe at stderr must not end the program. */
#ifndef NNAPI_SHIM_QUIET_WRITE_H
#define NNAPI_SHIM_QUIET_WRITE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static inline ssize_t quiet_write(int fd, const void *bytes, size_t length)
{
    sigset_t pipe_signal, pending, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    sigpending(&pending);
    const ssize_t written = write(fd, bytes, length);
    const int reason = errno;
    /* A signal of ours goes as it came; one that the program has waiting stays. */
    if (written < 0 && reason == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return written;
}

#endif /* NNAPI_SHIM_QUIET_WRITE_H */
