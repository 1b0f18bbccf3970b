/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child computes, whatever a thread of its parent did when it was forked: argv[2] trials, each a
 * process of its own that starts the library, with the fork argv[3] microseconds later than in the
 * one before. argv[1]: the device. Prints how many children came back.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../check.h"
#include "add.h"

static const char *device;

static void *first_use(void *unused)
{
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return unused;
}

/* A process that hangs is ended by its alarm. */
static int wait_for(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void try_once(unsigned delay)
{
    pthread_t thread;
    alarm(300);
    CHECK(pthread_create(&thread, NULL, first_use, NULL) == 0);
    usleep(delay);
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        _exit(add(device) == ANEURALNETWORKS_NO_ERROR ? 0 : 1);
    }
    const int came_back = wait_for(child);
    CHECK(pthread_join(thread, NULL) == 0);
    _exit(came_back ? 0 : 1);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    device = argv[1];
    const int trials = atoi(argv[2]);
    int good = 0;
    for (int i = 0; i < trials; i++) {
        const pid_t trial = fork();
        if (trial == 0)
            try_once((unsigned)(i * atoi(argv[3])));
        good += wait_for(trial);
    }
    printf("%d of %d\n", good, trials);
    return 0;
}
