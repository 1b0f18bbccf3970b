"""The parameters of each function of the C API: one table for recording, replay and export to C."""

from typing import NamedTuple


class Parameter(NamedTuple):
    """A parameter of a function of the C API.

    kind: how it is recorded.
        handle   an object, by its handle; `of` says of which kind
        made     a variable that takes a new handle; `of` says of which kind
        int      a whole number; `of` is its C type
        float    a number
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


RANGES = {
    "_Bool": (0, 1),
    "uint8_t": (0, (1 << 8) - 1),
    "uint16_t": (0, (1 << 16) - 1),
    "int32_t": (-(1 << 31), (1 << 31) - 1),
    "int": (-(1 << 31), (1 << 31) - 1),
    "uint32_t": (0, (1 << 32) - 1),
    "int64_t": (-(1 << 63), (1 << 63) - 1),
    "uint64_t": (0, (1 << 64) - 1),
    "size_t": (0, (1 << 64) - 1),
}
"""Integer C type -> (minimum, maximum)."""


def _parameters(text: str) -> tuple[Parameter, ...]:
    parameters = []
    for word in text.split():
        name, kind, *of = word.split(":")
        if kind in RANGES:
            kind, of = "int", [kind]
        parameters.append(
            Parameter(name, kind, of[0].replace("_desc", " descriptor") if of else "")
        )
    return tuple(parameters)


_ARGUMENT = "execution:handle:execution index:int32_t type:type"
_BUFFER = f"{_ARGUMENT} buffer:buffer length:size_t"
_REGION = f"{_ARGUMENT} memory:handle:memory offset:size_t length:size_t"
_PREFERRED = "compilation:handle:compilation index:uint32_t"
_ROLE = "desc:handle:memory_desc compilation:handle:compilation index:uint32_t frequency:float"
_LISTS = (
    "inputCount:uint32_t inputs:numbers:inputCount outputCount:uint32_t outputs:numbers:outputCount"
)

PARAMETERS = {
    f"ANeuralNetworks{name}": _parameters(text)
    for name, text in {
        "_getDeviceCount": "numDevices:out:uint32_t",
        "_getDevice": "devIndex:uint32_t device:made:device",
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
        "Model_setOperandValue": (
            "model:handle:model index:int32_t buffer:bytes:length length:size_t"
        ),
        "Model_setOperandSymmPerChannelQuantParams": (
            "model:handle:model index:int32_t channelQuant:scales"
        ),
        "Model_setOperandValueFromMemory": (
            "model:handle:model index:int32_t memory:handle:memory offset:size_t length:size_t"
        ),
        "Model_setOperandValueFromModel": "model:handle:model index:int32_t value:handle:model",
        "Model_addOperation": f"model:handle:model type:int32_t {_LISTS}",
        "Model_identifyInputsAndOutputs": f"model:handle:model {_LISTS}",
        "Model_relaxComputationFloat32toFloat16": "model:handle:model allow:_Bool",
        "Model_getSupportedOperationsForDevices": (
            "model:handle:model devices:handles:numDevices numDevices:uint32_t "
            "supportedOps:outs:_Bool"
        ),
        "Model_getExtensionOperandType": (
            "model:handle:model extensionName:string operandCodeWithinExtension:uint16_t "
            "type:out:int32_t"
        ),
        "Model_getExtensionOperationType": (
            "model:handle:model extensionName:string operationCodeWithinExtension:uint16_t "
            "type:out:int32_t"
        ),
        "Model_setOperandExtensionData": (
            "model:handle:model index:int32_t data:bytes:length length:size_t"
        ),
        "Compilation_create": "model:handle:model compilation:made:compilation",
        "Compilation_createForDevices": (
            "model:handle:model devices:handles:numDevices numDevices:uint32_t "
            "compilation:made:compilation"
        ),
        "Compilation_free": "compilation:handle:compilation",
        "Compilation_finish": "compilation:handle:compilation",
        "Compilation_setPreference": "compilation:handle:compilation preference:int32_t",
        "Compilation_setPriority": "compilation:handle:compilation priority:int",
        "Compilation_setTimeout": "compilation:handle:compilation duration:uint64_t",
        "Compilation_setCaching": "compilation:handle:compilation cacheDir:string token:token",
        "Compilation_addExtensionAttribute": (
            "compilation:handle:compilation extensionName:string "
            "attributeCodeWithinExtension:uint16_t data:bytes:length length:size_t"
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
        "Execution_enableInputAndOutputPadding": "execution:handle:execution enable:_Bool",
        "Execution_setReusable": "execution:handle:execution reusable:_Bool",
        "Execution_setTimeout": "execution:handle:execution duration:uint64_t",
        "Execution_setLoopTimeout": "execution:handle:execution duration:uint64_t",
        "Execution_setMeasureTiming": "execution:handle:execution measure:_Bool",
        "Execution_addExtensionAttribute": (
            "execution:handle:execution extensionName:string "
            "attributeCodeWithinExtension:uint16_t data:bytes:length length:size_t"
        ),
        "Execution_compute": "execution:handle:execution",
        "Execution_burstCompute": "execution:handle:execution burst:handle:burst",
        "Execution_startCompute": "execution:handle:execution event:made:event",
        "Execution_startComputeWithDependencies": (
            "execution:handle:execution dependencies:handles:num_dependencies "
            "num_dependencies:uint32_t duration:uint64_t event:made:event"
        ),
        "Execution_getOutputOperandRank": (
            "execution:handle:execution index:int32_t rank:out:uint32_t"
        ),
        "Execution_getOutputOperandDimensions": (
            "execution:handle:execution index:int32_t dimensions:outs:uint32_t"
        ),
        "Execution_getDuration": (
            "execution:handle:execution durationCode:int32_t duration:out:uint64_t"
        ),
        "Burst_create": "compilation:handle:compilation burst:made:burst",
        "Burst_free": "burst:handle:burst",
        "MemoryDesc_create": "desc:made:memory_desc",
        "MemoryDesc_free": "desc:handle:memory_desc",
        "MemoryDesc_addInputRole": _ROLE,
        "MemoryDesc_addOutputRole": _ROLE,
        "MemoryDesc_setDimensions": "desc:handle:memory_desc rank:uint32_t dimensions:numbers:rank",
        "MemoryDesc_finish": "desc:handle:memory_desc",
        "Memory_createFromFd": "size:size_t protect:int fd:fd offset:size_t memory:made:memory",
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
    "nnapi_shim_setOperandName": _parameters("model:handle:model index:int32_t name:string"),
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
"""Kind of a handle -> C type."""

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
"""Functions in which a program may die: their arguments are recorded before the call."""
