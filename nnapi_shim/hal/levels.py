"""What each Android version added: its feature level, and its functions.

A test compares the functions with the specification.
"""

from nnapi_shim.hal.enums import FeatureLevel
from nnapi_shim.hints import NamedTuple

API_LEVELS = {1: 27, 2: 28, 3: 29, 4: 30, 5: 31}
"""Feature level -> the API level that it belongs to; later ones belong to none."""


class AndroidVersion(NamedTuple):
    """A version of Android.

    feature_level: 1 to 8, of its NNAPI runtime. Up to 5 it follows from the API level. Later
        runtimes are updated apart from Android; from 13 on, the newest one is assumed.
    """

    api_level: int
    feature_level: int


ANDROID = {
    "8.1": AndroidVersion(27, 1),
    "9": AndroidVersion(28, 2),
    "10": AndroidVersion(29, 3),
    "11": AndroidVersion(30, 4),
    "12": AndroidVersion(31, 5),
    "13": AndroidVersion(33, 8),
    "14": AndroidVersion(34, 8),
    "15": AndroidVersion(35, 8),
}
"""Versions with NNAPI, by their number."""

_FUNCTIONS = {
    27: (
        "Memory_createFromFd Memory_free Model_create Model_free Model_finish Model_addOperand "
        "Model_setOperandValue Model_setOperandValueFromMemory Model_addOperation "
        "Model_identifyInputsAndOutputs Compilation_create Compilation_free "
        "Compilation_setPreference Compilation_finish Execution_create Execution_free "
        "Execution_setInput Execution_setInputFromMemory Execution_setOutput "
        "Execution_setOutputFromMemory Execution_startCompute Event_wait Event_free"
    ),
    28: "Model_relaxComputationFloat32toFloat16",
    29: (
        "_getDeviceCount _getDevice Device_getName Device_getType Device_getVersion "
        "Device_getFeatureLevel Model_getSupportedOperationsForDevices "
        "Compilation_createForDevices Compilation_setCaching Execution_compute "
        "Execution_getOutputOperandRank Execution_getOutputOperandDimensions Burst_create "
        "Burst_free Execution_burstCompute Memory_createFromAHardwareBuffer "
        "Execution_setMeasureTiming Execution_getDuration "
        "Model_setOperandSymmPerChannelQuantParams Device_getExtensionSupport "
        "Model_getExtensionOperandType Model_getExtensionOperationType "
        "Model_setOperandExtensionData"
    ),
    30: (
        "MemoryDesc_create MemoryDesc_free MemoryDesc_addInputRole MemoryDesc_addOutputRole "
        "MemoryDesc_setDimensions MemoryDesc_finish Memory_createFromDesc Memory_copy Device_wait "
        "Model_setOperandValueFromModel Compilation_setPriority Compilation_setTimeout "
        "Execution_setTimeout Execution_setLoopTimeout _getDefaultLoopTimeout "
        "_getMaximumLoopTimeout Event_createFromSyncFenceFd Event_getSyncFenceFd "
        "Execution_startComputeWithDependencies"
    ),
    31: (
        "_getRuntimeFeatureLevel Execution_enableInputAndOutputPadding "
        "Compilation_getPreferredMemoryAlignmentForInput "
        "Compilation_getPreferredMemoryPaddingForInput "
        "Compilation_getPreferredMemoryAlignmentForOutput "
        "Compilation_getPreferredMemoryPaddingForOutput Execution_setReusable "
        "Compilation_addExtensionAttribute Execution_addExtensionAttribute"
    ),
}
"""API level -> the functions that it added, without `ANeuralNetworks`. The two functions for
extension attributes, whose level is not documented, count as the newest.
"""

FUNCTION_LEVELS = {
    f"ANeuralNetworks{name}": level for level, names in _FUNCTIONS.items() for name in names.split()
}
"""Function -> the API level that added it."""


def feature_level(number: int) -> FeatureLevel:
    """The FeatureLevel of a number from 1 to 8."""
    return tuple(FeatureLevel)[number - 1]


def number_of(level: FeatureLevel) -> int:
    """The number, 1 to 8, of a FeatureLevel."""
    return tuple(FeatureLevel).index(level) + 1
