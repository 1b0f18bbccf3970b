/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled while they fork: later forks go on. argv[1]: the device. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "../check.h"
#include "add.h"

static atomic_bool stop;

/* So that a fork has to wait for Python's lock. */
static void *keep_computing(void *device)
{
    while (!stop)
        CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return NULL;
}

static void *fork_for_ever(void *unused)
{
    for (;;) {
        int state;
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        CHECK(child > 0);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        CHECK(waitpid(child, NULL, 0) == child);
        CHECK(state == PTHREAD_CANCEL_ENABLE);
        pthread_setcancelstate(state, NULL);
        pthread_testcancel();
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t busy[2];
    CHECK(argc == 2);
    alarm(300);
    CHECK(add(argv[1]) == ANEURALNETWORKS_NO_ERROR);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&busy[i], NULL, keep_computing, argv[1]) == 0);
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, fork_for_ever, NULL) == 0);
        usleep(1000 * (unsigned)round);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    stop = true;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(busy[i], NULL) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        _exit(add(argv[1]) == ANEURALNETWORKS_NO_ERROR ? 0 : 1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
