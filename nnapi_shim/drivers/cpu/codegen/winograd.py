"""What kernels of Winograd's F(2x2, 3x3) share, of floats and of integers.

input patch d (4x4)    ->  B'd B: in one direction d0 - d2, d1 + d2, d2 - d1, d1 - d3
their products m (4x4) ->  A'm A: m0 + m1 + m2, m1 - m2 - m3
"""

from collections.abc import Callable, Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.vector import Builder
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

Arithmetic = Callable[[Any, Any], Any]


def outlined(name: str, signature: Any) -> Any:
    """As `emits`, of a function that the compiler does not inline."""

    def register(write: Any) -> Any:
        @emits(signature)
        def call(builder: Any, *arguments: Any) -> None:
            fn, is_new = builder.outlined(name, [value.type for value in arguments])
            if is_new:
                inner = Builder(fn.append_basic_block("entry"))
                write(inner, *fn.args)
                inner.ret_void()
            builder.call(fn, arguments)

        return call

    return register


def input_transform(grid: Sequence[Sequence[Any]], add: Arithmetic, less: Arithmetic) -> list[Any]:
    """The 16 transformed elements of a 4x4 patch, row by row."""

    def sums(d: Sequence[Any]) -> list[Any]:
        return [less(d[0], d[2]), add(d[1], d[2]), less(d[2], d[1]), less(d[1], d[3])]

    columns = [sums(column) for column in zip(*grid, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in sums(row)]


def output_transform(points: Sequence[Any], add: Arithmetic, less: Arithmetic) -> list[Any]:
    """The 2x2 outputs of 16 products, row by row."""

    def sums(m: Sequence[Any]) -> list[Any]:
        return [add(add(m[0], m[1]), m[2]), less(less(m[1], m[2]), m[3])]

    columns = [sums(points[n::4]) for n in range(4)]
    return [y for row in zip(*columns, strict=True) for y in sums(row)]


@helper
def write_four(output, at, step, values):
    """Four elements; each is named, because a loop would look for them in memory."""
    output[at] = values[0]
    output[at + step] = values[1]
    output[at + 2 * step] = values[2]
    output[at + 3 * step] = values[3]
