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
 * - ANEURALNETWORKS_BAD_STATE: the object's state forbids the call;
 * - ANEURALNETWORKS_BAD_DATA: an index, type, size or other value is not allowed, or a handle is
 *   none of the right kind.
 *
 * A call that fails changes nothing, with two exceptions: models and compilations whose finish
 * failed can only be freed, and a failed run uses up an execution as a successful one does.
 *
 * "Level n" is the first feature level that has a function; without it, level 1. Different objects
 * may be used from different threads at once. Models and compilations may be shared by threads once
 * they are finished, not while they are modified.
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

/** Creates a memory descriptor without any property. Level 4. */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);

/** Frees a memory descriptor. Memories made from it stay valid. Level 4. */
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);

/**
 * Adds the role of input `index` of a compilation to an unfinished descriptor: an index into the
 * list given to ANeuralNetworksModel_identifyInputsAndOutputs(). frequency, above 0 and at most 1,
 * estimates how often the memory is used in this role. Level 4.
 * BAD_STATE: the descriptor is finished. BAD_DATA: the compilation is not successfully finished,
 * the role was added before, or its type or dimensions contradict what the descriptor has.
 */
int ANeuralNetworksMemoryDesc_addInputRole(
    ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index,
    float frequency);

/**
 * Adds the role of output `index` of a compilation to an unfinished descriptor: an index into the
 * list given to ANeuralNetworksModel_identifyInputsAndOutputs(). frequency, above 0 and at most 1,
 * estimates how often the memory is used in this role. Level 4.
 * BAD_STATE: the descriptor is finished. BAD_DATA: the compilation is not successfully finished,
 * the role was added before, or its type or dimensions contradict what the descriptor has.
 */
int ANeuralNetworksMemoryDesc_addOutputRole(
    ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index,
    float frequency);

/**
 * Sets dimensions of an unfinished descriptor; a rank or dimension of 0 is unknown and is filled
 * in from the roles. Level 4.
 * BAD_DATA: they contradict a role or an earlier call.
 */
int ANeuralNetworksMemoryDesc_setDimensions(
    ANeuralNetworksMemoryDesc* desc, uint32_t rank, const uint32_t* dimensions);

/**
 * Ends the modification of a descriptor. Needs at least one role, else BAD_DATA; the descriptor
 * then stays open. Level 4.
 */
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);

/**
 * Makes a memory that suits the descriptor's roles. It can be used in these roles only, with
 * offset and length 0, and holds nothing until an execution or ANeuralNetworksMemory_copy() has
 * written it. Level 4.
 * BAD_STATE: the descriptor is not finished. OP_FAILED: no device can make such a memory, as when
 * its size is not known.
 */
int ANeuralNetworksMemory_createFromDesc(
    const ANeuralNetworksMemoryDesc* desc, ANeuralNetworksMemory** memory);

/**
 * Copies all bytes from one memory to another and waits for the end. A failure leaves a
 * destination made from a descriptor without content. Level 4.
 * BAD_DATA: the source has no content yet, or sizes, types or dimensions do not match. UNMAPPABLE:
 * one of them cannot be accessed.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);

/** Tells how many devices there are. Level 3. */
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);

/**
 * Gives device number devIndex; always the same handle for the same number. Not to be freed.
 * Level 3.
 */
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);

/** Gives the name of a device: unique, the same in every process, owned by the library. Level 3. */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);

/** Gives the kind of a device, a DeviceTypeCode. Level 3. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);

/** Gives the version of a device's driver, a string owned by the library. Level 3. */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);

/**
 * Gives the highest feature level that a device supports completely, a FeatureLevelCode; never
 * above the runtime's own. Level 3.
 */
int ANeuralNetworksDevice_getFeatureLevel(
    const ANeuralNetworksDevice* device, int64_t* featureLevel);

/** Waits until a device is ready to use. Level 4. */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);

/**
 * Tells for each operation of a finished model, in the order in which they were added, whether at
 * least one of the devices can run it. supportedOps has room for all operations. Level 3.
 * BAD_STATE: the model is not successfully finished. BAD_DATA: no device, or one listed twice.
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps);

/**
 * Creates a compilation that uses the given devices only; a failure on them is not made up for by
 * others. Timeouts, timing and extension attributes need a compilation for exactly one device.
 * Level 3.
 * BAD_STATE: the model is not successfully finished. BAD_DATA: no device, or one listed twice.
 */
int ANeuralNetworksCompilation_createForDevices(
    ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices, uint32_t numDevices,
    ANeuralNetworksCompilation** compilation);

/**
 * Names a directory in which compiled models may be kept, and the 32 bytes that tell this model
 * from others. The directory need not exist: then nothing is kept. Before finish, else BAD_STATE.
 * Level 3.
 * A file is used only if all of it is as this user's library wrote it, for this very model: that is
 * looked at each time. Directory and file must belong to the effective user or to root and let nobody
 * else write; else finish compiles as without a cache, and one line on stderr says why. So it does
 * in a program with raised privileges, silently. Weights stay mapped: do not change the files of a
 * running program.
 */
int ANeuralNetworksCompilation_setCaching(
    ANeuralNetworksCompilation* compilation, const char* cacheDir, const uint8_t* token);

/**
 * Runs an execution and returns when its outputs are written. In the preparation state, or in the
 * completed state if reusable, else BAD_STATE. Level 3.
 * BAD_DATA: an input or output was not set. OP_FAILED: an operation failed.
 * OUTPUT_INSUFFICIENT_SIZE: an output's buffer is too small for the size that was found.
 * UNMAPPABLE: a memory cannot be mapped. MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT: a
 * timeout or loop timeout passed.
 */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);

/**
 * Gives the rank of an output after the latest run. Allowed once that run is completed, with
 * success or with OUTPUT_INSUFFICIENT_SIZE, else BAD_STATE. Level 3.
 * Returns OUTPUT_INSUFFICIENT_SIZE if this output's buffer was too small; the rank is written all
 * the same.
 */
int ANeuralNetworksExecution_getOutputOperandRank(
    ANeuralNetworksExecution* execution, int32_t index, uint32_t* rank);

/**
 * Gives the dimensions of an output after the latest run. Allowed once that run is completed, with
 * success or with OUTPUT_INSUFFICIENT_SIZE, else BAD_STATE. Level 3.
 * Returns OUTPUT_INSUFFICIENT_SIZE if this output's buffer was too small; the dimensions are
 * written all the same. The array has room for as many numbers as the rank says. BAD_DATA: the
 * output is a scalar.
 */
int ANeuralNetworksExecution_getOutputOperandDimensions(
    ANeuralNetworksExecution* execution, int32_t index, uint32_t* dimensions);

/**
 * Creates a burst for a compilation. Level 3.
 * BAD_STATE: the compilation is not successfully finished.
 */
int ANeuralNetworksBurst_create(
    ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst** burst);

/** Frees a burst. Level 3. */
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);

/**
 * As ANeuralNetworksExecution_compute(), in a burst of the same compilation. Level 3.
 * BAD_DATA: burst and execution belong to different compilations. BAD_STATE: also if another
 * execution runs in the burst.
 */
int ANeuralNetworksExecution_burstCompute(
    ANeuralNetworksExecution* execution, ANeuralNetworksBurst* burst);

/**
 * Creates a memory on a hardware buffer, without copying it; the caller keeps the buffer alive.
 * Buffers of BLOB format can be inputs, outputs and constants; of others whole buffers only, on
 * devices that know them. Level 3.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(
    const struct AHardwareBuffer* ahwb, ANeuralNetworksMemory** memory);

/**
 * Asks for the duration of the runs to be measured. In the preparation state, else BAD_STATE.
 * Level 3.
 * BAD_DATA, checked before the state: the compilation is not for exactly one device.
 */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);

/**
 * Gives a span of the latest run in nanoseconds, UINT64_MAX if it is not known. durationCode is a
 * DurationCode. Level 3.
 * BAD_STATE: timing was not asked for, or the run is not completed with success; duration is set
 * to UINT64_MAX.
 */
int ANeuralNetworksExecution_getDuration(
    const ANeuralNetworksExecution* execution, int32_t durationCode, uint64_t* duration);

/**
 * Creates a memory of size bytes at an offset of a file descriptor that can be mapped shared.
 * protect is PROT_READ, PROT_WRITE or both. The descriptor is duplicated, so the caller may close
 * its own. The bytes are not copied: later writes are seen.
 * OP_FAILED: the descriptor cannot be duplicated. Whether it can be mapped shows when it is used,
 * as UNMAPPABLE.
 */
int ANeuralNetworksMemory_createFromFd(
    size_t size, int protect, int fd, size_t offset, ANeuralNetworksMemory** memory);

/**
 * Frees a memory. It must not be in use by an execution that is running, nor be needed by a model
 * any more.
 */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);

/** Creates an empty model. */
int ANeuralNetworksModel_create(ANeuralNetworksModel** model);

/** Frees a model. */
void ANeuralNetworksModel_free(ANeuralNetworksModel* model);

/**
 * Ends the modification of a model and checks the graph as a whole: the order of operations is
 * free, but each operand must be an input, a constant, omitted, or the output of exactly one
 * operation.
 * BAD_STATE: it was finished before, even without success. BAD_DATA: the graph is not valid.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);

/**
 * Adds an operand to an unfinished model; the first has index 0. Dimensions may be unknown (0) and
 * so may the rank (0 dimensions).
 * BAD_DATA: a type that does not exist, dimensions on a scalar, or a scale or zero point that the
 * type does not allow.
 */
int ANeuralNetworksModel_addOperand(
    ANeuralNetworksModel* model, const ANeuralNetworksOperandType* type);

/**
 * Gives an operand of an unfinished model a constant value of exactly its size. Up to 128 bytes
 * are copied; a longer buffer stays in use: it must not change or go away as long as the model
 * exists. NULL with length 0 omits an optional operand.
 * BAD_DATA: the length does not fit, or dimensions of the operand are unknown.
 */
int ANeuralNetworksModel_setOperandValue(
    ANeuralNetworksModel* model, int32_t index, const void* buffer, size_t length);

/**
 * Sets the scales of an operand of type ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, once
 * before finish. They are copied. Level 3.
 * BAD_DATA: another type, a scale that is not positive, or a number of scales other than the
 * dimension's size.
 */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);

/**
 * Gives an operand of an unfinished model a constant value that lies in a memory; good for large
 * tensors, since nothing is copied. The memory must outlive the model, and its content must not
 * change.
 * BAD_DATA: the region is not within the memory or has not the operand's size, or the memory was
 * made from a descriptor.
 */
int ANeuralNetworksModel_setOperandValueFromMemory(
    ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksMemory* memory, size_t offset,
    size_t length);

/**
 * Gives an operand of type ANEURALNETWORKS_MODEL its value, a finished model that must outlive
 * this one. Level 4.
 * BAD_STATE: this model is finished, or the other is not.
 */
int ANeuralNetworksModel_setOperandValueFromModel(
    ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksModel* value);

/**
 * Adds an operation to an unfinished model. Inputs and outputs are indices of operands, in the
 * order that OperationCode shows.
 * BAD_DATA: an operation that does not exist, or a wrong number, type or rank of operands.
 */
int ANeuralNetworksModel_addOperation(
    ANeuralNetworksModel* model, ANeuralNetworksOperationType type, uint32_t inputCount,
    const uint32_t* inputs, uint32_t outputCount, const uint32_t* outputs);

/**
 * Says which operands are the inputs and which the outputs of an unfinished model; executions
 * number them by their place in these lists. At least one of each.
 * BAD_DATA: an operand listed twice, or one with a constant value.
 */
int ANeuralNetworksModel_identifyInputsAndOutputs(
    ANeuralNetworksModel* model, uint32_t inputCount, const uint32_t* inputs, uint32_t outputCount,
    const uint32_t* outputs);

/**
 * Allows 32-bit values to be computed with the range and precision of 16-bit ones; not allowed by
 * default. Before finish, else BAD_STATE. Level 2.
 */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);

/**
 * Creates a compilation of a finished model for whatever devices suit best.
 * BAD_STATE: the model is not successfully finished.
 */
int ANeuralNetworksCompilation_create(
    ANeuralNetworksModel* model, ANeuralNetworksCompilation** compilation);

/** Frees a compilation. Its executions and bursts are to be freed first. */
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);

/** Sets what to optimize for, a PreferenceCode. Before finish, else BAD_STATE. */
int ANeuralNetworksCompilation_setPreference(
    ANeuralNetworksCompilation* compilation, int32_t preference);

/**
 * Compiles. Afterwards executions and bursts can be created.
 * BAD_STATE: it was finished before, even without success. BAD_DATA: no device can run some
 * operation. UNMAPPABLE: a constant's memory cannot be mapped. MISSED_DEADLINE_TRANSIENT,
 * MISSED_DEADLINE_PERSISTENT: the timeout passed.
 */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);

/** Sets the priority of the executions, a PriorityCode. Before finish, else BAD_STATE. Level 4. */
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);

/**
 * Limits the time of ANeuralNetworksCompilation_finish(), in nanoseconds; 0 is no limit. Before
 * finish, else BAD_STATE. Level 4.
 * BAD_DATA: the compilation is not for exactly one device.
 */
int ANeuralNetworksCompilation_setTimeout(
    ANeuralNetworksCompilation* compilation, uint64_t duration);

/**
 * Creates an execution, which can run once unless it is set reusable.
 * BAD_STATE: the compilation is not successfully finished.
 */
int ANeuralNetworksExecution_create(
    ANeuralNetworksCompilation* compilation, ANeuralNetworksExecution** execution);

/**
 * Frees an execution. One whose run has not ended is freed when it has; the run is not cancelled.
 */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);

/**
 * Sets input `index` to a buffer. In the preparation state, else BAD_STATE; each input once, else
 * BAD_STATE. The buffer is read when the execution runs. type may fill in dimensions that the
 * model leaves open, and may be NULL. NULL with length 0 omits an optional input.
 * BAD_DATA: the type contradicts the model, dimensions are still unknown, or the length does not
 * fit.
 */
int ANeuralNetworksExecution_setInput(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const void* buffer, size_t length);

/**
 * Sets input `index` to a region of a memory. In the preparation state, else BAD_STATE; each input
 * once, else BAD_STATE. Offset and length 0 mean all of a memory made from a descriptor. type may
 * fill in dimensions that the model leaves open, and may be NULL.
 * BAD_DATA: the type contradicts the model, dimensions are still unknown, or the length does not
 * fit or is not within the memory; or the memory does not have this role.
 */
int ANeuralNetworksExecution_setInputFromMemory(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory, size_t offset, size_t length);

/**
 * Sets output `index` to a buffer. In the preparation state, else BAD_STATE; each output once,
 * else BAD_STATE. The buffer is written when the execution runs. type may fill in dimensions that
 * the model leaves open, and may be NULL. NULL with length 0 omits an optional output. If the size
 * is unknown before the run, length is the room there is.
 * BAD_DATA: the type contradicts the model, or the length does not fit.
 */
int ANeuralNetworksExecution_setOutput(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    void* buffer, size_t length);

/**
 * Sets output `index` to a region of a memory. In the preparation state, else BAD_STATE; each
 * output once, else BAD_STATE. Offset and length 0 mean all of a memory made from a descriptor.
 * type may fill in dimensions that the model leaves open, and may be NULL. If the size is unknown
 * before the run, length is the room there is.
 * BAD_DATA: the type contradicts the model, or the length does not fit or is not within the
 * memory; or the memory does not have this role.
 */
int ANeuralNetworksExecution_setOutputFromMemory(
    ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory, size_t offset, size_t length);

/**
 * Starts a run and returns at once. States and direct errors as
 * ANeuralNetworksExecution_compute(); errors of the run come from ANeuralNetworksEvent_wait(). The
 * event is to be freed.
 */
int ANeuralNetworksExecution_startCompute(
    ANeuralNetworksExecution* execution, ANeuralNetworksEvent** event);

/**
 * Limits the time of a run, in nanoseconds; 0 is no limit. In the preparation state, else
 * BAD_STATE. Level 4.
 * BAD_DATA, checked before the state: the compilation is not for exactly one device.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/**
 * Limits the time of each WHILE loop, in nanoseconds; more than
 * ANeuralNetworks_getMaximumLoopTimeout() counts as that. In the preparation state, else
 * BAD_STATE. Level 4.
 */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/** Nanoseconds that a WHILE loop may take if nothing is set. Level 4. */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/** Most nanoseconds that a WHILE loop can be allowed. Level 4. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/**
 * Waits for the end of what the event stands for and returns its result. It may be called again,
 * and from several threads, with the same answer.
 */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);

/** Frees an event. The run behind it goes on to its end. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);

/**
 * Creates an event from the descriptor of a sync fence: signalled as soon as it is readable. The
 * descriptor is duplicated, so the caller may close its own. Level 4.
 * BAD_DATA: not a descriptor above 0.
 */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);

/**
 * Gives a new descriptor of the sync fence behind an event, for the caller to close. Level 4.
 * BAD_DATA: there is no fence behind it; sync_fence_fd is set to -1.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);

/**
 * Starts a run that begins when all dependencies are signalled. It may return before or after the
 * end of the run. duration limits the time from then on, in nanoseconds; 0 is no limit. States as
 * ANeuralNetworksExecution_compute(). The event is to be freed. Level 4.
 * BAD_DATA: an output whose size is unknown before the run, or a duration although the compilation
 * is not for exactly one device. OP_FAILED: a fence failed.
 */
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event);

/** Feature level of this library, a FeatureLevelCode. Level 5. */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/**
 * Allows lengths to be longer than the operands; the surplus is neither read nor written. In the
 * preparation state, before any input or output is set, else BAD_STATE. Level 5.
 */
int ANeuralNetworksExecution_enableInputAndOutputPadding(
    ANeuralNetworksExecution* execution, bool enable);

/**
 * Gives the alignment in bytes, a power of two, that suits input `index` best. After a successful
 * finish, else BAD_STATE. Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * Gives the multiple of the length in bytes, a power of two, that suits input `index` best. After
 * a successful finish, else BAD_STATE. Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/**
 * Gives the alignment in bytes, a power of two, that suits output `index` best. After a successful
 * finish, else BAD_STATE. Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);

/**
 * Gives the multiple of the length in bytes, a power of two, that suits output `index` best. After
 * a successful finish, else BAD_STATE. Level 5.
 */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

/**
 * Says whether an execution may run more than once, one run after the other, with the same
 * buffers. In the preparation state, else BAD_STATE. Level 5.
 */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_H */
