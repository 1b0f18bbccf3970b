/* SPDX-License-Identifier: Apache-2.0 */
/* Children use the library, whatever other threads of the parent did in it when it forked: argv[1] says what. argv[2]:
 * how many are forked while threads end. */
#include <android/NeuralNetworks.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static atomic_bool stop;

static void use_library(void)
{
    ANeuralNetworksModel *model = NULL;
    CHECK(ANeuralNetworksModel_create(&model) == ANEURALNETWORKS_NO_ERROR && model != NULL);
    ANeuralNetworksModel_free(model);
}

static void *keep_using_library(void *unused)
{
    while (!stop)
        use_library();
    return unused;
}

/* A child that hangs is ended by its alarm, which is a failure. */
static void fork_and_use(int children)
{
    for (int i = 0; i < children; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(300);
            use_library();
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    use_library();
}

static void *use_library_once(void *unused)
{
    use_library();
    return unused;
}

/* Threads that begin to use the library, and end. */
static void *keep_starting_threads(void *unused)
{
    while (!stop) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, use_library_once, NULL) == 0);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return unused;
}

/* As fork_and_use, for children that have nothing to do: many in the same time. */
static void fork_often(int children)
{
    alarm(300); /* a child may hang before it has one of its own */
    for (int i = 0; i < children; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    alarm(0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 || argc == 3);
    const char *when = argv[1];
    if (strcmp(when, "before") == 0) {
        fork_and_use(2);
    } else if (strcmp(when, "idle") == 0) {
        use_library();
        fork_and_use(10);
    } else {
        pthread_t threads[2];
        const int ends = strcmp(when, "ending") == 0;
        if (ends || strcmp(when, "busy") == 0)
            use_library();
        for (int i = 0; i < 2; i++)
            CHECK(pthread_create(&threads[i], NULL,
                                 ends ? keep_starting_threads : keep_using_library, NULL) == 0);
        if (strcmp(when, "starting") == 0)
            usleep(3000); /* start-up takes about 10 ms */
        if (ends)
            fork_often(argc == 3 ? atoi(argv[2]) : 2000);
        fork_and_use(20);
        stop = true;
        for (int i = 0; i < 2; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return 0;
}
