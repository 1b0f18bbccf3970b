"""Chains of executions through memory of descriptors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import Dimensions, Model
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.memory import Memory, copy
from nnapi_shim.runtime.memory_desc import DeviceMemory, MemoryDesc
from tests.runtime.hal_models import Builder, chain
from tests.runtime.partial_devices import compiled


def memory(
    *roles: tuple[Compilation, str, int], dimensions: Dimensions | None = None
) -> DeviceMemory:
    """A memory for these roles."""
    desc = MemoryDesc()
    if dimensions is not None:
        desc.set_dimensions(dimensions)
    for compilation, role, index in roles:
        desc.add_role(compilation, role, index, 1.0)
    desc.finish()
    return desc.create_memory()


def states(compilation: Compilation, count: int) -> list[DeviceMemory]:
    """Memories that can be input 0 and output 0."""
    return [memory((compilation, "input", 0), (compilation, "output", 0)) for _ in range(count)]


class Array(Memory):
    """Memory of the program: that of an array."""

    def __init__(self, array: Any) -> None:
        super().__init__(array.nbytes)
        self.array = array

    def map(self) -> int:
        return int(self.array.ctypes.data)


def contents(of: DeviceMemory, dtype: Any = np.float32) -> Any:
    """What a memory holds."""
    raw = unaligned(of.size)
    copy(of, Array(raw))
    return raw.copy().view(dtype).reshape(of.operand.dimensions)


def fill(target: DeviceMemory, array: Any) -> None:
    """Copy an array to a memory."""
    raw = unaligned(array.nbytes)
    raw[...] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    copy(Array(raw), target)


def unaligned(size: int) -> Any:
    """Memory of the program at an odd address."""
    return np.zeros(size + 1, np.uint8)[1:]


def execution(
    compilation: Compilation, inputs: Sequence[Any], outputs: Sequence[Any], **options: Any
) -> Execution:
    """An execution with memories and arrays as arguments."""
    made = Execution(compilation)
    if options.get("reusable"):
        made.set_reusable(True)
    if options.get("timeout_ns"):
        made.set_timeout(options["timeout_ns"])
    for role, arguments in (("input", inputs), ("output", outputs)):
        for index, each in enumerate(arguments):
            if isinstance(each, Memory):
                made.set_argument_from_memory(role, index, None, each, 0, 0)
            else:
                made.set_argument(role, index, None, each.ctypes.data, each.nbytes)
    return made


def compute(compilation: Compilation, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Compute once."""
    execution(compilation, inputs, outputs).compute()


def on(device: Any, model: Model) -> Compilation:
    """A compilation for a named device alone."""
    return compiled(model, [device])


def check_chain(device: Any) -> None:
    """Two models in turns, through memory of the device: the same bits as by the program."""
    one, other = (on(device, chain(names, (3, 5))) for names in ("ADD MUL", "MUL"))
    roles = [(each, role, 0) for each in (one, other) for role in ("input", "output")]
    turns = [memory(*roles) for _ in range(2)]
    assert all(each.buffer is not None for each in turns)
    value = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    fill(turns[0], value)
    for step in range(6):
        compilation = (one, other)[step % 2]
        compute(compilation, [turns[step % 2]], [turns[1 - step % 2]])
        expected = np.zeros_like(value)
        compute(compilation, [value], [expected])
        value = expected / 8
        assert contents(turns[1 - step % 2]).tobytes() == expected.tobytes()
        fill(turns[1 - step % 2], value)


def check_unchanged(device: Any) -> None:
    """Models whose result is their input, in another shape: an engine may give the same memory."""
    compilation = on(device, reshaping(T.TENSOR_FLOAT32, (2, 3)))
    first, second, third = states(compilation, 3)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    before = given.copy()
    start = execution(compilation, [given], [first], reusable=True)
    start.compute()
    compute(compilation, [first], [second])
    compute(compilation, [second], [third])
    given += 10
    start.compute()
    fill(second, given + 10)
    assert np.array_equal(contents(first), given)
    assert np.array_equal(contents(second), given + 10)
    assert np.array_equal(contents(third), before)


def check_types(device: Any) -> None:
    """Tensors of every type that the device computes with: not in place, and then back."""
    computed = set()
    for type, code in (
        (T.TENSOR_FLOAT32, "f"),
        (T.TENSOR_FLOAT16, "e"),
        (T.TENSOR_INT32, "i"),
        (T.TENSOR_QUANT8_ASYMM, "B"),
        (T.TENSOR_QUANT8_ASYMM_SIGNED, "b"),
        (T.TENSOR_BOOL8, "?"),
    ):
        model = reshaping(type) if type is not T.TENSOR_BOOL8 else negating()
        if not all(device.getSupportedOperations(model)):
            continue
        compilation = on(device, model)
        given, made = memory((compilation, "input", 0)), memory((compilation, "output", 0))
        assert given.buffer is not None and made.buffer is not None
        value = np.arange(6).reshape(2, 3).astype(code)
        fill(given, value)
        compute(compilation, [given], [made])
        expected = ~value if type is T.TENSOR_BOOL8 else value.reshape(3, 2)
        assert np.array_equal(contents(made, code), expected), type
        computed.add(type)
    assert T.TENSOR_FLOAT32 in computed


def reshaping(type: T, to: Sequence[int] = (3, 2)) -> Model:
    """A tensor of 2 x 3 in another shape."""
    b = Builder()
    scale = 0.5 if "QUANT" in type.name else 0.0
    x = b.input((2, 3), type, scale=scale)
    shape, out = b.constant(to, T.TENSOR_INT32), b.temporary(to, type, scale=scale)
    b.operation(O.RESHAPE, [x, shape], [out])
    return b.model([x], [out])


def negating() -> Model:
    """LOGICAL_NOT of 2 x 3."""
    b = Builder()
    x, out = b.input((2, 3), T.TENSOR_BOOL8), b.temporary((2, 3), T.TENSOR_BOOL8)
    b.operation(O.LOGICAL_NOT, [x], [out])
    return b.model([x], [out])
