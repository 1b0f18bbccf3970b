"""Work of an operation: arithmetic operations, as its declaration counts them, and bytes.

Bytes count each tensor that is read or written once, even if the device accesses it several times.
Counts that depend on data are None.
"""

from collections.abc import Mapping
from math import prod

from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions, is_known
from nnapi_shim.operations import operation
from nnapi_shim.operations.work import counted

Shapes = Mapping[int, Dimensions]
"""Index of an operand -> its dimensions in a run, if the model leaves them unknown."""


class Sized:
    """An operation with the dimensions of its operands in a run."""

    def __init__(self, view: OperationView, shapes: Shapes) -> None:
        self.view = view
        self.named = view.named
        self._shapes = shapes

    def dimensions(self, operand: OperandView) -> Dimensions:
        """The dimensions of an operand. Raises KeyError if they are unknown."""
        if is_known(operand.type, operand.dimensions):
            return operand.dimensions
        return self._shapes[operand.index]

    def of(self, role: str) -> Dimensions:
        """Dimensions of the operand with this role; () if it is omitted."""
        operand = self.named.get(role)
        return () if operand is None or operand.is_omitted else self.dimensions(operand)

    def size(self, role: str) -> int:
        """Elements of the operand with this role; 0 if it is omitted."""
        operand = self.named.get(role)
        return 0 if operand is None or operand.is_omitted else prod(self.dimensions(operand))

    @property
    def outputs(self) -> int:
        """Number of elements of all outputs."""
        return sum(prod(self.dimensions(operand)) for operand in self.view.outputs)

    def value(self, role: str, default: int) -> int:
        """The value of a scalar constant."""
        operand = self.named.get(role)
        constant = None if operand is None else operand.value
        return default if constant is None else int(constant)


def flops(view: OperationView, shapes: Shapes) -> int | None:
    """Arithmetic operations of a run; None if they depend on data or dimensions are unknown."""
    if not isinstance(view.type, OperationType):
        return None
    try:
        return counted(operation(view.type).work, Sized(view, shapes))
    except (KeyError, IndexError):
        return None


def is_integer(view: OperationView) -> bool:
    """Whether the arithmetic of an operation is that of quantized numbers."""
    return bool(view.inputs) and view.inputs[0].type in QUANTIZED_RANGE


def moved_bytes(view: OperationView, shapes: Shapes) -> int | None:
    """Bytes that an operation reads and writes; None if dimensions are unknown, for extension
    operations and for control flow.
    """
    if not isinstance(view.type, OperationType):
        return None
    declaration = operation(view.type)
    if not declaration.types:
        return None
    op = Sized(view, shapes)
    table = op.named.get(declaration.looks_up)
    read = {operand.index: operand for operand in view.inputs if not operand.is_omitted}
    try:
        written = sum(_bytes(op, operand) for operand in view.outputs)
        read_bytes = sum(
            min(written, _bytes(op, operand)) if operand is table else _bytes(op, operand)
            for operand in read.values()
            if operand.type not in SCALARS
        )
    except KeyError:
        return None
    return written + read_bytes


def _bytes(op: Sized, operand: OperandView) -> int:
    return ELEMENT_BYTES[operand.type] * prod(op.dimensions(operand))
