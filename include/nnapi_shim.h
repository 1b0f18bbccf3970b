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
 * Explains the last call on this thread that failed: the rule that was broken, what was given and
 * what is allowed. "" if none has failed; never NULL. The string belongs to the library and is
 * valid until the next failing call on the same thread.
 */
const char* nnapi_shim_getLastError(void);

/** Version of this library, such as "1.0.0"; a string owned by the library. */
const char* nnapi_shim_getVersion(void);

/**
 * The best instruction-set tier that this processor runs: "v4" (AVX-512 with VNNI), "v3" (AVX2, FMA,
 * F16C), "v2" (x86-64-v2), "" for an older one, "portable" on other architectures.
 */
const char* nnapi_shim_getProcessorTier(void);

/**
 * The address of the function that runs programs of the CPU device, as its half in Python has laid them
 * out. For that half, and of no use to others.
 */
uint64_t nnapi_shim_getProgramRunner(void);

/**
 * The address of the function that begins a thread of that half, and waits for its end. Of no use to
 * others, either.
 */
uint64_t nnapi_shim_getHelper(void);

/**
 * Loads now what later calls would load when they first need it: Python, its modules, the devices,
 * their libraries. Takes about half a second. For programs that give up rights afterwards, such as
 * that to open files (seccomp, chroot, no descriptors left): from then on the library opens none,
 * unless a program asks for it (caching, memory of files) or a kernel is missing in the built
 * libraries. A child that is forked afterwards finds everything as well.
 *
 * @return ANEURALNETWORKS_NO_ERROR, or ANEURALNETWORKS_OP_FAILED with the reason in
 *         nnapi_shim_getLastError(); what could be loaded is loaded then.
 */
int nnapi_shim_loadEverything(void);

/**
 * Names an operand of a model that is being built. Messages name it from then on, beside its index
 * ("operand 3 'image'"), and so do the tools that look at the model. Names mean nothing to devices;
 * two operands may have the same.
 *
 * @param model The model, which is not finished.
 * @param index Of the operand, as operations refer to it.
 * @param name  UTF-8, copied; "" takes the name away.
 * @return ANEURALNETWORKS_NO_ERROR; ANEURALNETWORKS_BAD_DATA for an operand that does not exist,
 *         ANEURALNETWORKS_BAD_STATE for a model that is finished, ANEURALNETWORKS_UNEXPECTED_NULL.
 */
int nnapi_shim_setOperandName(ANeuralNetworksModel* model, int32_t index, const char* name);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_H */
