"""The arguments of the depthwise micro-kernels, in four records."""

from typing import NamedTuple

from numba import types

from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, LONG


class Source(NamedTuple):
    """The input of a micro-kernel: the address for its first pixel, and strides.

    row_step, tap_step: bytes between the elements of adjacent filter rows and columns. pixel_step:
    bytes between the inputs of adjacent pixels. height, width: filter rows and columns to compute.
    """

    input: int
    row_step: int
    tap_step: int
    pixel_step: int
    height: int
    width: int


class Weights(NamedTuple):
    """The filter. filter_row: bytes between its rows. singles: see PACK_DEPTHWISE's kernel.

    table: see requantization.py. channels: of a pixel. slab: those to compute, from the addresses
    on.
    """

    filter: int
    filter_row: int
    singles: int
    bias: int
    table: int
    channels: int
    slab: int


class Target(NamedTuple):
    """The output pixels, `output_step` bytes apart.

    For variants at borders: pixels is their number to store. Input columns are numbered from
    the first that the first pixel reads; [first_column, first_column + columns) exist.
    """

    output: int
    output_step: int
    pixels: int
    first_column: int
    columns: int


class Finish(NamedTuple):
    """Parameters from sums to outputs: bounds; the others are of quantized outputs."""

    input_zero: int
    zero_point: int
    output_flip: int
    low: float
    high: float


RECORDS = (Source, Weights, Target, Finish)
ARGUMENTS = tuple(name for record in RECORDS for name in record._fields)
"""Arguments of a micro-kernel: 64-bit integers and addresses, then low and high in float32."""
KINDS = [FLOAT if name in ("low", "high") else LONG for name in ARGUMENTS]
NUMBA_KINDS = [types.float32 if kind is FLOAT else types.int64 for kind in KINDS]
