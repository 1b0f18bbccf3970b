"""Calls that succeed here and are undefined on phones, through the C functions."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.capi import ffi, lib
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O

Operand = tuple[T, Sequence[int], Any]
"""Type, dimensions, and value: bytes, a finished model, or None."""


def ok(code: int) -> None:
    assert code == 0, code


def made(kind: str, function: Any, *arguments: Any) -> Any:
    pointer = ffi.new(f"{kind} **")
    ok(function(*arguments, pointer))
    return pointer[0]


def model(
    operands: Sequence[Operand],
    operation: tuple[O, Sequence[int], Sequence[int]],
    inputs: Sequence[int],
    outputs: Sequence[int],
    wrong: Sequence[int] = (),
) -> Any:
    """A finished model. wrong: inputs that are tried before, and refused."""
    it = made("ANeuralNetworksModel", lib.ANeuralNetworksModel_create)
    for index, (kind, sizes, value) in enumerate(operands):
        dimensions = ffi.new("uint32_t[]", list(sizes)) if sizes else ffi.NULL
        described = (int(kind), len(sizes), dimensions, 0, 0)
        described = ffi.new("ANeuralNetworksOperandType *", described)
        ok(lib.ANeuralNetworksModel_addOperand(it, described))
        if isinstance(value, bytes):
            ok(lib.ANeuralNetworksModel_setOperandValue(it, index, value, len(value)))
        elif value is not None:
            ok(lib.ANeuralNetworksModel_setOperandValueFromModel(it, index, value))
    code, read, written = operation
    ok(lib.ANeuralNetworksModel_addOperation(it, code, len(read), read, len(written), written))
    identify = lib.ANeuralNetworksModel_identifyInputsAndOutputs
    if wrong:
        assert identify(it, len(wrong), wrong, len(outputs), outputs) == 4
    ok(identify(it, len(inputs), inputs, len(outputs), outputs))
    ok(lib.ANeuralNetworksModel_finish(it))
    return it


def compiled(it: Any, timeout_ns: int = 0) -> Any:
    """A finished compilation for one device."""
    device = made("ANeuralNetworksDevice", lib.ANeuralNetworks_getDevice, 0)
    devices = ffi.new("ANeuralNetworksDevice *[]", [device])
    create = lib.ANeuralNetworksCompilation_createForDevices
    compilation = made("ANeuralNetworksCompilation", create, it, devices, 1)
    if timeout_ns:
        ok(lib.ANeuralNetworksCompilation_setTimeout(compilation, timeout_ns))
    ok(lib.ANeuralNetworksCompilation_finish(compilation))
    return compilation


F, ONE = T.TENSOR_FLOAT32, [1]
NONE, ZERO = bytes(4), bytes(4)
SUM = [(F, ONE, None), (F, ONE, NONE), (T.INT32, [], NONE), (F, ONE, None)]
ADD = O.ADD, [0, 1, 2], [3]
body = model(SUM, ADD, [0], [3])
model(SUM, ADD, [0], [3], wrong=[0, 1])
image = [(F, [1, 4, 4, 4], None), (T.INT32, [], b"\2\0\0\0"), (T.BOOL, [], b"\2")]
model([*image, (F, [1, 1, 8, 8], None)], (O.DEPTH_TO_SPACE, [0, 1, 2], [3]), [0], [3])
drawn = [(F, [1, 4], None), (T.INT32, [], b"\2\0\0\0"), (T.TENSOR_INT32, ONE, NONE)]
sample = O.RANDOM_MULTINOMIAL, [0, 1, 2], [3]
model([*drawn, (T.TENSOR_INT32, [1, 2], None)], sample, [0], [3])
below = [(F, ONE, None), (F, ONE, ZERO), (T.TENSOR_BOOL8, ONE, None)]
condition = model(below, (O.LESS, [0, 1], [2]), [0], [2])
graphs = [(T.MODEL, [], condition), (T.MODEL, [], body)]
loop = model([*graphs, (F, ONE, None), (F, ONE, None)], (O.WHILE, [0, 1, 2], [3]), [2], [3])
compilation = compiled(loop, 10**12)
desc = made("ANeuralNetworksMemoryDesc", lib.ANeuralNetworksMemoryDesc_create)
ok(lib.ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0))
ok(lib.ANeuralNetworksMemoryDesc_finish(desc))
made("ANeuralNetworksMemory", lib.ANeuralNetworksMemory_createFromDesc, desc)
for timeout in (10**9, 0):
    execution = made("ANeuralNetworksExecution", lib.ANeuralNetworksExecution_create, compilation)
    ok(lib.ANeuralNetworksExecution_setLoopTimeout(execution, timeout))
    values, results = ffi.new("float[]", [1.0]), ffi.new("float[]", 1)
    ok(lib.ANeuralNetworksExecution_setInput(execution, 0, ffi.NULL, values, 4))
    ok(lib.ANeuralNetworksExecution_setOutput(execution, 0, ffi.NULL, results, 4))
    ok(lib.ANeuralNetworksExecution_compute(execution))
lib.ANeuralNetworksModel_free(condition)
lib.ANeuralNetworksModel_free(loop)
lib.ANeuralNetworksCompilation_free(compilation)
lib.ANeuralNetworksExecution_free(execution)
