"""Tensors of a file and the contents of constants."""

import math
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.sparsity import Sparsity
from nnapi_shim.hints import NamedTuple

DTYPES: dict[str, Any] = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "FLOAT64": np.float64,
    "INT64": np.int64,
    "INT32": np.int32,
    "INT16": np.int16,
    "INT8": np.int8,
    "UINT64": np.uint64,
    "UINT32": np.uint32,
    "UINT16": np.uint16,
    "UINT8": np.uint8,
    "BOOL": np.bool_,
    "COMPLEX64": np.complex64,
    "COMPLEX128": np.complex128,
    "BFLOAT16": np.uint16,
}
"""Element type -> numpy type. INT4 has two elements per byte; other types have no array."""

MOST_SHOWN = 80
"""The most characters of a name in a message."""


class Blocks(NamedTuple):
    """Scales of blocks of `size` consecutive elements in the last dimension.

    scales: float32, with the dimensions of the tensor, the last one divided by `size`.
    zero_points: of the same dimensions; None if all are 0.
    """

    scales: Array
    zero_points: Array | None
    size: int


class Tensor(NamedTuple):
    """A tensor.

    shape: sizes. dimensions: the same with 0 for sizes that are unknown before a run.
    scales, zero_points: none, one, or one for each index of dimension `channel_dim`.
    value: the contents of a constant, a view into the file; else None.
    data: the bytes of a constant without an array type (STRING).
    sparsity: the layout of a sparse constant; None if it is not understood.
    blocks: the scales of a blockwise quantized constant.
    unread: a message about fields that this version does not understand; no operator may use the
        tensor.
    """

    number: int
    name: str
    type: str
    shape: tuple[int, ...]
    dimensions: tuple[int, ...]
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    channel_dim: int = 0
    value: Array | None = None
    data: bytes | None = None
    is_variable: bool = False
    is_sparse: bool = False
    sparsity: Sparsity | None = None
    blocks: Blocks | None = None
    unread: str = ""

    def __str__(self) -> str:
        name = f" {self.name[:MOST_SHOWN]!r}" if self.name else ""
        return f"tensor {self.number}{name}"

    @property
    def is_constant(self) -> bool:
        """Whether the file has the contents."""
        return self.value is not None or self.data is not None or self.is_sparse

    @property
    def is_per_channel(self) -> bool:
        """Whether the tensor has one scale for each channel."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The per-tensor scale; 0 without."""
        return self.scales[0] if len(self.scales) == 1 else 0.0

    @property
    def zero_point(self) -> int:
        """The per-tensor zero point; 0 without."""
        return self.zero_points[0] if len(self.zero_points) == 1 else 0


def elements(location: str, tensor: Tensor, data: Array) -> Array:
    """The elements of a constant."""
    count = math.prod(tensor.shape)
    is_packed = tensor.type == "INT4"
    size = (count + 1) // 2 if is_packed else count * np.dtype(DTYPES[tensor.type]).itemsize
    if data.nbytes != size:
        raise bad_data(
            f"{location}: {data.nbytes} bytes of data; "
            f"{tensor.type}{list(tensor.shape)} has {size}",
            "import.tflite.tensor.data-size",
        )
    if is_packed:
        halves = np.stack([data << 4, data & 0xF0], -1).view(np.int8) >> 4
        unpacked: Array = halves.reshape(-1)[:count].reshape(tensor.shape)
        return unpacked
    is_other = tensor.type == "BOOL" and (data > 1).any()
    result: Array = data != 0 if is_other else data.view(DTYPES[tensor.type])
    return result.reshape(tensor.shape)
