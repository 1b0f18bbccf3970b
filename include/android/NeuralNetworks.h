/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Neural Networks API, feature level 8: models, compilations, executions, memory, devices.
 *
 * A program builds a model (operands, operations, inputs and outputs, finish), compiles it (create,
 * set, finish), and runs it (create an execution, set inputs and outputs, compute). Handles are
 * opaque. Constructors store the new object through their last parameter, or NULL when they fail.
 * Every free function accepts NULL, and an object in any state.
 *
 * Functions that return int give a ResultCode. Checks come in this order, and the comments below
 * name only what is special to a function:
 *
 * - ANEURALNETWORKS_UNEXPECTED_NULL: a pointer is NULL that must not be;
 * - ANEURALNETWORKS_BAD_STATE: the state of the object forbids the call;
 * - ANEURALNETWORKS_BAD_DATA: an index, type, size or other value is not allowed, or a handle is
 *   not one of the right kind.
 *
 * A call that fails changes nothing, with two exceptions: models and compilations whose finish
 * failed can only be freed, and a failed run uses up an execution as a successful one does.
 *
 * The comment of each object, in NeuralNetworksTypes.h, says what holds for all its functions:
 * "State" lists its states, "Lifetime" what has to exist how long, and "Threads" which calls may
 * run at the same time. Calls with different objects may always run at the same time. The comments
 * below name the state in which a function is allowed, and what differs. "Level n" is the first
 * feature level that has a function; without it, level 1.
 */
#ifndef NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_H
#define NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_H

#include <stdbool.h>

#include <android/NeuralNetworksTypes.h>
#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* nnapi_shim: declarations begin */

/** A buffer of android/hardware_buffer.h. */
struct AHardwareBuffer;

/**
 * Creates a memory descriptor without roles and without dimensions.
 *
 * @param desc Receives the new descriptor, or NULL after a failure.
 * Lifetime: until ANeuralNetworksMemoryDesc_free().
 * Level 4.
 */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);

/**
 * Frees a memory descriptor.
 *
 * @param desc The descriptor, in any state; NULL is ignored.
 * Lifetime: memories made from the descriptor stay valid.
 * Threads: no other thread uses the descriptor at the same time.
 * Level 4.
 */
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);

/**
 * Adds the role of an input to a descriptor: memories made from it can be this input of executions
 * of this compilation.
 *
 * @param desc The descriptor to add to.
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the input in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param frequency Estimate of how often the memory is used in this role: above 0, at most 1.
 * State: the descriptor is not finished.
 * @return BAD_STATE: the descriptor is finished. BAD_DATA: the compilation is not successfully
 *    finished, the role was added before, or its type or dimensions contradict those that the
 *    descriptor has.
 * Lifetime: the compilation must outlive the descriptor and the memories made from it.
 * Level 4.
 */
int ANeuralNetworksMemoryDesc_addInputRole(
    ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index,
    float frequency);

/**
 * Adds the role of an output to a descriptor: memories made from it can be this output of
 * executions of this compilation.
 *
 * @param desc The descriptor to add to.
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param frequency Estimate of how often the memory is used in this role: above 0, at most 1.
 * State: the descriptor is not finished.
 * @return BAD_STATE: the descriptor is finished. BAD_DATA: the compilation is not successfully
 *    finished, the role was added before, or its type or dimensions contradict those that the
 *    descriptor has.
 * Lifetime: the compilation must outlive the descriptor and the memories made from it.
 * Level 4.
 */
int ANeuralNetworksMemoryDesc_addOutputRole(
    ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index,
    float frequency);

/**
 * Sets dimensions of a descriptor. They complete those of the roles; it may be called several
 * times.
 *
 * @param desc The descriptor to change.
 * @param rank Number of dimensions; 0 if it is not known.
 * @param dimensions The sizes, 0 where unknown; copied. NULL if rank is 0.
 * State: the descriptor is not finished.
 * @return BAD_DATA: the dimensions contradict a role or an earlier call.
 * Level 4.
 */
int ANeuralNetworksMemoryDesc_setDimensions(
    ANeuralNetworksMemoryDesc* desc, uint32_t rank, const uint32_t* dimensions);

/**
 * Ends the modification of a descriptor.
 *
 * @param desc The descriptor to finish.
 * State: the descriptor is not finished. After a failure it stays open.
 * @return BAD_DATA: the descriptor has no role.
 * Level 4.
 */
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);

/**
 * Creates a memory for the roles of a descriptor, on the device that suits them. It can be used in
 * these roles only, with offset and length 0. It has no content until an execution or
 * ANeuralNetworksMemory_copy() has written it.
 *
 * @param desc A finished descriptor.
 * @param memory Receives the new memory, or NULL after a failure.
 * State: the descriptor is finished.
 * @return BAD_STATE: the descriptor is not finished. OP_FAILED: no device can make such a memory,
 *    for example because its size is not known.
 * Lifetime: until ANeuralNetworksMemory_free(). The descriptor may be freed before.
 * Level 4.
 */
int ANeuralNetworksMemory_createFromDesc(
    const ANeuralNetworksMemoryDesc* desc, ANeuralNetworksMemory** memory);

/**
 * Copies the content of one memory to another, and returns when this is done.
 *
 * @param src The memory to read.
 * @param dst The memory to write.
 * @return BAD_DATA: the source has no content yet, or sizes, types or dimensions do not match.
 *    UNMAPPABLE: one of the memories cannot be accessed. After a failure, a destination made from a
 *    descriptor has no content.
 * Threads: no execution writes src, and no execution uses dst, at the same time.
 * Level 4.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);

/**
 * Returns the number of devices. It is constant in a process.
 *
 * @param numDevices Receives the number.
 * Level 3.
 */
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);

/**
 * Returns a device. The same number always gives the same handle.
 *
 * @param devIndex Number of the device, below the count of ANeuralNetworks_getDeviceCount().
 * @param device Receives the device.
 * Lifetime: the device belongs to the library, lives as long as the process, and is never freed.
 * Level 3.
 */
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);

/**
 * Returns the name of a device, which is unique and the same in every process.
 *
 * @param device The device.
 * @param name Receives the name, in UTF-8.
 * Lifetime: the string belongs to the library and lives as long as the process.
 * Level 3.
 */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);

/**
 * Returns the kind of a device.
 *
 * @param device The device.
 * @param type Receives a DeviceTypeCode.
 * Level 3.
 */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);

/**
 * Returns the version of the driver of a device.
 *
 * @param device The device.
 * @param version Receives the version, in UTF-8.
 * Lifetime: the string belongs to the library and lives as long as the process.
 * Level 3.
 */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);

/**
 * Returns the highest feature level that a device supports completely.
 *
 * @param device The device.
 * @param featureLevel Receives a FeatureLevelCode, at most that of
 *    ANeuralNetworks_getRuntimeFeatureLevel().
 * Level 3.
 */
int ANeuralNetworksDevice_getFeatureLevel(
    const ANeuralNetworksDevice* device, int64_t* featureLevel);

/**
 * Waits until a device is ready for use.
 *
 * @param device The device.
 * @return A code other than NO_ERROR: the device cannot be used.
 * Level 4.
 */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);

/**
 * Returns for each operation of a model whether at least one of the devices can run it.
 *
 * @param model A model that is successfully finished.
 * @param devices The devices, each once.
 * @param numDevices The number of devices, at least 1.
 * @param supportedOps Receives a value for each operation, in the order in which operations were
 *    added.
 * State: the model is finished.
 * @return BAD_STATE: the model is not successfully finished. BAD_DATA: no device, or the same
 *    device twice.
 * Level 3.
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps);

/**
 * Creates a compilation that uses the given devices only; no other device takes over after a
 * failure. Timeouts, timing and attributes of extensions need a compilation for exactly one device.
 *
 * @param model A model that is successfully finished.
 * @param devices The devices, each once.
 * @param numDevices The number of devices, at least 1.
 * @param compilation Receives the new compilation, or NULL after a failure.
 * State: the model is finished.
 * @return BAD_STATE: the model is not successfully finished. BAD_DATA: no device, or the same
 *    device twice.
 * Lifetime: the model must outlive the compilation.
 * Level 3.
 */
int ANeuralNetworksCompilation_createForDevices(
    ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices, uint32_t numDevices,
    ANeuralNetworksCompilation** compilation);

/**
 * Sets a directory for compiled models, and the token that identifies this model in it. If a
 * suitable file is there, finish loads it and does not compile; otherwise finish compiles and
 * writes a file. The directory need not exist; without it nothing is cached.
 *
 * The library uses a file only if its whole content is what the library of this user wrote for this
 * model, which it checks each time. Directory and file must belong to the effective user or to
 * root, and nobody else may write to them. Otherwise finish compiles as without a cache, and one
 * line on stderr gives the reason. A program with raised privileges never caches.
 *
 * @param compilation The compilation to change.
 * @param cacheDir Path of the directory; copied.
 * @param token ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN (32) bytes, different for different models;
 *    copied.
 * State: the compilation is not finished.
 * @return BAD_STATE: the compilation is finished.
 * Lifetime: weights stay mapped from the file, so a running program needs unchanged files.
 * Level 3.
 */
int ANeuralNetworksCompilation_setCaching(
    ANeuralNetworksCompilation* compilation, const char* cacheDir, const uint8_t* token);

/**
 * Runs an execution and returns when its outputs are written.
 *
 * @param execution The execution. All its inputs and outputs are set.
 * State: preparation; or completed, if the execution is reusable. Afterwards: completed, also after
 *    a failure.
 * @return BAD_STATE: another state. BAD_DATA: an input or output is not set. OP_FAILED: an
 *    operation failed. OUTPUT_INSUFFICIENT_SIZE: the buffer of an output is smaller than its size,
 *    which was unknown before the run. UNMAPPABLE: a memory cannot be mapped.
 *    MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT: a timeout or loop timeout passed.
 * Lifetime: buffers and memories of the arguments exist until the call returns.
 * Threads: different executions run at the same time; of two threads that start the same execution,
 *    one gets BAD_STATE.
 * Level 3.
 */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);

/**
 * Returns the rank of an output of the latest run.
 *
 * @param execution The execution.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param rank Receives the rank, 0 for a scalar; also with OUTPUT_INSUFFICIENT_SIZE.
 * State: completed, after a success or OUTPUT_INSUFFICIENT_SIZE.
 * @return BAD_STATE: another state, or the run failed otherwise. OUTPUT_INSUFFICIENT_SIZE: the
 *    buffer of this output was too small.
 * Level 3.
 */
int ANeuralNetworksExecution_getOutputOperandRank(
    ANeuralNetworksExecution* execution, int32_t index, uint32_t* rank);

/**
 * Returns the dimensions of an output of the latest run.
 *
 * @param execution The execution.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param dimensions Receives as many sizes as ANeuralNetworksExecution_getOutputOperandRank() says;
 *    also with OUTPUT_INSUFFICIENT_SIZE.
 * State: completed, after a success or OUTPUT_INSUFFICIENT_SIZE.
 * @return BAD_STATE: another state, or the run failed otherwise. BAD_DATA: the output is a scalar.
 *    OUTPUT_INSUFFICIENT_SIZE: the buffer of this output was too small.
 * Level 3.
 */
int ANeuralNetworksExecution_getOutputOperandDimensions(
    ANeuralNetworksExecution* execution, int32_t index, uint32_t* dimensions);

/**
 * Creates a burst for executions of a compilation.
 *
 * @param compilation A compilation that is successfully finished.
 * @param burst Receives the new burst, or NULL after a failure.
 * State: the compilation is finished.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Lifetime: the compilation must outlive the burst.
 * Level 3.
 */
int ANeuralNetworksBurst_create(
    ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst** burst);

/**
 * Frees a burst.
 *
 * @param burst The burst; NULL is ignored.
 * Lifetime: executions and memories that ran in the burst stay valid; they may also be freed before
 *    it.
 * Threads: no other thread uses the burst at the same time.
 * Level 3.
 */
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);

/**
 * Runs an execution in a burst and returns when its outputs are written, as
 * ANeuralNetworksExecution_compute() does.
 *
 * @param execution The execution. All its inputs and outputs are set.
 * @param burst A burst of the same compilation.
 * State: preparation; or completed, if the execution is reusable. Afterwards: completed, also after
 *    a failure.
 * @return As ANeuralNetworksExecution_compute(). BAD_DATA: burst and execution belong to different
 *    compilations. BAD_STATE: the burst runs another execution. After these two the execution can
 *    still be run.
 * Lifetime: buffers and memories of the arguments exist until the call returns.
 * Threads: a burst runs one execution at a time; use a burst for each thread.
 * Level 3.
 */
int ANeuralNetworksExecution_burstCompute(
    ANeuralNetworksExecution* execution, ANeuralNetworksBurst* burst);

/**
 * Creates a memory on a hardware buffer, without a copy. Buffers of the format BLOB can be inputs,
 * outputs and constants. Other formats can be used as whole buffers, on devices that know them.
 *
 * @param ahwb The hardware buffer.
 * @param memory Receives the new memory, or NULL after a failure.
 * Lifetime: the caller keeps the buffer until the memory is freed and no model or execution uses
 *    it.
 * Level 3.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(
    const struct AHardwareBuffer* ahwb, ANeuralNetworksMemory** memory);

/**
 * Sets whether the duration of runs is measured. Off by default.
 *
 * @param execution The execution to change.
 * @param measure Whether to measure.
 * State: preparation.
 * @return BAD_DATA, checked before the state: the compilation is not for exactly one device.
 * Level 3.
 */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);

/**
 * Returns a duration of the latest run in nanoseconds.
 *
 * @param execution The execution.
 * @param durationCode A DurationCode.
 * @param duration Receives the duration; UINT64_MAX if the device does not report it, and after a
 *    failure.
 * State: completed with success.
 * @return BAD_STATE: another state, the run failed, or it was not measured.
 * Level 3.
 */
int ANeuralNetworksExecution_getDuration(
    const ANeuralNetworksExecution* execution, int32_t durationCode, uint64_t* duration);

/**
 * Creates a memory on a file descriptor that can be mapped, without a copy: what the program writes
 * later, later runs read.
 *
 * @param size Size in bytes.
 * @param protect PROT_READ, PROT_WRITE or both. Outputs need PROT_WRITE.
 * @param fd The file descriptor; duplicated, so the caller may close it.
 * @param offset Position of the first byte in the file. It need not be a multiple of the page size.
 * @param memory Receives the new memory, or NULL after a failure.
 * @return OP_FAILED: the descriptor cannot be duplicated. A descriptor that cannot be mapped is
 *    reported at its first use, as UNMAPPABLE.
 * Lifetime: until ANeuralNetworksMemory_free().
 */
int ANeuralNetworksMemory_createFromFd(
    size_t size, int protect, int fd, size_t offset, ANeuralNetworksMemory** memory);

/**
 * Frees a memory.
 *
 * @param memory The memory; NULL is ignored.
 * Lifetime: no run uses the memory, and no model that has constants in it is needed any longer.
 * Threads: no other thread uses the memory at the same time.
 */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);

/**
 * Creates an empty model.
 *
 * @param model Receives the new model.
 * Lifetime: until ANeuralNetworksModel_free().
 */
int ANeuralNetworksModel_create(ANeuralNetworksModel** model);

/**
 * Frees a model.
 *
 * @param model The model, in any state; NULL is ignored.
 * Lifetime: its compilations, and models that refer to it, are freed before.
 * Threads: no other thread uses the model at the same time.
 */
void ANeuralNetworksModel_free(ANeuralNetworksModel* model);

/**
 * Ends the modification of a model and checks the graph as a whole. Operations may have been added
 * in any order, but each operand must be an input, a constant, omitted, or the output of exactly
 * one operation.
 *
 * @param model The model to finish.
 * State: the model is not finished. Afterwards: finished; or invalid after a failure, so that it
 *    can only be freed.
 * @return BAD_STATE: it was finished before, even without success. BAD_DATA: the graph is not
 *    valid.
 * Threads: no other thread uses the model at the same time.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);

/**
 * Adds an operand to a model. The first operand has index 0.
 *
 * @param model The model to change.
 * @param type Type, dimensions, scale and zero point of the operand; copied. Sizes may be unknown
 *    (0), and so may the rank (0 dimensions).
 * State: the model is not finished.
 * @return BAD_DATA: a type that does not exist, dimensions of a scalar, or a scale or zero point
 *    that the type does not allow.
 */
int ANeuralNetworksModel_addOperand(
    ANeuralNetworksModel* model, const ANeuralNetworksOperandType* type);

/**
 * Sets the constant value of an operand, or omits an optional operand (buffer NULL, length 0). The
 * last call for an operand counts.
 *
 * @param model The model to change.
 * @param index The operand.
 * @param buffer The value; up to ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES (128) bytes
 *    are copied now.
 * @param length The size of the operand in bytes.
 * State: the model is not finished.
 * @return BAD_DATA: the length is not the size of the operand, or its dimensions are not all known.
 * Lifetime: a buffer of more than 128 bytes must exist, unchanged, as long as the model. This
 *    library reads it in finish and needs it no longer; NNAPI_SHIM_LINT=1 reports a buffer that
 *    changes before.
 */
int ANeuralNetworksModel_setOperandValue(
    ANeuralNetworksModel* model, int32_t index, const void* buffer, size_t length);

/**
 * Sets the scales of an operand of the type ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL. Such an
 * operand needs them before finish.
 *
 * @param model The model to change.
 * @param index The operand.
 * @param channelQuant Dimension and scales; copied.
 * State: the model is not finished.
 * @return BAD_DATA: another type, a scale that is not above 0, or a number of scales that is not
 *    the size of the dimension.
 * Level 3.
 */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);

/**
 * Sets the constant value of an operand to a region of a memory. Nothing is copied, which suits
 * large tensors.
 *
 * @param model The model to change.
 * @param index The operand.
 * @param memory The memory, not one made from a descriptor.
 * @param offset First byte of the region.
 * @param length The size of the operand in bytes.
 * State: the model is not finished.
 * @return BAD_DATA: the region is not within the memory or does not have the size of the operand,
 *    or the memory was made from a descriptor.
 * Lifetime: the memory exists, with unchanged content, as long as the model and its compilations.
 */
int ANeuralNetworksModel_setOperandValueFromMemory(
    ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksMemory* memory, size_t offset,
    size_t length);

/**
 * Sets the value of an operand of the type ANEURALNETWORKS_MODEL: a condition, body or branch for
 * WHILE and IF.
 *
 * @param model The model to change.
 * @param index The operand.
 * @param value A model that is successfully finished; it may be the value of several operands.
 * State: the model is not finished.
 * @return BAD_STATE: the model is finished, or the value is not.
 * Lifetime: the value must outlive the model.
 * Threads: other threads may use the value at the same time, as it is finished.
 * Level 4.
 */
int ANeuralNetworksModel_setOperandValueFromModel(
    ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksModel* value);

/**
 * Adds an operation to a model. Operations can be added in any order.
 *
 * @param model The model to change.
 * @param type An OperationCode, or the code of an operation of an extension.
 * @param inputCount Number of inputs, at least 1.
 * @param inputs Indexes of the input operands, in the order that OperationCode shows; copied.
 * @param outputCount Number of outputs, at least 1.
 * @param outputs Indexes of the output operands; copied.
 * State: the model is not finished.
 * @return BAD_DATA: an operation that does not exist, or a wrong number, type or rank of operands.
 */
int ANeuralNetworksModel_addOperation(
    ANeuralNetworksModel* model, ANeuralNetworksOperationType type, uint32_t inputCount,
    const uint32_t* inputs, uint32_t outputCount, const uint32_t* outputs);

/**
 * Sets the inputs and outputs of a model. Executions number them by their position in these lists.
 *
 * @param model The model to change.
 * @param inputCount Number of inputs, at least 1.
 * @param inputs Indexes of the input operands; copied.
 * @param outputCount Number of outputs, at least 1.
 * @param outputs Indexes of the output operands; copied.
 * State: the model is not finished.
 * @return BAD_DATA: the same operand twice, or an operand with a constant value.
 */
int ANeuralNetworksModel_identifyInputsAndOutputs(
    ANeuralNetworksModel* model, uint32_t inputCount, const uint32_t* inputs, uint32_t outputCount,
    const uint32_t* outputs);

/**
 * Sets whether float32 may be computed with the range and precision of float16. Not allowed by
 * default.
 *
 * @param model The model to change.
 * @param allow Whether it is allowed.
 * State: the model is not finished.
 * Level 2.
 */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);

/**
 * Creates a compilation for which the library chooses the devices.
 *
 * @param model A model that is successfully finished.
 * @param compilation Receives the new compilation, or NULL after a failure.
 * State: the model is finished.
 * @return BAD_STATE: the model is not successfully finished.
 * Lifetime: the model must outlive the compilation.
 * Threads: other threads may use the model at the same time; a model can have several compilations.
 */
int ANeuralNetworksCompilation_create(
    ANeuralNetworksModel* model, ANeuralNetworksCompilation** compilation);

/**
 * Frees a compilation.
 *
 * @param compilation The compilation, in any state; NULL is ignored.
 * Lifetime: its executions, bursts and memory descriptors are freed before.
 * Threads: no other thread uses the compilation at the same time.
 */
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);

/**
 * Sets what to optimize for. The default is ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER.
 *
 * @param compilation The compilation to change.
 * @param preference A PreferenceCode.
 * State: the compilation is not finished.
 * @return BAD_STATE: the compilation is finished.
 */
int ANeuralNetworksCompilation_setPreference(
    ANeuralNetworksCompilation* compilation, int32_t preference);

/**
 * Compiles the model. Afterwards executions and bursts can be created.
 *
 * @param compilation The compilation to finish.
 * State: the compilation is not finished. Afterwards: finished; or failed, so that it can only be
 *    freed.
 * @return BAD_STATE: it was finished before, even without success. BAD_DATA: no device can run some
 *    operation. UNMAPPABLE: the memory of a constant cannot be mapped. MISSED_DEADLINE_TRANSIENT,
 *    MISSED_DEADLINE_PERSISTENT: the timeout passed.
 * Threads: no other thread uses the compilation at the same time.
 */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);

/**
 * Sets the priority of the executions of a compilation among those of this program.
 *
 * @param compilation The compilation to change.
 * @param priority A PriorityCode.
 * State: the compilation is not finished.
 * @return BAD_STATE: the compilation is finished.
 * Level 4.
 */
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);

/**
 * Sets a time limit of ANeuralNetworksCompilation_finish().
 *
 * @param compilation The compilation to change.
 * @param duration Nanoseconds; 0 for no limit.
 * State: the compilation is not finished.
 * @return BAD_STATE: the compilation is finished. BAD_DATA: it is not for exactly one device.
 * Level 4.
 */
int ANeuralNetworksCompilation_setTimeout(
    ANeuralNetworksCompilation* compilation, uint64_t duration);

/**
 * Creates an execution. It can run once, unless it is set reusable.
 *
 * @param compilation A compilation that is successfully finished.
 * @param execution Receives the new execution, or NULL after a failure.
 * State: the compilation is finished. The execution begins in preparation.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Lifetime: the compilation must outlive the execution.
 * Threads: other threads may use the compilation at the same time; a compilation can have several
 *    executions, which run at the same time.
 */
int ANeuralNetworksExecution_create(
    ANeuralNetworksCompilation* compilation, ANeuralNetworksExecution** execution);

/**
 * Frees an execution. A run that has not ended is not cancelled; the execution is freed at its end.
 *
 * @param execution The execution, in any state; NULL is ignored.
 * Lifetime: buffers and memories of a run that has not ended must exist until its end.
 * Threads: no other thread uses the execution at the same time.
 */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);

/**
 * Sets an input to a buffer, or omits an optional input (buffer NULL, length 0). An input is set
 * once.
 *
 * @param execution The execution to change.
 * @param index Position of the input in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param type NULL, or a type whose dimensions complete those that the model leaves open; copied.
 * @param buffer The content, which each run reads.
 * @param length Size of the buffer in bytes: that of the operand, or more if padding is enabled.
 * State: preparation.
 * @return BAD_STATE: another state, or the input is set already. BAD_DATA: the type contradicts the
 *    model, dimensions are still unknown, or the length does not fit.
 * Lifetime: the buffer exists, unchanged during a run, until the last run has ended.
 */
int ANeuralNetworksExecution_setInput(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const void* buffer, size_t length);

/**
 * Sets an input to a region of a memory. An input is set once. Offset and length 0 mean all of a
 * memory made from a descriptor.
 *
 * @param execution The execution to change.
 * @param index Position of the input in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param type NULL, or a type whose dimensions complete those that the model leaves open; copied.
 * @param memory The memory, which each run reads. One made from a descriptor has this input as a
 *    role.
 * @param offset First byte of the region.
 * @param length Size of the region in bytes.
 * State: preparation.
 * @return BAD_STATE: another state, or the input is set already. BAD_DATA: the type contradicts the
 *    model, dimensions are still unknown, the length does not fit or is not within the memory, or
 *    the memory does not have this role.
 * Lifetime: the memory exists until the last run has ended.
 */
int ANeuralNetworksExecution_setInputFromMemory(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory, size_t offset, size_t length);

/**
 * Sets an output to a buffer, or omits an optional output (buffer NULL, length 0). An output is set
 * once.
 *
 * @param execution The execution to change.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param type NULL, or a type whose dimensions complete those that the model leaves open; copied.
 * @param buffer The place for the result, which each run writes.
 * @param length Size of the buffer in bytes: that of the operand, more if padding is enabled, or
 *    the available room if the size is unknown before the run.
 * State: preparation.
 * @return BAD_STATE: another state, or the output is set already. BAD_DATA: the type contradicts
 *    the model, or the length does not fit.
 * Lifetime: the buffer exists until the last run has ended; until then its content is undefined.
 */
int ANeuralNetworksExecution_setOutput(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    void* buffer, size_t length);

/**
 * Sets an output to a region of a memory. An output is set once. Offset and length 0 mean all of a
 * memory made from a descriptor.
 *
 * @param execution The execution to change.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param type NULL, or a type whose dimensions complete those that the model leaves open; copied.
 * @param memory The memory, which each run writes. One made from a descriptor has this output as a
 *    role.
 * @param offset First byte of the region.
 * @param length Size of the region in bytes, or the available room if the size is unknown before
 *    the run.
 * State: preparation.
 * @return BAD_STATE: another state, or the output is set already. BAD_DATA: the type contradicts
 *    the model, the length does not fit or is not within the memory, or the memory does not have
 *    this role.
 * Lifetime: the memory exists until the last run has ended; until then its content is undefined.
 */
int ANeuralNetworksExecution_setOutputFromMemory(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory, size_t offset, size_t length);

/**
 * Starts a run on another thread and returns at once. An event is signalled at the end of the run.
 *
 * @param execution The execution. All its inputs and outputs are set.
 * @param event Receives a new event, or NULL after a failure.
 * State: preparation; or completed, if the execution is reusable. It is in computation until the
 *    end of the run.
 * @return BAD_STATE: another state. BAD_DATA: an input or output is not set. Errors of the run are
 *    results of ANeuralNetworksEvent_wait().
 * Lifetime: buffers and memories of the arguments exist until the end of the run. The event is to
 *    be freed.
 * Threads: as ANeuralNetworksExecution_compute().
 */
int ANeuralNetworksExecution_startCompute(
    ANeuralNetworksExecution* execution, ANeuralNetworksEvent** event);

/**
 * Sets a time limit of each run.
 *
 * @param execution The execution to change.
 * @param duration Nanoseconds; 0 for no limit.
 * State: preparation.
 * @return BAD_DATA, checked before the state: the compilation is not for exactly one device.
 * Level 4.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/**
 * Sets a time limit of each WHILE loop. Without it, the limit is
 * ANeuralNetworks_getDefaultLoopTimeout().
 *
 * @param execution The execution to change.
 * @param duration Nanoseconds; more than ANeuralNetworks_getMaximumLoopTimeout() counts as that.
 * State: preparation.
 * @return BAD_STATE: another state.
 * Level 4.
 */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/**
 * Returns the nanoseconds that a WHILE loop may take if no limit is set: 2 seconds.
 *
 * Level 4.
 */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/**
 * Returns the highest limit of a WHILE loop in nanoseconds: 15 seconds.
 *
 * Level 4.
 */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/**
 * Waits until the run of an event has ended, or its fence is signalled, and returns the result.
 * Every call for the same event returns the same.
 *
 * @param event The event.
 * @return The result of the run. OP_FAILED: the run failed with another code than BAD_DATA,
 *    OUTPUT_INSUFFICIENT_SIZE, MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT,
 *    RESOURCE_EXHAUSTED_TRANSIENT, RESOURCE_EXHAUSTED_PERSISTENT or UNAVAILABLE_DEVICE, or the
 *    fence is in an error state.
 * Threads: several threads may wait for an event at the same time.
 */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);

/**
 * Frees an event. It waits for the end of the run or the signal of the fence.
 *
 * @param event The event; NULL is ignored.
 * Threads: no other thread uses the event at the same time.
 */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);

/**
 * Creates an event from the descriptor of a sync fence, which is signalled as soon as it is
 * readable. On desktop Linux an eventfd or a pipe serves as a fence.
 *
 * @param sync_fence_fd The file descriptor, above 0; duplicated, so the caller may close it.
 * @param event Receives the new event, or NULL after a failure.
 * @return BAD_DATA: no open descriptor above 0.
 * Lifetime: until ANeuralNetworksEvent_free().
 * Level 4.
 */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);

/**
 * Returns a new descriptor of the sync fence of an event. Events of
 * ANeuralNetworksEvent_createFromSyncFenceFd() have a fence, those of
 * ANeuralNetworksExecution_startComputeWithDependencies() on devices that return fences, others
 * none.
 *
 * @param event The event.
 * @param sync_fence_fd Receives the descriptor, -1 after a failure.
 * @return BAD_DATA: the event has no fence.
 * Lifetime: the caller closes the descriptor.
 * Level 4.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);

/**
 * Starts a run that begins when all dependencies are signalled. It may return before or after the
 * end of the run.
 *
 * @param execution The execution. All its inputs and outputs are set, and all sizes are known.
 * @param dependencies Events of other executions or of fences; NULL if num_dependencies is 0.
 * @param num_dependencies Number of dependencies.
 * @param duration Time limit in nanoseconds from the moment at which the dependencies are
 *    signalled; 0 for none.
 * @param event Receives a new event, or NULL after a failure.
 * State: preparation; or completed, if the execution is reusable. It is in computation until a wait
 *    for the event has returned or the event is freed.
 * @return BAD_STATE: another state. BAD_DATA: an argument is not set, the size of an output is
 *    unknown before the run, or a duration is given and the compilation is not for exactly one
 *    device. OP_FAILED: a fence is in an error state. On nnapi-cpu and nnapi-reference the call
 *    also returns errors of the run, since it returns after its end.
 * Lifetime: buffers and memories of the arguments exist until the end of the run. Dependencies may
 *    be freed when the call has returned. The event is to be freed.
 * Threads: as ANeuralNetworksExecution_compute().
 * Level 4.
 */
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event);

/**
 * Returns the feature level of this library, a FeatureLevelCode.
 *
 * Level 5.
 */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/**
 * Sets whether buffers and regions may be longer than their operands. The surplus is neither read
 * nor written.
 *
 * @param execution The execution to change.
 * @param enable Whether they may be longer.
 * State: preparation, before an input or output is set.
 * @return BAD_STATE: another state, or an input or output is set already.
 * Level 5.
 */
int ANeuralNetworksExecution_enableInputAndOutputPadding(
    ANeuralNetworksExecution* execution, bool enable);

/**
 * Returns the alignment of an input with which the devices need no copy.
 *
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the input in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param alignment Receives the alignment in bytes, a power of two.
 * State: the compilation is finished.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * Returns the padding of an input with which the devices need no copy: the length is a multiple of
 * it.
 *
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the input in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param padding Receives the padding in bytes, a power of two.
 * State: the compilation is finished.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/**
 * Returns the alignment of an output with which the devices need no copy.
 *
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param alignment Receives the alignment in bytes, a power of two.
 * State: the compilation is finished.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * Returns the padding of an output with which the devices need no copy: the length is a multiple of
 * it.
 *
 * @param compilation A compilation that is successfully finished.
 * @param index Position of the output in the list of
 *    ANeuralNetworksModel_identifyInputsAndOutputs().
 * @param padding Receives the padding in bytes, a power of two.
 * State: the compilation is finished.
 * @return BAD_STATE: the compilation is not successfully finished.
 * Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/**
 * Sets whether an execution may run more than once, one run after the other, with the same buffers.
 * Off by default.
 *
 * @param execution The execution to change.
 * @param reusable Whether it may.
 * State: preparation.
 * @return BAD_STATE: another state.
 * Level 5.
 */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_H */
