/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a program that runs another Python: what it exports hides libpython's function. */
#include <android/NeuralNetworks.h>

#include "check.h"

const char *Py_GetVersion(void)
{
    return "3.7.0 (another)";
}

int main(void)
{
    uint32_t count = 0;
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_OP_FAILED);
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_OP_FAILED);
    return 0;
}
