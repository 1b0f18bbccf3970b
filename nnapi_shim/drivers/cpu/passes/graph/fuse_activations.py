"""Fuses RELU, RELU1 and RELU6 into the preceding operation."""

from nnapi_shim.drivers.cpu.lowering.bounds import MOVED
from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.operations import operation
from nnapi_shim.operations.rules import fused_activation

O = OperationType  # noqa: E741
CODES = {O.RELU: FuseCode.RELU, O.RELU1: FuseCode.RELU1, O.RELU6: FuseCode.RELU6}
OF_FLOATS = (
    O.ADD,
    O.CONV_2D,
    O.DEPTHWISE_CONV_2D,
    O.FULLY_CONNECTED,
    O.GROUPED_CONV_2D,
    O.MAX_POOL_2D,
    O.TRANSPOSE_CONV_2D,
)
"""Float operations whose fused activation treats NaN as RELU does; others propagate NaN."""
FLOATS = (OperandType.TENSOR_FLOAT32, OperandType.TENSOR_FLOAT16)


def _takes_activation(graph: MutableGraph, item: Operation) -> bool:
    del graph
    return fused_activation in operation(item.type).checks


PRODUCER = Op(tuple(OperationType), accepts=_takes_activation)
ACTIVATION = Op(tuple(CODES), PRODUCER)


def fuse_activations(graph: MutableGraph) -> None:
    """Fuse RELU, RELU1 and RELU6 into an operation with activation NONE. Quantized operands have
    the same scale and zero point on both sides, so the clamping bounds are the same, too.
    """
    codes: dict[tuple[FuseCode, bytes], int] = {}
    for match in matches(graph, ACTIVATION):
        item, first = match[ACTIVATION], match[PRODUCER]
        between, target = item.inputs[0], item.outputs[0]
        is_float = graph.operands[between].type in FLOATS
        if is_float and first.type not in OF_FLOATS:
            continue
        if not graph.is_plain(*first.inputs, between, target):
            continue
        named = graph.named(first)
        if graph.value(named["activation"]) != FuseCode.NONE:
            continue
        code = CODES[OperationType(item.type)]
        # MAX_POOL_2D ignores NaN: its maximum starts at the lower bound.
        mark = MOVED if is_float and first.type != O.MAX_POOL_2D else b""
        if (code, mark) not in codes:
            codes[code, mark] = graph.scalar(OperandType.INT32, code, mark)
        at = list(named).index("activation")
        inputs = (*first.inputs[:at], codes[code, mark], *first.inputs[at + 1 :])
        match.replace(PRODUCER, first._replace(inputs=inputs, outputs=(target,)))
        graph.report(item, f"{title(item)}: added at the end of {title(first)}")
