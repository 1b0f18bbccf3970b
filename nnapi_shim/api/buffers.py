"""DLPack tensors and buffers (bytes, mmap) as numpy arrays that share their memory."""

import math
from array import array
from mmap import mmap
from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.argument_types import shown, wrong_type
from nnapi_shim.api.arrays import DTYPES, Array, address, elements
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions


class SupportsDLPack(Protocol):
    """A tensor of another library, such as torch.Tensor, in memory of the CPU."""

    def __dlpack__(self) -> Any:
        """A capsule with the tensor."""

    def __dlpack_device__(self) -> tuple[Any, Any]:
        """The device type and the device number."""


Value = ArrayLike | SupportsDLPack
"""A source of contents: an array, a number, a list of numbers, a tensor, a buffer."""

Target = Union[Array, SupportsDLPack, bytearray, memoryview, mmap, "array[Any]"]
"""A destination of contents."""

RAW = (bytes, bytearray, mmap)
"""Buffer types without an element type: they hold an operand's contents in row-major order."""

_ON_CPU = (1, 3)
"""DLPack device types that the CPU can read: kDLCPU, and memory pinned for a GPU."""

SHARED_ONLY = "tensors on other devices and those that need gradients have to be copied first"


def contents(value: Any, type: OperandType, dimensions: Dimensions, scale: float = 0.0) -> Array:
    """The contents of an operand as a row-major array of its elements.

    The array shares the memory of `value` if its layout fits, else it is a converted copy. Buffers
    take the operand's dimensions; a single unknown size is computed from their length.
    Raises BAD_DATA for a value that does not fit; scale: see `elements`.
    """
    if isinstance(value, np.ndarray):
        return elements(value, type, scale)
    if is_buffer(value):
        return elements(_shaped(value, type, dimensions), type, scale)
    if hasattr(value, "__dlpack__"):
        return elements(from_dlpack(value), type, scale)
    return elements(value, type, scale)


def target(what: str, value: Any, type: OperandType, dimensions: Dimensions) -> Array:
    """An array that shares the memory of an output's destination.

    The caller checks whether it is writable. Raises TypeError for a value without memory to share,
    BAD_DATA for memory that does not fit.
    """
    if isinstance(value, np.ndarray):
        return value
    if is_buffer(value):
        return _shaped(value, type, dimensions)
    if hasattr(value, "__dlpack__"):
        shared = from_dlpack(value)
        if not shared.flags.writeable:
            # numpy treats memory as read-only if an older DLPack version has no read-only flag.
            other = np.asarray(value)
            if other.flags.writeable and address(other) == address(shared):
                return other
        return shared
    expected = "an array, a tensor or a buffer, which is written to"
    raise wrong_type(what, value, expected)


def is_buffer(value: object) -> bool:
    """Whether a value has the buffer protocol and is neither an array nor a numpy scalar."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__dlpack__"):
        return False
    try:
        memoryview(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return False
    return True


def from_dlpack(value: Any) -> Array:
    """A tensor of another library as an array that shares its memory; raises BAD_DATA."""
    try:
        where = int(value.__dlpack_device__()[0])
        if where not in _ON_CPU:
            raise BufferError(f"it is on a device of DLPack's kind {where}")
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise bad_data(
            f"{shown(value)} cannot be read in place: {error}; {SHARED_ONLY}", "buffer.not-shared"
        ) from None


def _shaped(buffer: Any, type: OperandType, dimensions: Dimensions) -> Array:
    """A buffer as an array; a flat one gets the operand's dimensions."""
    view = memoryview(buffer)
    if not view.contiguous:
        return np.asarray(view)
    dtype = DTYPES.get(type)
    is_raw = isinstance(buffer, RAW) or (view.format in "Bbc" and view.ndim == 1)
    if dtype is None or not is_raw:
        array: Array = np.asarray(view)
    else:
        if view.nbytes % dtype.itemsize:
            raise bad_data(
                f"{view.nbytes} bytes are given; elements of {type.name} have {dtype.itemsize}",
                "buffer.length",
            )
        array = np.frombuffer(view, dtype)
    if array.ndim != 1 or len(dimensions) == 1:
        return array
    return array.reshape(_dimensions(array.size, type, dimensions))


def _dimensions(count: int, type: OperandType, dimensions: Dimensions) -> Dimensions:
    """The operand's dimensions for `count` elements; one unknown size is computed."""
    if type in SCALARS:
        dimensions = ()
    elif not dimensions or dimensions.count(0) > 1:
        raise bad_data(
            f"{type.name}{list(dimensions)} has unknown dimensions, which a buffer does not tell; "
            "an array does",
            "buffer.unknown-dimensions",
        )
    known = math.prod(size for size in dimensions if size)
    if 0 in dimensions and count % known == 0:
        dimensions = tuple(size or count // known for size in dimensions)
    elif count != known:
        raise bad_data(
            f"{count} elements are given; {type.name}{list(dimensions)} has {known}",
            "buffer.element-count",
        )
    return dimensions
