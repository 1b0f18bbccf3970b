"""Quantization and dequantization, and quantization parameters for a range.

A quantized value q represents scale * (q - zero_point).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnapi_shim.api.argument_types import integer, number, shown
from nnapi_shim.api.arrays import DTYPES, Array, as_array
from nnapi_shim.api.fields import with_fields
from nnapi_shim.api.names import member, unknown
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import ASYMMETRIC, QUANTIZED_RANGE

T = OperandType
_BY_DTYPE = {
    "uint8": T.TENSOR_QUANT8_ASYMM,
    "int8": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "uint16": T.TENSOR_QUANT16_ASYMM,
    "int16": T.TENSOR_QUANT16_SYMM,
}
"""Name of an element type -> the quantized type that is most likely meant."""
Scale = float | Sequence[float] | NDArray[np.floating]
"""One scale, or one for each index of a dimension."""


@with_fields
class Quantization(NamedTuple):
    """Parameters of a quantized operand: `model.input(type, dimensions, *quantization)`.

    scale: the difference between two neighbouring values.
    zero_point: the stored value that stands for 0.
    """

    scale: float
    zero_point: int


@with_fields
class ChannelQuantization(NamedTuple):
    """Parameters of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand.

    scales: one for each channel.
    zero_point: always 0.
    """

    scales: tuple[float, ...]
    zero_point: int = 0


def quantize(
    array: ArrayLike,
    scale: Scale,
    zero_point: int = 0,
    type: T | str | None = None,
    *,
    channel_dim: int = 0,
) -> Array:
    """Quantize as QUANTIZE does: the quotient in float32, rounded half away from zero, clamped to
    the type's range; NaN becomes the upper bound.

    array: of any dimensions. scale: one, or one for each index of dimension `channel_dim`.
    type: by default TENSOR_QUANT8_ASYMM; with several scales TENSOR_QUANT8_SYMM_PER_CHANNEL.

    Returns an array of the type's elements with the same dimensions. Raises BAD_DATA for a type
    that is not quantized, a scale that is not above 0, and a zero point out of range.
    """
    values = _real(array)
    scales = _scales(scale, values, channel_dim)
    if type is None:
        type = T.TENSOR_QUANT8_SYMM_PER_CHANNEL if scales.ndim else T.TENSOR_QUANT8_ASYMM
    kind = _quantized_type(type)
    low, high = QUANTIZED_RANGE[kind]
    zero_point = integer("zero_point", zero_point, "an integer", None)
    if not low <= zero_point <= high or (zero_point and kind not in ASYMMETRIC):
        allowed = f"{low} to {high}" if kind in ASYMMETRIC else "0"
        raise bad_data(
            f"zero_point is {zero_point}; allowed for {kind.name} is {allowed}",
            "quantization.zero-point",
        )
    with np.errstate(all="ignore"):
        quotient = values / scales
        rounded = np.trunc(quotient)
        rounded += np.copysign(np.abs(quotient - rounded) >= 0.5, quotient)
        stored = np.clip(np.nan_to_num(rounded, nan=np.inf) + np.float64(zero_point), low, high)
    result: Array = stored.astype(DTYPES[kind])
    return result


def dequantize(
    array: ArrayLike, scale: Scale, zero_point: int = 0, *, channel_dim: int = 0
) -> NDArray[np.float32]:
    """Dequantize to float32 as DEQUANTIZE does.

    array: integers of any dimensions. scale, channel_dim: as in `quantize`.
    """
    numbers = as_array(array)
    if numbers.dtype.kind not in "iu":
        raise bad_data(
            f"{numbers.dtype} is given; quantized numbers are whole", "quantization.not-integers"
        )
    scales = _scales(scale, numbers, channel_dim)
    zero_point = integer("zero_point", zero_point, "an integer", None)
    centred = (numbers.astype(np.int64) - zero_point).astype(np.float32)
    return np.asarray(scales * centred, np.float32)


@overload
def quantization_of(
    minimum: float, maximum: float, type: T | str = T.TENSOR_QUANT8_ASYMM
) -> Quantization: ...


@overload
def quantization_of(
    minimum: Sequence[float] | NDArray[np.floating],
    maximum: Sequence[float] | NDArray[np.floating],
    type: T | str = T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
) -> ChannelQuantization: ...


def quantization_of(
    minimum: Scale, maximum: Scale, type: T | str | None = None
) -> Quantization | ChannelQuantization:
    """The parameters with which a quantized type represents `minimum` to `maximum`.

    With one range: scale and zero point; the range is widened to include 0, which is exact. With
        one range per channel: a scale for each. Symmetric types have zero point 0 and use the
        larger side of the range. A range of only 0 gets scale 1.

    Raises BAD_DATA for a type that is not quantized, and for an invalid range.
    """
    low, high = (np.asarray(as_array(value), np.float64) for value in (minimum, maximum))
    if type is None:
        type = T.TENSOR_QUANT8_SYMM_PER_CHANNEL if low.ndim else T.TENSOR_QUANT8_ASYMM
    kind = _quantized_type(type)
    lowest, highest = QUANTIZED_RANGE[kind]
    is_channels = kind is T.TENSOR_QUANT8_SYMM_PER_CHANNEL
    if low.shape != high.shape or low.ndim != is_channels:
        expected = "two lists of the same length" if is_channels else "two numbers"
        message = f"the range is {shown(minimum)} to {shown(maximum)}; {kind.name} needs {expected}"
        raise bad_data(message, "quantization.range-symmetric")
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
        message = f"the range is {shown(minimum)} to {shown(maximum)}; it must go up, and be finite"
        raise bad_data(message, "quantization.range-order")
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    if kind in ASYMMETRIC:
        scale = _positive((high - low) / (highest - lowest))
        zero_point = math.floor(lowest - float(low) / float(scale) + 0.5)
        return Quantization(float(scale), min(max(zero_point, lowest), highest))
    scales = _positive(np.maximum(-low, high) / highest)
    if is_channels:
        return ChannelQuantization(tuple(scales.tolist()))
    return Quantization(float(scales), 0)


def _positive(scales: Array) -> Array:
    """Scales in float32; 1 in place of scales that are not above 0."""
    rounded = np.asarray(scales, np.float32)
    return np.where(rounded > 0, rounded, np.float32(1))


def _real(array: ArrayLike) -> Array:
    values = as_array(array)
    if values.dtype.kind not in "biuf":
        raise bad_data(f"values of {values.dtype} cannot be quantized", "quantization.not-numbers")
    return values.astype(np.float32)


def _scales(scale: Scale, values: Array, channel_dim: int) -> Array:
    """Scales in float32, broadcast along their dimension if there are several."""
    scales = np.asarray(as_array(scale))
    if scales.ndim == 0:
        number("scale", scale)
    if scales.dtype.kind not in "iuf" or not (scales > 0).all() or scales.ndim > 1:
        raise bad_data(f"scale is {shown(scale)}; it must be above 0", "quantization.scale")
    scales = scales.astype(np.float32)
    if scales.ndim == 0:
        return scales
    if not 0 <= channel_dim < values.ndim or values.shape[channel_dim] != scales.size:
        raise bad_data(
            f"{scales.size} scales are given for dimension {channel_dim} of {list(values.shape)}; "
            "there must be one for each index",
            "quantization.scale-count",
        )
    along = [1] * values.ndim
    along[channel_dim] = -1
    return scales.reshape(along)


def _quantized_type(type: T | str) -> T:
    """A quantized type by member, name or number."""
    try:
        kind = member(T, type)
    except NnapiError:
        names = [kind.name for kind in QUANTIZED_RANGE]
        meant = _BY_DTYPE.get(getattr(type, "__name__", str(type)).lower())
        raise unknown("quantized type", type, names, meant.name if meant else "") from None
    if kind not in QUANTIZED_RANGE:
        raise bad_data(f"{kind.name} is not quantized", "quantization.type")
    return kind
