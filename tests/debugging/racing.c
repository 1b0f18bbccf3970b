/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads count their models, in a variable that nothing guards. */
#include <android/NeuralNetworks.h>
#include <pthread.h>
#include <stdlib.h>

static int count;

static void *make_models(void *unused)
{
    for (int i = 0; i < 100; i++) {
        ANeuralNetworksModel *model = NULL;
        if (ANeuralNetworksModel_create(&model) != ANEURALNETWORKS_NO_ERROR)
            exit(1);
        ANeuralNetworksModel_free(model);
        count++; /* the race */
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_models, NULL) != 0)
        return 1;
    make_models(NULL);
    pthread_join(thread, NULL);
    return 0;
}
