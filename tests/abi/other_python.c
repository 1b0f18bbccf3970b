/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a program that runs another Python: what it exports hides libpython's function. Its
 * threads make the first call at the same time. */
#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { THREADS = 4 };

const char *Py_GetVersion(void)
{
    return "3.7.0 (another)";
}

static void *be_refused(void *unused)
{
    uint32_t count = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_OP_FAILED);
        CHECK(strstr(nnapi_shim_getLastError(), "Python 3.7.0; 3.10 or newer") != NULL);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, be_refused, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
