/* SPDX-License-Identifier: Apache-2.0 */
/* The NDK that these headers stand for: one of the time of Android 14. */
#ifndef NNAPI_SHIM_ANDROID_NDK_VERSION_H
#define NNAPI_SHIM_ANDROID_NDK_VERSION_H

/** Whether the headers are an NDK's. */
#define __ANDROID_NDK__ 1
/** The number in "r26". */
#define __NDK_MAJOR__ 26
/** 0 for "r26", 1 for "r26b". */
#define __NDK_MINOR__ 0
/** The number of a version to try out; 0 for a released one. */
#define __NDK_BETA__ 0
/** The build's number, which is none here. */
#define __NDK_BUILD__ 0
/** Whether the version is one of the daily ones. */
#define __NDK_CANARY__ 0

#endif /* NNAPI_SHIM_ANDROID_NDK_VERSION_H */
