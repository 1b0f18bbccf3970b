/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal's handler forks, in the midst of a call; parent and child go on with the call. argv: the
 * device, how many trials, and by how many microseconds the signal comes later in each. Prints how
 * many of both came to the end.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "../check.h"
#include "add.h"

static volatile pid_t forked = -1;

static void fork_here(int number)
{
    (void)number;
    forked = fork();
    if (forked == 0)
        alarm(0); /* the handler forks no more */
}

static int try_once(const char *device, long delay)
{
    const struct itimerval once = {{0, 0}, {delay / 1000000, delay % 1000000 + 1}};
    CHECK(signal(SIGALRM, fork_here) != SIG_ERR && setitimer(ITIMER_REAL, &once, NULL) == 0);
    const int code = add(device);
    if (forked == 0) {
        signal(SIGALRM, SIG_DFL);
        _exit(code == ANEURALNETWORKS_NO_ERROR ? 0 : 1);
    }
    int status = 0;
    if (forked > 0)
        CHECK(waitpid(forked, &status, 0) == forked);
    return code == ANEURALNETWORKS_NO_ERROR && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    int good = 0;
    for (int i = 0; i < atoi(argv[2]); i++) {
        int status;
        const pid_t trial = fork();
        if (trial == 0)
            _exit(try_once(argv[1], (long)i * atol(argv[3])) ? 0 : 1);
        CHECK(trial > 0 && waitpid(trial, &status, 0) == trial);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%d of %d\n", good, atoi(argv[2]));
    return 0;
}
