/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads make the first call at the same time; then each makes and frees models. */
#include <android/NeuralNetworks.h>
#include <pthread.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 200 };

static pthread_barrier_t barrier;

static void *use_library(void *unused)
{
    uint32_t count = 0;
    (void)unused;
    pthread_barrier_wait(&barrier);
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_NO_ERROR && count > 0);
    for (int i = 0; i < ROUNDS; i++) {
        ANeuralNetworksModel *model = NULL;
        CHECK(ANeuralNetworksModel_create(&model) == ANEURALNETWORKS_NO_ERROR && model != NULL);
        ANeuralNetworksModel_free(model);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use_library, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
