"""Declarations of the operations: data and a shape function; no loops over elements.

Each family is a file, imported at the first use of one of its operations.
"""

from nnapi_shim.errors import NnapiError, Place, bad_data
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hints import Any, Callable, Sequence
from nnapi_shim.limits import watched
from nnapi_shim.modules import import_module
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Match, Operation

FAMILIES = {
    "activation": "RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU",
    "binary": "ADD SUB MUL DIV MAXIMUM MINIMUM POW",
    "comparison": "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL",
    "control_flow": "IF WHILE",
    "conversion": "QUANTIZE DEQUANTIZE CAST",
    "convolution": "CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D",
    "detection": "AXIS_ALIGNED_BBOX_TRANSFORM DETECTION_POSTPROCESSING HEATMAP_MAX_KEYPOINT",
    "joining": "CONCATENATION PACK TILE",
    "lstm": "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM",
    "lstm_quantized": "QUANTIZED_16BIT_LSTM QUANTIZED_LSTM",
    "logical": "LOGICAL_AND LOGICAL_OR LOGICAL_NOT",
    "lookup": "GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION",
    "matmul": "FULLY_CONNECTED BATCH_MATMUL",
    "normalization": "L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION INSTANCE_NORMALIZATION",
    "padding": "PAD PAD_V2 MIRROR_PAD",
    "pooling": "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D",
    "proposal": "BOX_WITH_NMS_LIMIT GENERATE_PROPOSALS",
    "rearrange": "TRANSPOSE DEPTH_TO_SPACE SPACE_TO_DEPTH BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND "
    "CHANNEL_SHUFFLE REVERSE",
    "reduction": "MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM",
    "resize": "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    "reshape": "RESHAPE SQUEEZE EXPAND_DIMS RANK FILL",
    "rnn": "RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF",
    "roi": "ROI_ALIGN ROI_POOLING",
    "sampling": "RANDOM_MULTINOMIAL",
    "selection": "SELECT ARGMAX ARGMIN TOPK_V2",
    "slicing": "SLICE STRIDED_SLICE SPLIT",
    "softmax": "SOFTMAX LOG_SOFTMAX",
    "unary": "ABS EXP FLOOR LOG NEG RSQRT SIN SQRT",
}
"""Family (a file here and of the same name in every device) -> its operations."""

_family_of = {name: family for family, names in FAMILIES.items() for name in names.split()}
_loaded: dict[int, Operation] = {}


def family(type: OperationType) -> str:
    """Name of the file that declares an operation."""
    return _family_of[type.name]


def operation(type: int) -> Operation:
    """The declaration of an operation; raises BAD_DATA for an unknown one."""
    loaded = _loaded.get(type)
    if loaded is None:
        type = OperationType(type)
        if type.name not in _family_of:
            raise bad_data(
                f"{type.name} is not available in this version; operations/__init__.py lists those "
                "that are, by family",
                "operation.type",
            )
        module = import_module(f"{__name__}.{_family_of[type.name]}")
        loaded = _loaded[type] = getattr(module, type.name)
    return loaded


def registry() -> list[Operation]:
    """All declarations, in the order of their codes."""
    return [operation(type) for type in OperationType if type.name in _family_of]


def bound_operand(
    index: int, operand: Any, dimensions: hal.Dimensions | None = None
) -> BoundOperand:
    """An operand of a graph, with its declared dimensions or with others.

    Declared dimensions of an omitted operand are ignored, unless they are passed here.
    """
    lifetime = operand.lifetime
    is_omitted = lifetime is OperandLifeTime.NO_VALUE
    declared = () if is_omitted else operand.dimensions
    bound = BoundOperand(
        index,
        operand.type,
        declared if dimensions is None else dimensions,
        operand.scale,
        operand.zero_point,
        operand.channel_quant,
        lifetime is OperandLifeTime.SUBGRAPH_OUTPUT,
    )
    bound.is_omitted = is_omitted
    return bound


def matched(item: hal.Operation, operands: Sequence[Any], base: int = 0) -> Match:
    """The signature of an operation of a graph; raises BAD_DATA if none fits.

    operands: those of the graph, for their types. base: subtracted from indexes in messages.
    """
    try:
        return _match(item, operands)
    except NnapiError as error:
        role = error.place("input", "output")
        if role is None:
            raise
        index = (item.inputs if role.kind == "input" else item.outputs)[role.number] - base
        message = error.message.replace(")", f", operand {index})", 1)
        raise error.worded(message).about(Place("operand", index, role.name)) from None


def bound_operation(
    item: hal.Operation,
    operands: Sequence[Any],
    value_of: Callable[[int, bool], Any],
    tensor: Callable[[int], BoundOperand],
) -> BoundOperation:
    """An operation of a graph with its operands by name; raises BAD_DATA if no signature fits.

    operands: as in `matched`. value_of: (index of an input, whether its value is needed) -> the
    attribute (see Operation.bind). tensor: index -> operand.
    """
    match = matched(item, operands)
    values = match.value_positions
    return match.operation.bind(
        match,
        [value_of(index, at in values) for at, index in enumerate(item.inputs)],
        [tensor(index) for index in item.outputs],
        lambda at: tensor(item.inputs[at]),
        (*item.inputs, *item.outputs),
    )


def _match(item: hal.Operation, operands: Sequence[Any]) -> Match:
    return operation(item.type).match(
        tuple([operands[i].type for i in item.inputs]),
        tuple([operands[i].type for i in item.outputs]),
    )


def supported(model: hal.Model) -> list[bool]:
    """Per operation of the main graph: whether its declaration accepts it.

    An IF or WHILE is accepted if all operations of its graphs are.
    """
    graphs: list[bool] = []
    for graph in model.referenced:
        graphs.append(all(_is_declared(item, graph, graphs) for item in graph.operations))
    return [_is_declared(item, model.main, graphs) for item in watched(model.main.operations)]


def _is_declared(item: hal.Operation, graph: hal.Subgraph, graphs: list[bool]) -> bool:
    """Whether an operation is accepted. graphs: per referenced graph, whether all of it is."""
    if not isinstance(item.type, OperationType):
        return False
    operands = graph.operands
    try:
        _match(item, operands)
    except NnapiError:
        return False
    return not graphs or all(
        graphs[operands[index].location.offset]
        for index in item.inputs
        if operands[index].lifetime is OperandLifeTime.SUBGRAPH
    )
