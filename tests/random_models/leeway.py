"""How far floating-point results at the edges may be apart: what docs/deviations.md leaves open."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType, PaddingCode
from nnapi_shim.operations import operation
from tests.random_models.graph import Node, types_named
from tests.random_models.running import evaluate
from tests.single import Value, scalar

LARGEST = np.finfo(np.float32).max
SMALLEST = np.finfo(np.float32).smallest_normal
ROUNDINGS = 2.0**-20
"""Of a sum, times the size of what it adds up."""

SUMS = frozenset(
    types_named(
        "CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D FULLY_CONNECTED BATCH_MATMUL "
        "REDUCE_SUM MEAN AVERAGE_POOL_2D ROI_ALIGN RESIZE_BILINEAR"
    )
)
"""Operations whose outputs are sums of products, or of numbers."""

WIDENED = {
    OperandType.TENSOR_FLOAT32: OperandType.TENSOR_FLOAT32,
    OperandType.TENSOR_FLOAT16: OperandType.TENSOR_FLOAT32,
    OperandType.FLOAT32: OperandType.FLOAT32,
    OperandType.FLOAT16: OperandType.FLOAT32,
}


class _Used:
    """An operation with its operands; position: of the output that it is about."""

    def __init__(
        self, node: Node, inputs: Sequence[Value], outputs: Sequence[Value], position: int
    ) -> None:
        self.node = node
        self._outputs = [_widened(value, np.array) for value in outputs]
        self._position = position
        types = (tuple([value.operand.type for value in side]) for side in (inputs, outputs))
        names = operation(node.type).match(*types).input_names
        self.inputs = dict(zip(names, inputs, strict=True))
        """By name; the last of those that share one."""
        self._pairs = list(zip(names, inputs, strict=True))

    def result(self, change: Callable[[Any], Any]) -> Any:
        """The output in float32, without an activation, after a change of all real numbers."""
        inputs = [
            scalar(OperandType.INT32, FuseCode.NONE)
            if name == "activation"
            else _widened(value, change)
            for name, value in self._pairs
        ]
        return evaluate(self.node, inputs, self._outputs)[self._position]


def _widened(value: Value, change: Callable[[Any], Any]) -> Value:
    """Real numbers in float32, changed; others as they are."""
    if value.operand.type not in WIDENED:
        return value
    operand = value.operand._replace(type=WIDENED[value.operand.type])
    if value.array is None:
        return Value(operand, None, value.is_omitted)
    return Value(operand, change(value.array.astype(np.float32)).astype(np.float32))


def leeway(node: Node, inputs: Sequence[Value], outputs: Sequence[Value], position: int) -> Any:
    """What is added to the tolerance of a floating-point output: infinity where it is undefined."""
    if outputs[position].operand.type not in WIDENED or node.graphs:
        return 0.0
    used = _Used(node, inputs, outputs, position)
    with np.errstate(all="ignore"):
        try:
            if node.type in SUMS:
                return np.inf if _multiplies_padding(used) else _of_sum(used)
            if node.type is OperationType.REDUCE_PROD:
                return _of_product(used)
            if node.type is OperationType.INSTANCE_NORMALIZATION:
                return _of_normalization(used)
        except NnapiError:
            pass  # the changed numbers are refused
    return 0.0


def _size(array: Any) -> Any:
    return np.where(np.isfinite(array), np.abs(array), 0)


def _of_sum(used: _Used) -> Any:
    """A few roundings of the sum without any sign; if that overflows, the order decides."""
    sizes = used.result(_size)
    return np.where(sizes < LARGEST, sizes * ROUNDINGS, np.inf)


def _of_product(used: _Used) -> Any:
    """Whether the large factors, or the small ones, leave float32 by themselves."""
    large = used.result(lambda array: np.maximum(_size(array), 1))
    small = used.result(lambda array: np.where(array == 0, 1, np.minimum(np.abs(array), 1)))
    return np.where((large < LARGEST) & ~(small < SMALLEST), 0, np.inf)


def _of_normalization(used: _Used) -> Any:
    """Whether sums and differences of the image, times gamma, may exceed float32."""
    sizes = _size(used.inputs["input"].array.astype(np.float64)).sum()
    gamma = abs(float(used.inputs["gamma"].array))
    return 0.0 if 2 * sizes * max(1, gamma) < LARGEST else np.inf


def _multiplies_padding(used: _Used) -> bool:
    """Whether padding meets a filter that is not finite."""
    filter = used.inputs.get("filter")
    if filter is None or np.isfinite(filter.array).all():
        return False
    if used.node.type is OperationType.TRANSPOSE_CONV_2D:
        return True
    padding = used.inputs.get("padding")
    if padding is not None:
        return int(padding.array) != PaddingCode.VALID
    return any(used.inputs[f"pad_{side}"].array for side in ("left", "right", "top", "bottom"))
