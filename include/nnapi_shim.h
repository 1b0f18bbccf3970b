/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this library offers beside the Neural Networks API: the reason of a failure, and its
 * version. A program that is to run on Android, too, looks these functions up with dlsym().
 */
#ifndef NNAPI_SHIM_H
#define NNAPI_SHIM_H

#include <stdint.h>

#include <android/NeuralNetworks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* nnapi_shim: declarations begin */

/**
 * Returns the message of the last call on this thread that failed: the rule that was broken, the
 * value, and what is allowed. It is "" if no call has failed, and never NULL.
 *
 * Lifetime: the string belongs to the library and is valid until the next call that fails on the
 *    same thread.
 * Threads: each thread has a message of its own.
 */
const char* nnapi_shim_getLastError(void);

/**
 * Returns the version of this library, such as "1.0.0".
 *
 * Lifetime: the string belongs to the library and lives as long as the process.
 */
const char* nnapi_shim_getVersion(void);

/**
 * Returns the API level of the phone that NNAPI_SHIM_PROFILE names, such as 29 for Android 10; 0
 * without that setting, and for a profile that cannot be used. libandroid and liblog ask for it.
 */
int32_t nnapi_shim_getAndroidApiLevel(void);

/**
 * Returns the best instruction-set tier that this processor runs: "v4" (AVX-512 with VNNI), "v3vnni"
 * (AVX2, FMA, F16C, AVX-VNNI), "v3" (the same without AVX-VNNI), "v2" (x86-64-v2), "" for an older
 * processor; on AArch64 "i8mm" (dot products of uint8 by int8), "dotprod" (of int8), "neon";
 * "portable" on other architectures.
 *
 * Lifetime: the string belongs to the library and lives as long as the process.
 */
const char* nnapi_shim_getProcessorTier(void);

/**
 * Returns all instruction-set tiers that this processor runs, best first, with a space between two,
 * such as "v3vnni v3 v2".
 *
 * Lifetime: the string belongs to the library and lives as long as the process.
 */
const char* nnapi_shim_getProcessorTiers(void);

/**
 * Returns the address of the function that runs compiled programs of nnapi-cpu. For the Python part
 * of this library only.
 */
uint64_t nnapi_shim_getProgramRunner(void);

/**
 * Returns the address of the function that starts a thread of nnapi-cpu, and waits for its end. For
 * the Python part of this library only.
 */
uint64_t nnapi_shim_getHelper(void);

/**
 * Returns the address of the function that gives up pages of constants that have been packed. For
 * the Python part of this library only.
 */
uint64_t nnapi_shim_getPageReleaser(void);

/**
 * Loads what later calls would load when they first need it: Python, its modules, the devices,
 * their libraries. It takes about half a second. For programs that give up rights afterwards, such
 * as that to open files (seccomp, chroot, no descriptors left): from then on the library opens
 * none, unless a program asks for it (caching, memory of files) or a kernel is missing in the built
 * libraries. Children that are forked afterwards have everything as well.
 *
 * @return OP_FAILED: something could not be loaded, with the reason in nnapi_shim_getLastError();
 *    all else is loaded.
 */
int nnapi_shim_loadEverything(void);

/**
 * Names an operand of a model. Messages name it from then on, beside its index ("operand 3
 * 'image'"), and so do the tools that show the model. Devices do not use names; two operands may
 * have the same.
 *
 * @param model The model to change.
 * @param index The operand.
 * @param name The name in UTF-8; copied. "" removes the name.
 * State: the model is not finished.
 * @return BAD_DATA: an operand that does not exist. BAD_STATE: the model is finished.
 */
int nnapi_shim_setOperandName(ANeuralNetworksModel* model, int32_t index, const char* name);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_H */
