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

/**
 * Returns whether a device knows an extension.
 *
 * @param device The device.
 * @param extensionName Name of the extension.
 * @param isExtensionSupported Receives the answer.
 * Level 3.
 */
int ANeuralNetworksDevice_getExtensionSupport(
    const ANeuralNetworksDevice* device, const char* extensionName, bool* isExtensionSupported);

/**
 * Returns the code of an operand type of an extension, for ANeuralNetworksModel_addOperand(). Every
 * name gets a code; addOperand refuses one that no device knows.
 *
 * @param model Any model.
 * @param extensionName Name of the extension.
 * @param operandCodeWithinExtension Number of the type in the extension.
 * @param type Receives the code, valid in this process.
 * Level 3.
 */
int ANeuralNetworksModel_getExtensionOperandType(
    ANeuralNetworksModel* model, const char* extensionName, uint16_t operandCodeWithinExtension,
    int32_t* type);

/**
 * Returns the code of an operation of an extension, for ANeuralNetworksModel_addOperation(). Every
 * name gets a code; finish of the compilation refuses one that no device knows.
 *
 * @param model Any model.
 * @param extensionName Name of the extension.
 * @param operationCodeWithinExtension Number of the operation in the extension.
 * @param type Receives the code, valid in this process.
 * Level 3.
 */
int ANeuralNetworksModel_getExtensionOperationType(
    ANeuralNetworksModel* model, const char* extensionName, uint16_t operationCodeWithinExtension,
    ANeuralNetworksOperationType* type);

/**
 * Attaches data to an operand of a type of an extension, or removes it (data NULL, length 0).
 *
 * @param model The model to change.
 * @param index The operand.
 * @param data The data; copied.
 * @param length Its size in bytes.
 * State: the model is not finished.
 * @return BAD_DATA: the type of the operand is not of an extension.
 * Level 3.
 */
int ANeuralNetworksModel_setOperandExtensionData(
    ANeuralNetworksModel* model, int32_t index, const void* data, size_t length);

/**
 * Adds an attribute of an extension to a compilation.
 *
 * @param compilation The compilation to change.
 * @param extensionName Name of the extension.
 * @param attributeCodeWithinExtension Number of the attribute in the extension.
 * @param data The value; copied.
 * @param length Its size in bytes.
 * State: the compilation is not finished.
 * @return BAD_STATE: the compilation is finished. BAD_DATA: it is not for exactly one device, or
 *    the attribute was added before.
 * Level: not specified.
 */
int ANeuralNetworksCompilation_addExtensionAttribute(
    ANeuralNetworksCompilation* compilation, const char* extensionName,
    uint16_t attributeCodeWithinExtension, const void* data, size_t length);

/**
 * Adds an attribute of an extension to an execution.
 *
 * @param execution The execution to change.
 * @param extensionName Name of the extension.
 * @param attributeCodeWithinExtension Number of the attribute in the extension.
 * @param data The value; copied.
 * @param length Its size in bytes.
 * State: preparation.
 * @return BAD_DATA: the compilation is not for exactly one device, which is checked before the
 *    state, or the attribute was added before.
 * Level: not specified.
 */
int ANeuralNetworksExecution_addExtensionAttribute(
    ANeuralNetworksExecution* execution, const char* extensionName,
    uint16_t attributeCodeWithinExtension, const void* data, size_t length);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_EXTENSIONS_H */
