"""Runs examples of operations with every operand against a page that must not be touched.

    python -m tests.drivers.cpu.guard_pages [OPERATION ...]

Inputs, constants and outputs end where a page without access begins, then begin where such a page
ends: a kernel that reads or writes outside ends the process. The last line printed is the use that
was run then. Example contents are random; indices and the like are also drawn far out of range,
which has to be refused, not followed.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, OperandLifeTime, OperandType, Priority
from nnapi_shim.hal.types import (
    DataLocation,
    Model,
    Operation,
    Pool,
    Request,
    RequestArgument,
    Subgraph,
)
from tests.operations.cases import USES, Example, Use, example

L = OperandLifeTime
ROUNDS = 2
PAGE = mmap.PAGESIZE
OUTPUT_BYTES = 1 << 16

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]  # fmt: skip
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Guarded(Pool):
    """`size` bytes between two pages without access: they touch the one behind or in front."""

    def __init__(self, data: bytes, at_end: bool) -> None:
        self.size = len(data)
        inside = -(-max(self.size, 1) // PAGE) * PAGE
        self._length = inside + 2 * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._base = _libc.mmap(None, self._length, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        for guard in (self._base, self._base + PAGE + inside):
            assert _libc.mprotect(guard, PAGE, 0) == 0
        self.address = self._base + PAGE + (inside - self.size if at_end else 0)
        ctypes.memmove(self.address, data, self.size)

    def __del__(self) -> None:
        _libc.munmap(self._base, self._length)

    def map(self) -> int:
        """Address of the first byte."""
        return self.address


def run(sample: Example, constants: bool, at_end: bool) -> str:
    """Run an example; its tensors are constants or inputs. The outcome in a word."""
    kept: list[Guarded] = []
    operands, inputs, pools = [], [], []
    for value in sample.inputs:
        if value.is_omitted:
            operands.append(value.operand._replace(lifetime=L.NO_VALUE))
            continue
        memory = Guarded(value.array.tobytes(), at_end)
        kept.append(memory)
        if constants:
            position = DataLocation(len(pools), 0, memory.size)
            pools.append(memory)
            operand = value.operand._replace(lifetime=L.CONSTANT_REFERENCE, location=position)
        else:
            inputs.append((len(operands), memory, value.array.shape))
            operand = value.operand._replace(lifetime=L.SUBGRAPH_INPUT)
        operands.append(operand)
    count = len(operands)
    operands += [o.operand._replace(lifetime=L.SUBGRAPH_OUTPUT) for o in sample.outputs]
    indexes = tuple(range(count, len(operands)))
    item = Operation(sample.use.operation.type, tuple(range(count)), indexes)
    main = Subgraph(tuple(operands), (item,), tuple(index for index, _, _ in inputs), indexes)
    prepared = CpuDevice().prepareModel(
        Model(main, pools=tuple(pools)),
        ExecutionPreference.FAST_SINGLE_ANSWER,
        Priority.MEDIUM,
        None,
        None,
    )

    def computed(lengths: list[int]) -> Any:
        outputs = [Guarded(bytes(length), at_end) for length in lengths]
        request = Request(
            tuple(RequestArgument(m.address, m.size, shape) for _, m, shape in inputs),
            tuple(RequestArgument(m.address, m.size, ()) for m in outputs),
        )
        return prepared.execute(request, False, None, 10**9)

    try:
        shapes = computed([OUTPUT_BYTES] * len(indexes)).output_shapes
        sizes = [
            int(np.prod(shape.dimensions)) * np.dtype(_code(operands[index].type)).itemsize
            for shape, index in zip(shapes, indexes, strict=True)
        ]
        if max(sizes) <= OUTPUT_BYTES:  # wild integers ask for gigabytes: those do not fit above
            computed(sizes)
    except NnapiError as error:
        return error.code.name
    return "computed"


def _code(type: OperandType) -> str:
    from nnapi_shim.hal.quantization import STRUCT_CODES

    return STRUCT_CODES[type]


def out_of_range(sample: Example, rng: np.random.Generator) -> Example:
    """The example with some integers far out of any range."""
    inputs = []
    for value in sample.inputs:
        if not value.is_omitted and value.operand.type in (
            OperandType.TENSOR_INT32, OperandType.INT32
        ):  # fmt: skip
            array = np.array(value.array)
            wild = rng.choice([-(2**31), -1, 2**31 - 1, 10**6], array.shape)
            value = value._replace(array=np.where(rng.random(array.shape) < 0.5, wild, array)
                                   .astype(array.dtype))  # fmt: skip
        inputs.append(value)
    return sample._replace(inputs=inputs)


def samples(use: Use) -> Iterator[Example]:
    """Examples of a use, sensible ones and wild ones."""
    rng = np.random.default_rng(crc32(f"{use} guarded".encode()))
    for batch in (2,) * ROUNDS + ((0,) if use.operation.allow_zero_sized else ()):
        sample = example(use, rng, batch)
        yield sample
        yield out_of_range(sample, rng)


def main() -> None:
    """Run the uses of the operations named, or of all."""
    expected = set(sys.argv[1:])
    outcomes: dict[str, int] = {}
    for use in USES:
        if expected and use.operation.type.name not in expected:
            continue
        print(use, flush=True)
        for sample in samples(use):
            for constants in (False, True):
                for at_end in (True, False):
                    outcome = run(sample, constants, at_end)
                    outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print("done:", ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))


if __name__ == "__main__":
    main()
