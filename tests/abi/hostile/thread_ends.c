/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call while they end, from destructors of their own, and a process that does at its
 * exit. argv[1]: the device. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../check.h"
#include "add.h"

enum { THREADS = 4, TIMES = 3 };

static const char *device;
static pthread_key_t early, late;
static atomic_int calls;

/* Called again as long as there is a value. */
static void at_thread_end(void *left)
{
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    calls++;
    if (left != (void *)1)
        CHECK(pthread_setspecific(early, (char *)left - 1) == 0);
}

static void *use(void *calls_before)
{
    CHECK(pthread_setspecific(early, (void *)TIMES) == 0);
    CHECK(pthread_setspecific(late, (void *)1) == 0);
    if (calls_before != NULL)
        CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return NULL;
}

static void at_exit(void)
{
    if (add(device) != ANEURALNETWORKS_NO_ERROR)
        _exit(2);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    CHECK(argc == 2);
    device = argv[1];
    CHECK(atexit(at_exit) == 0);
    CHECK(pthread_key_create(&early, at_thread_end) == 0);
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    CHECK(pthread_key_create(&late, at_thread_end) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use, i % 2 ? &calls : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(calls == THREADS * (TIMES + 1));
    return 0;
}
