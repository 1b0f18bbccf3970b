"""Builds models through the C API, and runs them."""

import ctypes
from collections.abc import Sequence
from typing import Any

from nnapi_shim.hal.enums import OperandType, OperationType
from tests.abi.rules.capi import Api, floats, operand_type, uint32s

GUARD = 0xA5
T = OperandType


class Graph:
    """A model that is being built; calls that add something give the index of the operand."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.model = api.make("Model_create")
        self._operands = 0
        self._kept: list[Any] = []

    def operand(self, type: int, *details: Any) -> int:
        """An operand; details: dimensions, scale and zero point."""
        self.api.ok("Model_addOperand", self.model, operand_type(type, *details))
        self._operands += 1
        return self._operands - 1

    def constant(self, value: Any, type: int, *details: Any) -> int:
        """An operand with the contents of a buffer as its value."""
        index = self.operand(type, *details)
        self._kept.append(value)  # until finish, the library may only have its address
        self.api.ok("Model_setOperandValue", self.model, index, value, ctypes.sizeof(value))
        return index

    def int32(self, value: int) -> int:
        """A constant INT32."""
        return self.constant(ctypes.c_int32(value), T.INT32)

    def operation(self, type: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """An operation."""
        self.api.ok("Model_addOperation", self.model, type, *_lists(inputs, outputs))

    def refuse_operation(
        self, code: int, type: int, inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        """An operation that addOperation has to refuse."""
        self.api.refuse(code, "Model_addOperation", self.model, type, *_lists(inputs, outputs))

    def arguments(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Which operands are the inputs and outputs of the model."""
        self.api.ok("Model_identifyInputsAndOutputs", self.model, *_lists(inputs, outputs))

    def refuse_arguments(self, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Inputs and outputs that have to be refused."""
        name = "Model_identifyInputsAndOutputs"
        self.api.refuse(code, name, self.model, *_lists(inputs, outputs))

    def finish(self) -> int:
        """Finish the model; its handle."""
        self.api.ok("Model_finish", self.model)
        return self.model

    def refuse_finish(self, code: int, saying: str = "") -> None:
        """A finish that has to be refused."""
        self.api.refuse(code, "Model_finish", self.model, saying=saying)


def _lists(inputs: Sequence[int], outputs: Sequence[int]) -> tuple[int, Any, int, Any]:
    return len(inputs), uint32s(inputs), len(outputs), uint32s(outputs)


def add_graph(api: Api, dimensions: Sequence[int] = (2,), activation: int = 0) -> Graph:
    """Unfinished: c = activation(a + b); a (operand 0) and b (1) are inputs, c (3) the output."""
    graph = Graph(api)
    a, b = (graph.operand(T.TENSOR_FLOAT32, dimensions) for _ in range(2))
    kind = graph.int32(activation)
    c = graph.operand(T.TENSOR_FLOAT32, dimensions)
    graph.operation(OperationType.ADD, [a, b, kind], [c])
    graph.arguments([a, b], [c])
    return graph


class Buffer:
    """Memory for an output, with guards around it that nothing may overwrite."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._all = (ctypes.c_uint8 * (length + 128))(*([GUARD] * (length + 128)))
        self.address = ctypes.addressof(self._all) + 64

    @property
    def contents(self) -> bytes:
        """What lies in it; the guards must be untouched."""
        everything = bytes(self._all)
        assert everything[:64] == everything[-64:] == bytes([GUARD] * 64)
        return everything[64 : 64 + self.length]

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written to it."""
        return self.contents == bytes([GUARD] * self.length)

    def floats(self) -> list[float]:
        """Its contents as numbers."""
        return list(memoryview(self.contents).cast("f"))


def compilation_for(api: Api, device: int | None, model: int) -> int:
    """A compilation for one device, or for any; not finished."""
    if device is None:
        return api.make("Compilation_create", model)
    array = (ctypes.c_void_p * 1)(device)
    return api.make("Compilation_createForDevices", model, array, 1)


class Run:
    """A model compiled for one device, or for any, and an execution of it."""

    result: Any
    """The output that `set_arguments` has set."""

    def __init__(self, api: Api, device: int | None, model: int) -> None:
        self.api = api
        self.compilation = compilation_for(api, device, model)
        api.ok("Compilation_finish", self.compilation)
        self.execution = api.make("Execution_create", self.compilation)
        self._kept: list[Any] = []

    def another(self) -> int:
        """Another execution, which takes the place of the first."""
        self.execution = self.api.make("Execution_create", self.compilation)
        return self.execution

    def input(self, index: int, value: Any, type: Any = None) -> None:
        """Set an input to the contents of a buffer."""
        self._kept.append(value)
        size = ctypes.sizeof(value)
        self.api.ok("Execution_setInput", self.execution, index, type, value, size)

    def output(self, index: int, length: int, type: Any = None) -> Buffer:
        """Set an output to a new buffer."""
        buffer = Buffer(length)
        self._kept.append(buffer)
        arguments = (index, type, buffer.address, length)
        self.api.ok("Execution_setOutput", self.execution, *arguments)
        return buffer

    def ok(self, name: str, *arguments: Any) -> None:
        """A function of the execution that has to succeed, such as "compute"."""
        self.api.ok(f"Execution_{name}", self.execution, *arguments)

    def refuse(self, code: int, name: str, *arguments: Any, saying: str = "") -> None:
        """A function of the execution that has to refuse."""
        self.api.refuse(code, f"Execution_{name}", self.execution, *arguments, saying=saying)


def set_arguments(run: Run) -> None:
    """Set the arguments of an execution of c = a + b; run.result is the output."""
    run.input(0, floats(1, 2))
    run.input(1, floats(10, 20))
    run.result = run.output(0, 8)


def descriptor(api: Api, *roles: tuple[int, str, int], dimensions: Sequence[int] = ()) -> int:
    """A finished memory descriptor; roles: compilation, "Input" or "Output", index."""
    desc = api.make("MemoryDesc_create")
    for compilation, role, index in roles:
        api.ok(f"MemoryDesc_add{role}Role", desc, compilation, index, 1.0)
    if dimensions:
        api.ok("MemoryDesc_setDimensions", desc, len(dimensions), uint32s(dimensions))
    api.ok("MemoryDesc_finish", desc)
    return desc


def device_memory(api: Api, *roles: tuple[int, str, int], dimensions: Sequence[int] = ()) -> int:
    """A memory for these roles."""
    return api.make("Memory_createFromDesc", descriptor(api, *roles, dimensions=dimensions))
