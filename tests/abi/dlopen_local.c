/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the library as TensorFlow Lite does: argv[1], RTLD_LOCAL. Then moves to another folder,
 * where a relative path means nothing, makes the first call, closes the library, opens it again.
 */
#include <android/NeuralNetworks.h>
#include <dlfcn.h>

#include "check.h"

typedef int get_device_count(uint32_t *count);

static void *open_and_call(const char *path, const char *folder)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    CHECK(chdir(folder) == 0);
    get_device_count *function =
        (get_device_count *)dlsym(library, "ANeuralNetworks_getDeviceCount");
    CHECK(function != NULL);
    uint32_t count = 0;
    CHECK(function(&count) == ANEURALNETWORKS_NO_ERROR && count > 0);
    return library;
}

int main(int argc, char **argv)
{
    char folder[4096];
    CHECK(argc == 2);
    CHECK(getcwd(folder, sizeof folder) != NULL);
    CHECK(dlclose(open_and_call(argv[1], "/")) == 0);
    CHECK(chdir(folder) == 0);
    open_and_call(argv[1], "/");
    return 0;
}
