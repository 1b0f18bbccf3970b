"""An activation that stands alone becomes that of the operation whose result it reads."""

from nnapi_shim.drivers.cpu.compile.fused import MOVED
from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType
from nnapi_shim.operations import operation
from nnapi_shim.operations.rules import fused_activation

NAME = "fuse_activations"
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
"""Operations whose kernels make of NaN what RELU does, which a fused activation keeps."""
FLOATS = (OperandType.TENSOR_FLOAT32, OperandType.TENSOR_FLOAT16)


def fuse_activations(graph: Graph) -> None:
    """RELU, RELU1 and RELU6 behind an operation without an activation; where it is quantized, the
    scale and zero point are the same on both sides, and the bounds in both.
    """
    codes: dict[tuple[FuseCode, bytes], int] = {}
    for position, item in graph.each(*CODES):
        between, target = item.inputs[0], item.outputs[0]
        is_float = graph.operands[between].type in FLOATS
        found = graph.before(between, *(OF_FLOATS if is_float else ()))
        if found is None:
            continue
        place, first = found
        if fused_activation not in operation(OperationType(first.type)).checks:
            continue
        if not graph.is_plain(*first.inputs, between, target):
            continue
        named = graph.named(first)
        if graph.value(named["activation"]) != FuseCode.NONE:
            continue
        code = CODES[OperationType(item.type)]
        # A maximum passes NaN over, and begins with the bound.
        told = MOVED if is_float and first.type != O.MAX_POOL_2D else b""
        if (code, told) not in codes:
            codes[code, told] = graph.scalar(OperandType.INT32, code, told)
        at = list(named).index("activation")
        inputs = (*first.inputs[:at], codes[code, told], *first.inputs[at + 1 :])
        graph.remove(position)
        graph.replace(place, first._replace(inputs=inputs, outputs=(target,)))
        what = f"{title(item)}: added at the end of {title(first)}"
        graph.done.append(Done(NAME, item.number, what))
