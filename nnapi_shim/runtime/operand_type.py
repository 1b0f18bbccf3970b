"""The rules for an operand type, in model building and at execution."""

from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import (
    ASYMMETRIC,
    ELEMENT_BYTES,
    MAX_BYTES,
    QUANTIZED_RANGE,
    SCALARS,
    SYMMETRIC,
)
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Sequence
from nnapi_shim.runtime import extension

_types = {int(member): member for member in OperandType}
_ANY_PARAMETERS = frozenset(
    (OperandType.TENSOR_INT32, OperandType.OEM_SCALAR, OperandType.TENSOR_OEM_BYTE)
)


def checked_type(
    code: int, dimensions: Sequence[int] | None, rank: int, scale: float, zero_point: int
) -> tuple[OperandType, Dimensions]:
    """Validate an operand type and its dimensions; raises BAD_DATA.

    dimensions: `rank` sizes, 0 for an unknown one; None with rank 0 for scalars and for tensors
    of unknown rank.
    """
    kind = _types.get(code)
    if kind is None:
        if not code >> 16:
            raise bad_data(
                f"operand type {code} does not exist; allowed are 0 to 15, 10000, 10001",
                "operand-type.code",
            )
        kind = extension.operand_type(code)
    if (dimensions is None) != (rank == 0):
        raise bad_data(
            f"{kind.name}: dimensionCount is {rank} and dimensions "
            f"{'NULL' if dimensions is None else 'not NULL'}",
            "operand-type.dimensions",
        )
    if kind in SCALARS and rank:
        raise bad_data(
            f"{rank} dimensions given; {kind.name} is a scalar and has none{_tensor_of(kind)}",
            "operand-type.scalar-dimensions",
        )
    if not -(1 << 31) <= zero_point < 1 << 31:  # from Python
        raise bad_data(
            f"{kind.name}: zeroPoint is {zero_point}; it must fit into 32 bits",
            "operand-type.zero-point-bits",
        )
    if kind not in _ANY_PARAMETERS:
        _check_parameters(kind, scale, zero_point)
    size = ELEMENT_BYTES[kind]
    sizes: list[int] = []
    for length in dimensions or ():  # read one at a time: the array may be shorter than `rank`
        if not 0 <= length <= MAX_BYTES:  # from Python
            message = f"{kind.name}: a dimension is {length}; allowed are 0 to {MAX_BYTES}"
            raise bad_data(message, "operand-type.dimension-size")
        sizes.append(length)
        size *= length or 1
        if size > MAX_BYTES:
            shown = ", ".join(map(str, sizes)) + (", ..." if len(sizes) < rank else "")
            raise bad_data(
                f"{kind.name}[{shown}] has more than the {MAX_BYTES} bytes allowed",
                "operand-type.too-large",
            )
    return kind, tuple(sizes)


def _check_parameters(kind: OperandType, scale: float, zero_point: int) -> None:
    if kind in ASYMMETRIC or kind in SYMMETRIC:
        if not scale > 0:
            raise bad_data(
                f"{kind.name}: scale is {scale:g}; it must be greater than 0", "operand-type.scale"
            )
        low, high = QUANTIZED_RANGE[kind] if kind in ASYMMETRIC else (0, 0)
        if not low <= zero_point <= high:
            raise bad_data(
                f"{kind.name}: zeroPoint is {zero_point}; allowed are {low} to {high}",
                "operand-type.zero-point",
            )
    elif scale != 0 or zero_point != 0:
        raise bad_data(
            f"{kind.name}: scale is {scale:g} and zeroPoint {zero_point}; both must be 0",
            "operand-type.unquantized",
        )


def _tensor_of(kind: OperandType) -> str:
    """A hint at the tensor type with the elements of a scalar type."""
    name = {"BOOL": "TENSOR_BOOL8"}.get(kind.name, f"TENSOR_{kind.name}")
    return f"; did you mean {name}?" if name in OperandType.__members__ else ""
