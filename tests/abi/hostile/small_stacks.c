/* SPDX-License-Identifier: Apache-2.0 */
/* A thread with argv[2] KiB of stack computes (on device argv[1]), or is refused with a message; it
 * prints which. With a third argument the library has been started by another thread. */
#include <limits.h>
#include <nnapi_shim.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../check.h"
#include "add.h"

static const char *device;

static void *use(void *unused)
{
    const int code = add(device);
    if (code == ANEURALNETWORKS_NO_ERROR) {
        puts("computed");
    } else {
        CHECK(code == ANEURALNETWORKS_OP_FAILED);
        CHECK(strstr(nnapi_shim_getLastError(), "stack") != NULL);
        puts("refused");
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(argc >= 3);
    device = argv[1];
    if (argc > 3)
        CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)atoi(argv[2]) << 10) == 0);
    CHECK(pthread_create(&thread, &attributes, use, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return 0;
}
