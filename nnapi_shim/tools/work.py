"""How much work an operation is: arithmetic operations and bytes, for each of the 106 operations.

A multiplication and an addition count as one each, so does an elementary function such as the
exponential; what a fused activation or a requantization adds does not count. Bytes are those of
each tensor that is read or written, once, however often the device really touches them. None where
only the data tell.
"""

from collections.abc import Callable, Mapping
from math import prod

from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import Dimensions, is_known

Shapes = Mapping[int, Dimensions]
"""Index of an operand -> its dimensions in a run, where the model does not say them."""


class Sized:
    """An operation with the dimensions that its operands have in a run."""

    def __init__(self, view: OperationView, shapes: Shapes) -> None:
        self.view = view
        self.named = view.named
        self._shapes = shapes

    def dimensions(self, operand: OperandView) -> Dimensions:
        """Raises KeyError for an operand of which they are not known."""
        if is_known(operand.type, operand.dimensions):
            return operand.dimensions
        return self._shapes[operand.index]

    def of(self, role: str) -> Dimensions:
        """Dimensions of the operand with this role; () for one that the form leaves out."""
        operand = self.named.get(role)
        return () if operand is None or operand.is_omitted else self.dimensions(operand)

    def size(self, role: str) -> int:
        """Elements of the operand with this role; 0 for one that is left out."""
        operand = self.named.get(role)
        return 0 if operand is None or operand.is_omitted else prod(self.dimensions(operand))

    @property
    def outputs(self) -> int:
        """Elements of all outputs."""
        return sum(prod(self.dimensions(operand)) for operand in self.view.outputs)

    def value(self, role: str, default: int) -> int:
        """The value of a scalar constant."""
        operand = self.named.get(role)
        found = None if operand is None else operand.value
        return default if found is None else int(found)


Count = Callable[[Sized], int | None]


def _none(op: Sized) -> int | None:
    """Values are moved and not computed."""
    return 0


def _unknown(op: Sized) -> int | None:
    """Only the data tell."""
    return None


def _each(times: int, role: str = "") -> Count:
    """So many for each element of the outputs, or of an input."""
    return lambda op: times * (op.size(role) if role else op.outputs)


def _convolution(op: Sized) -> int:
    """Filter [depth_out, height, width, depth of a group]."""
    return 2 * op.outputs * prod(op.of("filter")[1:]) + op.outputs


def _depthwise(op: Sized) -> int:
    """Filter [1, height, width, depth_out]."""
    return 2 * op.outputs * prod(op.of("filter")[1:3]) + op.outputs


def _transposed(op: Sized) -> int:
    """Every input element meets the whole filter of its channel."""
    filter = op.of("filter")
    return 2 * op.size("input") * filter[0] * filter[1] * filter[2] + op.outputs


def _fully_connected(op: Sized) -> int:
    return 2 * op.outputs * op.of("weights")[1] + op.outputs


def _matrices(op: Sized) -> int:
    lhs = op.of("lhs")
    return 2 * op.outputs * (lhs[-2] if op.value("adj_x", 0) else lhs[-1])


def _pool(times: int) -> Count:
    """Elements of the window for each output."""

    def counted(op: Sized) -> int | None:
        width, height = op.value("filter_width", 0), op.value("filter_height", 0)
        return times * op.outputs * width * height if width and height else None

    return counted


def _recurrent(op: Sized) -> int:
    """Every row of the input meets all weights once."""
    rows = prod(op.of("input")[:-1])
    weights = sum(
        prod(op.dimensions(operand))
        for role, operand in op.named.items()
        if "weights" in role and not operand.is_omitted
    )
    return 2 * rows * weights


def _local_response(op: Sized) -> int:
    """The sum of squares over a window of channels, and a power."""
    return op.outputs * (2 * (2 * op.value("radius", 0) + 1) + 4)


def _roi_align(op: Sized) -> int | None:
    """A bilinear value for each sample; how many there are may follow from the boxes."""
    samples = op.value("height_sampling_ratio", 0) * op.value("width_sampling_ratio", 0)
    return op.outputs * samples * 8 if samples else None


def _projection(op: Sized) -> int:
    """Every hash function meets every row of the input."""
    return 2 * op.size("hash") * op.size("input")


_GROUPS: tuple[tuple[Count, str], ...] = (
    (
        _none,
        "RESHAPE SQUEEZE EXPAND_DIMS RANK FILL TRANSPOSE DEPTH_TO_SPACE SPACE_TO_DEPTH "
        "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND CHANNEL_SHUFFLE REVERSE CONCATENATION PACK TILE "
        "GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP PAD PAD_V2 MIRROR_PAD SLICE STRIDED_SLICE SPLIT "
        "RESIZE_NEAREST_NEIGHBOR SELECT CAST",
    ),
    (
        _each(1),
        "ADD SUB MUL DIV MAXIMUM MINIMUM POW EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS "
        "LESS_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT ABS EXP FLOOR LOG NEG RSQRT SIN SQRT RELU "
        "RELU1 RELU6 TANH LOGISTIC PRELU",
    ),
    (_each(2), "QUANTIZE DEQUANTIZE ELU"),
    (_each(3), "HARD_SWISH"),
    (_each(3, "input"), "L2_NORMALIZATION"),
    (_each(5, "input"), "SOFTMAX LOG_SOFTMAX"),
    (_each(7, "input"), "INSTANCE_NORMALIZATION"),
    (_each(7), "RESIZE_BILINEAR"),
    (_each(10), "AXIS_ALIGNED_BBOX_TRANSFORM"),
    (
        _each(1, "input"),
        "MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM ARGMAX ARGMIN "
        "TOPK_V2",
    ),
    (_each(1, "heatmaps"), "HEATMAP_MAX_KEYPOINT"),
    (_each(2, "logits"), "RANDOM_MULTINOMIAL"),
    (_convolution, "CONV_2D GROUPED_CONV_2D"),
    (_depthwise, "DEPTHWISE_CONV_2D"),
    (_transposed, "TRANSPOSE_CONV_2D"),
    (_fully_connected, "FULLY_CONNECTED"),
    (_matrices, "BATCH_MATMUL"),
    (_pool(1), "AVERAGE_POOL_2D MAX_POOL_2D"),
    (_pool(2), "L2_POOL_2D"),
    (_local_response, "LOCAL_RESPONSE_NORMALIZATION"),
    (
        _recurrent,
        "RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF LSTM "
        "UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM QUANTIZED_16BIT_LSTM "
        "QUANTIZED_LSTM",
    ),
    (_projection, "LSH_PROJECTION"),
    (_roi_align, "ROI_ALIGN"),
    (
        _unknown,
        "ROI_POOLING BOX_WITH_NMS_LIMIT DETECTION_POSTPROCESSING GENERATE_PROPOSALS IF WHILE",
    ),
)

COUNTS: dict[O, Count] = {O[name]: count for count, names in _GROUPS for name in names.split()}
"""Operation -> how its arithmetic operations are counted."""

LOOKED_UP = {
    O.GATHER: "input",
    O.EMBEDDING_LOOKUP: "values",
    O.HASHTABLE_LOOKUP: "values",
    O.SLICE: "input",
    O.STRIDED_SLICE: "input",
}
"""Operations that read as much of an input as they write."""


def flops(view: OperationView, shapes: Shapes) -> int | None:
    """Arithmetic operations of a run; None where only the data tell, or dimensions are unknown."""
    count = COUNTS.get(view.type) if isinstance(view.type, O) else None
    try:
        return None if count is None else count(Sized(view, shapes))
    except (KeyError, IndexError):
        return None


def moved_bytes(view: OperationView, shapes: Shapes) -> int | None:
    """Bytes that an operation reads and writes; None where dimensions are unknown, and for
    operations of extensions and those that run graphs.
    """
    if not isinstance(view.type, O) or view.type in (O.IF, O.WHILE):
        return None
    op = Sized(view, shapes)
    partly = op.named.get(LOOKED_UP.get(view.type, ""))
    read = {operand.index: operand for operand in view.inputs if not operand.is_omitted}
    try:
        written = sum(_bytes(op, operand) for operand in view.outputs)
        given = sum(
            min(written, _bytes(op, operand)) if operand is partly else _bytes(op, operand)
            for operand in read.values()
            if operand.type not in SCALARS
        )
    except KeyError:
        return None
    return written + given


def _bytes(op: Sized, operand: OperandView) -> int:
    return ELEMENT_BYTES[operand.type] * prod(op.dimensions(operand))
