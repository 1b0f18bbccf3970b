/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vendor extensions: operand types, operations and attributes beyond the specification, in groups
 * that have a name such as "com.example.extension". Result codes as in NeuralNetworks.h.
 */
#ifndef NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H
#define NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H

#include <stdbool.h>

#include <android/NeuralNetworks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* nnapi_shim: declarations begin */

/** Tells whether a device knows an extension. Level 3. */
int ANeuralNetworksDevice_getExtensionSupport(
    const ANeuralNetworksDevice* device, const char* extensionName, bool* isExtensionSupported);

/**
 * Gives the type code of an extension's operand type, for ANeuralNetworksModel_addOperand(). Any
 * name gets a code; one that no device knows is refused where it is used. Level 3.
 */
int ANeuralNetworksModel_getExtensionOperandType(
    ANeuralNetworksModel* model, const char* extensionName, uint16_t operandCodeWithinExtension,
    int32_t* type);

/** Gives the code of an extension's operation, for ANeuralNetworksModel_addOperation(). Level 3. */
int ANeuralNetworksModel_getExtensionOperationType(
    ANeuralNetworksModel* model, const char* extensionName, uint16_t operationCodeWithinExtension,
    ANeuralNetworksOperationType* type);

/**
 * Attaches data to an operand of an extension type in an unfinished model. The data is copied;
 * NULL with length 0 removes it. Level 3.
 * BAD_DATA: the operand's type is not of an extension.
 */
int ANeuralNetworksModel_setOperandExtensionData(
    ANeuralNetworksModel* model, int32_t index, const void* data, size_t length);

/**
 * Adds an attribute of an extension to the compilation. Before finish, else BAD_STATE. The data is
 * copied.
 * BAD_DATA: the compilation is not for exactly one device, or the attribute was added before.
 */
int ANeuralNetworksCompilation_addExtensionAttribute(
    ANeuralNetworksCompilation* compilation, const char* extensionName,
    uint16_t attributeCodeWithinExtension, const void* data, size_t length);

/**
 * Adds an attribute of an extension to the execution. In the preparation state, else BAD_STATE.
 * The data is copied.
 * BAD_DATA: the compilation is not for exactly one device, which is checked before the state, or
 * the attribute was added before.
 */
int ANeuralNetworksExecution_addExtensionAttribute(
    ANeuralNetworksExecution* execution, const char* extensionName,
    uint16_t attributeCodeWithinExtension, const void* data, size_t length);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H */
