"""The quantization of tensors: per-tensor, per-channel or blockwise."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.checked import Reader
from nnapi_shim.formats.tflite.tensor import Blocks, Tensor
from nnapi_shim.hints import NamedTuple

QUANTIZED = {"INT4": (-8, 7), "INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}
"""Types that can be quantized -> range of their elements."""

NO_DETAILS, CUSTOM, BLOCKWISE, MULTI_AXIS = range(4)
"""Kinds of `details`. The package `tflite` has the first two."""


class BlockDetails(NamedTuple):
    """Blockwise quantization in a file. scales, zero_points: tensor indices in the same graph."""

    scales: int
    zero_points: int
    size: int


class Quantization(NamedTuple):
    """scales, zero_points: none, one, or one for each index of dimension `channel_dim`.

    details: the blockwise quantization. unread: a message about quantization that is not
        understood.
    """

    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    channel_dim: int = 0
    details: BlockDetails | None = None
    unread: str = ""


def quantization(
    reader: Reader, location: str, type: str, shape: Sequence[int], tensor: Any
) -> Quantization:
    """The quantization of a tensor; raises BAD_DATA for invalid values."""
    table = reader.get(location, tensor, "Quantization")
    if table is None:
        return Quantization()
    kind = reader.get(location, table, "DetailsType")
    if kind == BLOCKWISE:
        return _blockwise(reader, location, type, table)
    if kind != NO_DETAILS:
        named = {CUSTOM: "a custom one", MULTI_AXIS: "one along several dimensions"}.get(kind)
        return Quantization(unread=f"its quantization is {named or f'of kind {kind}'}")
    if type not in (*QUANTIZED, "INT32", "INT64"):
        return Quantization()  # a file may have a scale for a float tensor
    scales = reader.numbers(location, table, "Scale")
    if not scales:
        return Quantization()
    zero_points = reader.numbers(location, table, "ZeroPoint")
    dim = reader.get(location, table, "QuantizedDimension")
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise bad_data(
            f"{location}: a scale is {min(scales)} or no number", "import.tflite.quantization.scale"
        )
    if type in QUANTIZED and not all(scales):
        raise bad_data(f"{location}: a scale is 0", "import.tflite.quantization.scale-zero")
    if len(zero_points) not in (0, len(scales)):
        raise bad_data(
            f"{location}: {len(zero_points)} zero points for {len(scales)} scales",
            "import.tflite.quantization.zero-point-count",
        )
    low, high = QUANTIZED.get(type, (-(2**31), 2**31 - 1))
    wrong = [point for point in zero_points if not low <= point <= high]
    if wrong:
        raise bad_data(
            f"{location}: zero point {wrong[0]}; {type} has {low} to {high}",
            "import.tflite.quantization.zero-point",
        )
    if len(scales) > 1:
        size = shape[dim] if 0 <= dim < len(shape) else None
        if size != len(scales):
            raise bad_data(
                f"{location}: {len(scales)} scales along dimension {dim} of {list(shape)}",
                "import.tflite.quantization.scale-count",
            )
    return Quantization(scales, zero_points or (0,) * len(scales), dim)


def _blockwise(reader: Reader, location: str, type: str, table: Any) -> Quantization:
    if not reader.has(table, "Details"):
        return Quantization(unread="its quantization is blockwise, and without scales")
    if type not in ("INT4", "INT8"):
        return Quantization(unread=f"its quantization is blockwise, of {type}")
    details = reader.union(location, table, "Details", "BlockwiseQuantization")
    if any(details.slots[3:]):
        return Quantization(unread="its quantization has blocks of several dimensions")
    numbers = [reader.slot(location, details, at) for at in range(3)]
    return Quantization(details=BlockDetails(*numbers))


def with_blocks(
    tensor: Tensor, quantized: Quantization, tensors: Sequence[tuple[Tensor, Quantization]]
) -> Tensor:
    """A tensor with its block scales, which are contents of other tensors of the graph.

    `unread` gets a message if they are not understood.
    """
    details = quantized.details
    if details is None or tensor.unread:
        return tensor
    try:
        return tensor._replace(blocks=_blocks(tensor, details, [item for item, _ in tensors]))
    except _UnreadError as error:
        return tensor._replace(unread=f"its quantization is blockwise, and {error}")


class _UnreadError(Exception):
    """The reason why blocks are not understood."""


def _blocks(tensor: Tensor, details: BlockDetails, tensors: Sequence[Tensor]) -> Blocks:
    size, shape = details.size, tensor.shape
    if tensor.value is None:
        raise _UnreadError("it is no constant")
    if size < 1 or not shape or shape[-1] % size:
        raise _UnreadError(f"blocks of {size} do not fill dimensions {list(shape)}")
    expected = (*shape[:-1], shape[-1] // size)

    def contents(index: int, what: str, types: Sequence[str]) -> Array:
        if not 0 <= index < len(tensors):
            raise _UnreadError(
                f"its {what} are tensor {index}; the graph has {len(tensors)} tensors"
            )
        tensor = tensors[index]
        if tensor.value is None or tensor.type not in types or tensor.shape != expected:
            raise _UnreadError(
                f"its {what} are {tensor}, {tensor.type}{list(tensor.shape)}; "
                f"allowed is a constant {' or '.join(types)}{list(expected)}"
            )
        return tensor.value

    scales = contents(details.scales, "scales", ("FLOAT16", "FLOAT32")).astype(np.float32)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise _UnreadError("a scale is 0, negative or no number")
    points = details.zero_points
    if points == 0 and (tensors[0].shape != expected or tensors[0].type not in _POINTS):
        points = -1  # absent: the schema's default is -1
    zero_points = None if points == -1 else contents(points, "zero points", _POINTS)
    return Blocks(scales, zero_points, size)


_POINTS = ("INT4", "INT8", "INT16", "INT32", "INT64")
"""Types of zero points."""
