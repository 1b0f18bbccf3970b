/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that return a plain value, as an error code would be taken for a feature level or a
 * duration. They are constants and do not start Python, except that a phone profile (NNAPI_SHIM_PROFILE)
 * sets the levels, which Python reads. If it cannot start, the levels are those without a profile.
 */
#include <stdint.h>
#include <stdlib.h>

#include <android/NeuralNetworks.h>
#include <nnapi_shim.h>

#include "boot.h"

struct nn_levels nn_levels = {ANEURALNETWORKS_FEATURE_LEVEL_8, 0};

/* Makes nn_levels those of the profile, if there is one. */
static void ask_profile(void)
{
    const char *profile = secure_getenv("NNAPI_SHIM_PROFILE");
    struct nn_thread before;
    if (profile != NULL && profile[0] != '\0' && nn_enter(&before))
        nn_leave(&before);
}

int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
    ask_profile();
    return nn_levels.feature_level;
}

int32_t nnapi_shim_getAndroidApiLevel(void)
{
    ask_profile();
    return (int32_t)nn_levels.api_level;
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
