"""What the arguments of each function of the C API are: one table, from which calls are recorded,
repeated and written as source.
"""

from typing import NamedTuple


class Parameter(NamedTuple):
    """A parameter of a function of the C API.

    kind: how it is recorded.
        handle   an object, by its handle; `of` says of which kind
        made     a variable that takes a new handle; `of` says of which kind
        int      a number
        fd       a file descriptor
        string   a text
        type     an ANeuralNetworksOperandType, or NULL
        scales   an ANeuralNetworksSymmPerChannelQuantParams
        numbers  an array of uint32_t; its length is the parameter `of`
        handles  an array of handles; its length is the parameter `of`
        bytes    contents; their length is the parameter `of`
        token    the 32 bytes of a cache token
        buffer   memory of an argument, as a number; contents are recorded with computations
        out      a variable that takes a number; `of` is its C type
        text     a variable that takes a text
        outs     an array that takes numbers; `of` is the C type of one
        foreign  an object of another library
    """

    name: str
    kind: str
    of: str = ""


def _parameters(text: str) -> tuple[Parameter, ...]:
    parameters = []
    for word in text.split():
        name, kind, *of = word.split(":")
        parameters.append(
            Parameter(name, kind, of[0].replace("_desc", " descriptor") if of else "")
        )
    return tuple(parameters)


_ARGUMENT = "execution:handle:execution index:int type:type"
_BUFFER = f"{_ARGUMENT} buffer:buffer length:int"
_REGION = f"{_ARGUMENT} memory:handle:memory offset:int length:int"
_PREFERRED = "compilation:handle:compilation index:int"
_ROLE = "desc:handle:memory_desc compilation:handle:compilation index:int frequency:int"
_LISTS = "inputCount:int inputs:numbers:inputCount outputCount:int outputs:numbers:outputCount"

PARAMETERS = {
    f"ANeuralNetworks{name}": _parameters(text)
    for name, text in {
        "_getDeviceCount": "numDevices:out:uint32_t",
        "_getDevice": "devIndex:int device:made:device",
        "Device_getName": "device:handle:device name:text",
        "Device_getType": "device:handle:device type:out:int32_t",
        "Device_getVersion": "device:handle:device version:text",
        "Device_getFeatureLevel": "device:handle:device featureLevel:out:int64_t",
        "Device_wait": "device:handle:device",
        "Device_getExtensionSupport": (
            "device:handle:device extensionName:string isExtensionSupported:out:_Bool"
        ),
        "Model_create": "model:made:model",
        "Model_free": "model:handle:model",
        "Model_finish": "model:handle:model",
        "Model_addOperand": "model:handle:model type:type",
        "Model_setOperandValue": "model:handle:model index:int buffer:bytes:length length:int",
        "Model_setOperandSymmPerChannelQuantParams": (
            "model:handle:model index:int channelQuant:scales"
        ),
        "Model_setOperandValueFromMemory": (
            "model:handle:model index:int memory:handle:memory offset:int length:int"
        ),
        "Model_setOperandValueFromModel": "model:handle:model index:int value:handle:model",
        "Model_addOperation": f"model:handle:model type:int {_LISTS}",
        "Model_identifyInputsAndOutputs": f"model:handle:model {_LISTS}",
        "Model_relaxComputationFloat32toFloat16": "model:handle:model allow:int",
        "Model_getSupportedOperationsForDevices": (
            "model:handle:model devices:handles:numDevices numDevices:int supportedOps:outs:_Bool"
        ),
        "Model_getExtensionOperandType": (
            "model:handle:model extensionName:string operandCodeWithinExtension:int "
            "type:out:int32_t"
        ),
        "Model_getExtensionOperationType": (
            "model:handle:model extensionName:string operationCodeWithinExtension:int "
            "type:out:int32_t"
        ),
        "Model_setOperandExtensionData": (
            "model:handle:model index:int data:bytes:length length:int"
        ),
        "Compilation_create": "model:handle:model compilation:made:compilation",
        "Compilation_createForDevices": (
            "model:handle:model devices:handles:numDevices numDevices:int "
            "compilation:made:compilation"
        ),
        "Compilation_free": "compilation:handle:compilation",
        "Compilation_finish": "compilation:handle:compilation",
        "Compilation_setPreference": "compilation:handle:compilation preference:int",
        "Compilation_setPriority": "compilation:handle:compilation priority:int",
        "Compilation_setTimeout": "compilation:handle:compilation duration:int",
        "Compilation_setCaching": "compilation:handle:compilation cacheDir:string token:token",
        "Compilation_addExtensionAttribute": (
            "compilation:handle:compilation extensionName:string "
            "attributeCodeWithinExtension:int data:bytes:length length:int"
        ),
        "Compilation_getPreferredMemoryAlignmentForInput": f"{_PREFERRED} alignment:out:uint32_t",
        "Compilation_getPreferredMemoryPaddingForInput": f"{_PREFERRED} padding:out:uint32_t",
        "Compilation_getPreferredMemoryAlignmentForOutput": f"{_PREFERRED} alignment:out:uint32_t",
        "Compilation_getPreferredMemoryPaddingForOutput": f"{_PREFERRED} padding:out:uint32_t",
        "Execution_create": "compilation:handle:compilation execution:made:execution",
        "Execution_free": "execution:handle:execution",
        "Execution_setInput": _BUFFER,
        "Execution_setInputFromMemory": _REGION,
        "Execution_setOutput": _BUFFER,
        "Execution_setOutputFromMemory": _REGION,
        "Execution_enableInputAndOutputPadding": "execution:handle:execution enable:int",
        "Execution_setReusable": "execution:handle:execution reusable:int",
        "Execution_setTimeout": "execution:handle:execution duration:int",
        "Execution_setLoopTimeout": "execution:handle:execution duration:int",
        "Execution_setMeasureTiming": "execution:handle:execution measure:int",
        "Execution_addExtensionAttribute": (
            "execution:handle:execution extensionName:string "
            "attributeCodeWithinExtension:int data:bytes:length length:int"
        ),
        "Execution_compute": "execution:handle:execution",
        "Execution_burstCompute": "execution:handle:execution burst:handle:burst",
        "Execution_startCompute": "execution:handle:execution event:made:event",
        "Execution_startComputeWithDependencies": (
            "execution:handle:execution dependencies:handles:num_dependencies "
            "num_dependencies:int duration:int event:made:event"
        ),
        "Execution_getOutputOperandRank": "execution:handle:execution index:int rank:out:uint32_t",
        "Execution_getOutputOperandDimensions": (
            "execution:handle:execution index:int dimensions:outs:uint32_t"
        ),
        "Execution_getDuration": (
            "execution:handle:execution durationCode:int duration:out:uint64_t"
        ),
        "Burst_create": "compilation:handle:compilation burst:made:burst",
        "Burst_free": "burst:handle:burst",
        "MemoryDesc_create": "desc:made:memory_desc",
        "MemoryDesc_free": "desc:handle:memory_desc",
        "MemoryDesc_addInputRole": _ROLE,
        "MemoryDesc_addOutputRole": _ROLE,
        "MemoryDesc_setDimensions": "desc:handle:memory_desc rank:int dimensions:numbers:rank",
        "MemoryDesc_finish": "desc:handle:memory_desc",
        "Memory_createFromFd": "size:int protect:int fd:fd offset:int memory:made:memory",
        "Memory_createFromAHardwareBuffer": "ahwb:foreign memory:made:memory",
        "Memory_createFromDesc": "desc:handle:memory_desc memory:made:memory",
        "Memory_copy": "src:handle:memory dst:handle:memory",
        "Memory_free": "memory:handle:memory",
        "Event_wait": "event:handle:event",
        "Event_free": "event:handle:event",
        "Event_createFromSyncFenceFd": "sync_fence_fd:fd event:made:event",
        "Event_getSyncFenceFd": "event:handle:event sync_fence_fd:out:int",
    }.items()
} | {
    "nnapi_shim_loadEverything": (),
    "nnapi_shim_setOperandName": _parameters("model:handle:model index:int name:string"),
}
"""Function -> its parameters, in their order."""

C_TYPES = {
    "device": "ANeuralNetworksDevice",
    "model": "ANeuralNetworksModel",
    "compilation": "ANeuralNetworksCompilation",
    "execution": "ANeuralNetworksExecution",
    "burst": "ANeuralNetworksBurst",
    "memory": "ANeuralNetworksMemory",
    "memory descriptor": "ANeuralNetworksMemoryDesc",
    "event": "ANeuralNetworksEvent",
}
"""Kind of a handle -> the C type that it points to."""

RUNS = frozenset(
    f"ANeuralNetworksExecution_{name}"
    for name in ("compute", "burstCompute", "startCompute", "startComputeWithDependencies")
)
"""Functions that begin a computation."""

LONG = RUNS | {
    "ANeuralNetworksModel_finish",
    "ANeuralNetworksCompilation_finish",
    "ANeuralNetworksEvent_wait",
    "ANeuralNetworksEvent_free",
    "ANeuralNetworksMemory_copy",
}
"""Functions that a program may die in: what they are given is recorded before they begin."""
