/* SPDX-License-Identifier: Apache-2.0 */
/* Computes on both devices, and sees no others. Run with raised privileges (set-group-id). */
#include <nnapi_shim.h>
#include <sys/auxv.h>

#include "../check.h"
#include "add.h"

int main(int argc, char **argv)
{
    uint32_t count = 0;
    (void)argv;
    CHECK((getauxval(AT_SECURE) != 0) == (argc == 1));
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_NO_ERROR);
    CHECK(count == (argc == 1 ? 2 : 1));
    if (argc > 1)
        return 0;
    CHECK(add("nnapi-cpu") == ANEURALNETWORKS_NO_ERROR);
    CHECK(add("nnapi-reference") == ANEURALNETWORKS_NO_ERROR);
    return 0;
}
