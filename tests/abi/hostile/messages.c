/* SPDX-License-Identifier: Apache-2.0 */
/* Messages when they are hard to write: argv[1] says what is in the way. */
#include <fcntl.h>
#include <android/NeuralNetworksExtensions.h>
#include <nnapi_shim.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../check.h"
#include "add.h"

/* A refusal that repeats what the program said. */
static int refuse(const char *words)
{
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksOperandType type = {0};
    CHECK(ANeuralNetworksModel_create(&model) == ANEURALNETWORKS_NO_ERROR);
    CHECK(ANeuralNetworksModel_getExtensionOperandType(model, words, 0, &type.type)
          == ANEURALNETWORKS_NO_ERROR);
    int code = ANeuralNetworksModel_addOperand(model, &type);
    ANeuralNetworksModel_free(model);
    return code;
}

static void allow_descriptors(rlim_t count)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = count == 0 ? limit.rlim_max : count;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void without_descriptors(const char *device)
{
    CHECK(refuse("first") == ANEURALNETWORKS_BAD_DATA); /* what it said is not said again */
    allow_descriptors(3);
    CHECK(add(device) != ANEURALNETWORKS_NO_ERROR);
    CHECK(strstr(nnapi_shim_getLastError(), "first") == NULL);
    CHECK(strstr(nnapi_shim_getLastError(), "Too many open files") != NULL);
    CHECK(refuse("second") == ANEURALNETWORKS_BAD_DATA);
    CHECK(strstr(nnapi_shim_getLastError(), "second") != NULL);
    allow_descriptors(0);
    ANeuralNetworksModel *model = make_model();
    allow_descriptors(3);
    CHECK(model != NULL && compile(model, device) == NULL);
    CHECK(strstr(nnapi_shim_getLastError(), "Too many open files") != NULL);
    allow_descriptors(0);
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    if (strcmp(argv[1], "refuse") == 0)
        CHECK(refuse(argv[2]) == ANEURALNETWORKS_BAD_DATA);
    else
        without_descriptors(argv[2]);
    return 0;
}
