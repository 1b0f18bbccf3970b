/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that return a plain value. They are constants and never start Python, as an
 * error code would be taken for a feature level or a duration.
 */
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>

int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
    return ANEURALNETWORKS_FEATURE_LEVEL_8;
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout(void)
{
    return UINT64_C(2000000000); /* ns */
}

uint64_t ANeuralNetworks_getMaximumLoopTimeout(void)
{
    return UINT64_C(15000000000); /* ns */
}

const char *nnapi_shim_getVersion(void)
{
    return NN_VERSION; /* given by build_ffi.py */
}
