/* SPDX-License-Identifier: Apache-2.0 */
/* A thread with argv[2] KiB of stack computes (on device argv[1]), or is refused with a message; it
 * prints which. With a third argument the library has been started by another thread. */
#include <nnapi_shim.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../check.h"
#include "add.h"
#include "remaining_stack.h"

static const char *device;
static size_t size;

static void use(void)
{
    const int code = add(device);
    if (code == ANEURALNETWORKS_NO_ERROR) {
        puts("computed");
    } else {
        CHECK(code == ANEURALNETWORKS_OP_FAILED);
        CHECK(strstr(nnapi_shim_getLastError(), "stack") != NULL);
        puts("refused");
    }
}

static void *use_what_remains(void *unused)
{
    with_remaining_stack(size, use);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(argc >= 3);
    device = argv[1];
    size = (size_t)atoi(argv[2]) << 10;
    if (argc > 3)
        CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, allowed_stack(size)) == 0);
    CHECK(pthread_create(&thread, &attributes, use_what_remains, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return 0;
}
