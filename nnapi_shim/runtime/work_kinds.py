"""The kinds of work that a calibration tells apart, and how much of it an operation is.

Products and windows are counted in arithmetic operations, all other kinds in bytes that are read
and written. What only a run tells counts as nothing.
"""

from math import prod

from nnapi_shim import address
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS, decoded
from nnapi_shim.hal.types import Dimensions, Model, Operation, Subgraph, is_known
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations import family, matched
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.work import counted

CONVOLUTION = "convolution"
POINTWISE = "pointwise convolution"
DEPTHWISE = "depthwise convolution"
MATRIX = "matrix product"
VECTOR = "product with a vector"
RECURRENT = "recurrent"
POOLING = "pooling"
ELEMENTWISE = "elementwise"
FUNCTION = "function"
REDUCTION = "reduction"
MOVEMENT = "movement"
RESIZING = "resizing"

ARITHMETIC = (CONVOLUTION, POINTWISE, DEPTHWISE, MATRIX, VECTOR, RECURRENT, POOLING)
"""Kinds that are counted in arithmetic operations."""
KINDS = (*ARITHMETIC, ELEMENTWISE, FUNCTION, REDUCTION, MOVEMENT, RESIZING)

_BY_FORMULA = {
    "convolution": CONVOLUTION,
    "transposed": CONVOLUTION,
    "depthwise": DEPTHWISE,
    "fully_connected": MATRIX,
    "matrices": MATRIX,
    "projection": MATRIX,
    "recurrent": RECURRENT,
    "window": POOLING,
    "squares_of_window": POOLING,
}
"""Name of a formula (operations/work.py) -> kind."""

_BY_FAMILY = {"reduction": REDUCTION, "softmax": FUNCTION, "normalization": FUNCTION}
_FUNCTIONS = frozenset(["LOGISTIC", "TANH", "ELU", "EXP", "LOG", "SIN", "SQRT", "RSQRT", "POW"])
_REDUCTIONS = frozenset(("ARGMAX", "ARGMIN", "TOPK_V2"))

FLOAT32, RELAXED, FLOAT16, QUANT8 = "float32", "relaxed float32", "float16", "quant8"
TYPES = (FLOAT32, RELAXED, FLOAT16, QUANT8)
"""The types that a calibration tells apart; integers and truth values count as float32."""

_TYPES: dict[int, str] = {
    OperandType.TENSOR_FLOAT16: FLOAT16,
    OperandType.FLOAT16: FLOAT16,
    OperandType.TENSOR_QUANT8_ASYMM: QUANT8,
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: QUANT8,
    OperandType.TENSOR_QUANT8_SYMM: QUANT8,
    OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL: QUANT8,
}
_FLOAT32 = (OperandType.TENSOR_FLOAT32, OperandType.FLOAT32)


class Amount(NamedTuple):
    """The work of an operation; kind and type are of those above."""

    kind: str
    type: str
    amount: float


def type_of(model: Model, type: OperandType | int) -> str:
    """The type of a calibration for an operand type."""
    if type in _FLOAT32 and model.relax_computation_float32_to_float16:
        return RELAXED
    return _TYPES.get(type, FLOAT32)


def bytes_of(graph: Subgraph, index: int) -> int:
    """The bytes of an operand; 0 for one that only a run tells, or of an extension."""
    operand = graph.operands[index]
    if operand.type not in ELEMENT_BYTES or not is_known(operand.type, operand.dimensions):
        return 0
    return ELEMENT_BYTES[operand.type] * prod(operand.dimensions)


def amount_of(model: Model, graph: Subgraph, item: Operation) -> Amount | None:
    """The work of an operation; None for IF, WHILE and operations of extensions."""
    if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
        return None
    if item.type in (OperationType.IF, OperationType.WHILE):
        return None
    declaration = declaration_of(item.type)
    type = type_of(model, graph.operands[item.inputs[0]].type)
    try:
        op = _Sized(model, graph, item)
        kind = _kind(declaration.work, item, op)
        if kind in ARITHMETIC:
            return Amount(kind, type, counted(declaration.work, op) or 0)
    except NnapiError:  # the declaration does not accept it; a device does
        return Amount(ELEMENTWISE, type, 0)
    except (KeyError, IndexError):
        return Amount(_kind_without_sizes(declaration.work, item), type, 0)
    return Amount(kind, type, 0 if family(item.type) == "reshape" else op.bytes)


def _kind(work: object, item: Operation, op: "_Sized") -> str:
    kind = _kind_without_sizes(work, item)
    if kind == CONVOLUTION and op.of("filter")[1:3] == (1, 1):
        return POINTWISE
    if kind == MATRIX and item.type is not OperationType.LSH_PROJECTION:
        output = op.dimensions(item.outputs[0])
        return VECTOR if prod(output[:-1]) == 1 else MATRIX
    return kind


def _kind_without_sizes(work: object, item: Operation) -> str:
    assert isinstance(item.type, OperationType)
    name, of_family = item.type.name, family(item.type)
    if isinstance(work, str) and work in _BY_FORMULA:
        return _BY_FORMULA[work]
    if name in _FUNCTIONS:
        return FUNCTION
    if name in _REDUCTIONS:
        return REDUCTION
    if of_family in _BY_FAMILY:
        return _BY_FAMILY[of_family]
    if name == "RESIZE_BILINEAR":
        return RESIZING
    return MOVEMENT if work == 0 and name != "SELECT" else ELEMENTWISE


class _Sized:
    """As operations.work.Sized."""

    def __init__(self, model: Model, graph: Subgraph, item: Operation) -> None:
        """Raises BAD_DATA for an operation that its declaration does not accept."""
        match = matched(item, graph.operands)
        self._model = model
        self._graph = graph
        self._item = item
        self.named = dict(zip(match.input_names, item.inputs, strict=True))
        self.named.update(zip(match.output_names, item.outputs, strict=True))

    def dimensions(self, index: int) -> Dimensions:
        """The dimensions of an operand. Raises KeyError if they are unknown."""
        operand = self._graph.operands[index]
        if not is_known(operand.type, operand.dimensions):
            raise KeyError(index)
        return operand.dimensions

    @property
    def outputs(self) -> int:
        """Number of elements of all outputs."""
        return sum(prod(self.dimensions(index)) for index in self._item.outputs)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors, each once."""
        operands = self._graph.operands
        tensors = {
            index
            for index in (*self._item.inputs, *self._item.outputs)
            if operands[index].type not in SCALARS and operands[index].lifetime is not L.NO_VALUE
        }
        return sum(bytes_of(self._graph, index) for index in tensors)

    def of(self, role: str) -> Dimensions:
        """Dimensions of the operand with this role; () if it is omitted."""
        index = self.named.get(role)
        if index is None or self._graph.operands[index].lifetime is L.NO_VALUE:
            return ()
        return self.dimensions(index)

    def size(self, role: str) -> int:
        """Elements of the operand with this role; 0 if it is omitted."""
        index = self.named.get(role)
        if index is None or self._graph.operands[index].lifetime is L.NO_VALUE:
            return 0
        return prod(self.dimensions(index))

    def value(self, role: str, default: int) -> int:
        """The value of a scalar constant."""
        index = self.named.get(role)
        if index is None:
            return default
        operand = self._graph.operands[index]
        at, length = operand.location.offset, operand.location.length
        if operand.lifetime is L.CONSTANT_COPY:
            data = self._model.operand_values[at : at + length]
        elif operand.lifetime is L.CONSTANT_REFERENCE:
            data = address.read(self._model.pools[operand.location.pool_index].map() + at, length)
        else:
            return default
        return int(decoded(operand.type, data))
