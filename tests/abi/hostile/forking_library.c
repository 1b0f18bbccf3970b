/* SPDX-License-Identifier: Apache-2.0 */
/* A library that forks while it is loaded, and takes its time. */
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void fork_and_wait(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    usleep(200000);
}
