/* SPDX-License-Identifier: Apache-2.0 */
/* The first call starts Python, and the program does not notice: signals, locale, folder, files. */
#include <android/NeuralNetworks.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <nnapi_shim.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { SIGNALS = 65 };

extern char **environ;

static void read_signals(struct sigaction *actions)
{
    for (int number = 1; number < SIGNALS; number++)
        sigaction(number, NULL, &actions[number]);
}

/* Not memcmp(): only as much of a sigset_t is written as there are signals. */
static bool same_set(const sigset_t *one, const sigset_t *other)
{
    for (int number = 1; number < SIGNALS; number++)
        if (sigismember(one, number) != sigismember(other, number))
            return false;
    return true;
}

/* Leaves out sa_restorer, and the flag that says it is there, which the C library adds. */
static void check_signals(const struct sigaction *before, const struct sigaction *after)
{
    for (int number = 1; number < SIGNALS; number++) {
        CHECK(before[number].sa_handler == after[number].sa_handler);
        CHECK(((before[number].sa_flags ^ after[number].sa_flags) & ~0x04000000) == 0);
        CHECK(same_set(&before[number].sa_mask, &after[number].sa_mask));
    }
}

static int count_variables(void)
{
    int count = 0;
    while (environ[count] != NULL)
        count++;
    return count;
}

int main(void)
{
    static struct sigaction before[SIGNALS], after[SIGNALS];
    char locale[256], folder[PATH_MAX], folder_after[PATH_MAX];
    sigset_t mask, mask_after;

    read_signals(before);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    snprintf(locale, sizeof locale, "%s", setlocale(LC_ALL, NULL));
    CHECK(getcwd(folder, sizeof folder) != NULL);
    int variables = count_variables();
    int first_free = open("/dev/null", O_RDONLY);
    close(first_free);

    CHECK(ANeuralNetworks_getRuntimeFeatureLevel() == ANEURALNETWORKS_FEATURE_LEVEL_8);
    CHECK(ANeuralNetworks_getDefaultLoopTimeout() == 2000000000);
    CHECK(ANeuralNetworks_getMaximumLoopTimeout() == 15000000000);
    CHECK(nnapi_shim_getVersion()[0] != '\0');
    CHECK(strcmp(nnapi_shim_getLastError(), "") == 0);
    ANeuralNetworksModel_free(NULL);

    uint32_t count = 0;
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_NO_ERROR);
    CHECK(count > 0);
    ANeuralNetworksModel *model = NULL;
    CHECK(ANeuralNetworksModel_create(&model) == ANEURALNETWORKS_NO_ERROR);
    CHECK(model != NULL);
    ANeuralNetworksModel_free(model);
    CHECK(strcmp(nnapi_shim_getLastError(), "") == 0);

    read_signals(after);
    check_signals(before, after);
    sigprocmask(SIG_BLOCK, NULL, &mask_after);
    CHECK(same_set(&mask, &mask_after));
    CHECK(strcmp(locale, setlocale(LC_ALL, NULL)) == 0);
    CHECK(getcwd(folder_after, sizeof folder_after) != NULL);
    CHECK(strcmp(folder, folder_after) == 0);
    CHECK(count_variables() == variables);
    int first_free_after = open("/dev/null", O_RDONLY);
    CHECK(first_free == first_free_after);
    return 0;
}
