/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Android's API levels: the one that a program is compiled for, and the one that it runs on.
 *
 * __ANDROID_API__ is what the compiler is told (-D__ANDROID_API__=30). If it is told nothing, this
 * header, as the NDK's, says that everything is there. No other header here defines it, and none
 * defines __ANDROID__: a program that asks whether it is compiled for Android at all learns that it
 * is not.
 */
#ifndef NNAPI_SHIM_ANDROID_API_LEVEL_H
#define NNAPI_SHIM_ANDROID_API_LEVEL_H

#ifdef __cplusplus
extern "C" {
#endif

/** Above every level. */
#define __ANDROID_API_FUTURE__ 10000

#ifndef __ANDROID_API__
#define __ANDROID_API__ __ANDROID_API_FUTURE__
#endif

/** Android 2.3. */
#define __ANDROID_API_G__ 9
/** Android 4.0. */
#define __ANDROID_API_I__ 14
/** Android 4.1. */
#define __ANDROID_API_J__ 16
/** Android 4.2. */
#define __ANDROID_API_J_MR1__ 17
/** Android 4.3. */
#define __ANDROID_API_J_MR2__ 18
/** Android 4.4. */
#define __ANDROID_API_K__ 19
/** Android 5.0. */
#define __ANDROID_API_L__ 21
/** Android 5.1. */
#define __ANDROID_API_L_MR1__ 22
/** Android 6. */
#define __ANDROID_API_M__ 23
/** Android 7.0. */
#define __ANDROID_API_N__ 24
/** Android 7.1. */
#define __ANDROID_API_N_MR1__ 25
/** Android 8.0. */
#define __ANDROID_API_O__ 26
/** Android 8.1: NNAPI's feature level 1. */
#define __ANDROID_API_O_MR1__ 27
/** Android 9: feature level 2. */
#define __ANDROID_API_P__ 28
/** Android 10: feature level 3. */
#define __ANDROID_API_Q__ 29
/** Android 11: feature level 4. */
#define __ANDROID_API_R__ 30
/** Android 12: feature level 5. Later feature levels have no API level of their own. */
#define __ANDROID_API_S__ 31
/** Android 13. */
#define __ANDROID_API_T__ 33
/** Android 14. */
#define __ANDROID_API_U__ 34
/** Android 15. */
#define __ANDROID_API_V__ 35

/**
 * Gives the API level that the program runs on: the property ro.build.version.sdk of
 * sys/system_properties.h, or -1 if that is no level.
 */
int android_get_device_api_level(void);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_API_LEVEL_H */
