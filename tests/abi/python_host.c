/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs Python itself, and ends it before it ends: no crash, no success. */
#include <Python.h>
#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>

#include "check.h"

int main(void)
{
    uint32_t count = 0;
    Py_Initialize();
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_NO_ERROR && count > 0);
    CHECK(Py_FinalizeEx() == 0);
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_OP_FAILED);
    CHECK(nnapi_shim_getLastError()[0] != '\0');
    Py_Initialize();
    CHECK(ANeuralNetworks_getDeviceCount(&count) == ANEURALNETWORKS_OP_FAILED);
    return 0;
}
