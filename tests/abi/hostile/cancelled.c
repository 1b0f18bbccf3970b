/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled in the middle of calls: they end behind them, and others go on. */
#include <pthread.h>
#include <stdatomic.h>

#include "../check.h"
#include "add.h"

static atomic_int calls;

static void *call_for_ever(void *device)
{
    for (;;) {
        CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
        calls++;
        pthread_testcancel();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    alarm(300);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[3];
        void *result;
        for (int i = 0; i < 3; i++)
            CHECK(pthread_create(&threads[i], NULL, call_for_ever, argv[1]) == 0);
        usleep(1000 * (unsigned)round);
        for (int i = 0; i < 3; i++)
            CHECK(pthread_cancel(threads[i]) == 0);
        for (int i = 0; i < 3; i++)
            CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
        CHECK(add(argv[1]) == ANEURALNETWORKS_NO_ERROR);
    }
    CHECK(calls > 0);
    int state; /* is what it was */
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state) == 0);
    CHECK(state == PTHREAD_CANCEL_ENABLE);
    return 0;
}
