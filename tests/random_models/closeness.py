"""How close an output of an operation has to be to what it should be."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, OperationType
from tests.operations.cases import TOLERANCE
from tests.random_models.graph import Graph, Node, types_named
from tests.random_models.leeway import leeway
from tests.random_models.running import evaluate
from tests.single import Value

MOVES = frozenset(
    types_named(
        "RESHAPE SQUEEZE EXPAND_DIMS SLICE STRIDED_SLICE SPLIT TILE TRANSPOSE REVERSE PACK GATHER "
        "PAD PAD_V2 MIRROR_PAD CHANNEL_SHUFFLE DEPTH_TO_SPACE SPACE_TO_DEPTH BATCH_TO_SPACE_ND "
        "SPACE_TO_BATCH_ND EMBEDDING_LOOKUP HASHTABLE_LOOKUP FILL RANK"
    )
)
"""Operations whose outputs are bits of their inputs."""

EXACT = MOVES | frozenset(
    types_named(
        "MAXIMUM MINIMUM RELU RELU1 RELU6 ABS NEG FLOOR SELECT REDUCE_MAX REDUCE_MIN MAX_POOL_2D "
        "TOPK_V2"
    )
)
"""Operations with nothing to round. Integers, the quantized ones too, agree exactly everywhere."""

SPREAD_RUNS = 6
SPREADS = 2
"""How often an output is computed with other last bits, and how many times the distance between the
results is allowed.
"""


class Difference(Exception):  # noqa: N818 (a result of a test)
    """Something that has to agree does not.

    node: the operation where it shows, if one does. graph: the graph of an IF or WHILE that it is
    in, as a model of its own.
    """

    def __init__(self, message: str, node: int | None = None, graph: Graph | None = None) -> None:
        super().__init__(message)
        self.node = node
        self.graph = graph


def close(
    node: Node,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    actual: Any,
    expected: Any,
    special: bool = False,
) -> None:
    """Raise Difference unless all outputs of an operation are close to what they should be.

    special: inputs may be at the edges of their types.
    """
    for position, (output, ours, theirs) in enumerate(zip(outputs, actual, expected, strict=True)):
        what = f"output {position} of {node.type.name}"
        try:
            _compare(node.type, output.operand.type, ours, theirs, what)
        except Difference:
            apart = spread(node, inputs, outputs, position)
            if special:
                apart = apart + leeway(node, inputs, outputs, position)
            _compare(node.type, output.operand.type, ours, theirs, what, apart)


def spread(node: Node, inputs: Sequence[Value], outputs: Sequence[Value], position: int) -> Any:
    """How far a TENSOR_FLOAT32 output moves when the last bits of the inputs change.

    Where it moves further than the tolerance, as with a sum of products that cancel each other or a
    variance of numbers that are nearly equal, a computation in float32 cannot be held to it.
    """
    if outputs[position].operand.type != OperandType.TENSOR_FLOAT32 or node.type in EXACT:
        return 0.0
    rng = np.random.default_rng(0)
    results = []
    for _ in range(SPREAD_RUNS):
        moved = []
        for value in inputs:
            if value.operand.type == OperandType.TENSOR_FLOAT32 and value.array is not None:
                noise = 1 + rng.integers(-2, 3, value.array.shape) * 2.0**-23
                with np.errstate(over="ignore"):
                    value = value._replace(array=(value.array * noise).astype(np.float32))
            moved.append(value)
        try:
            results.append(evaluate(node, moved, outputs)[position].astype(np.float64))
        except NnapiError:
            return 0.0  # at the edge of what is allowed: nothing to go by
    with np.errstate(invalid="ignore"):
        distance = SPREADS * (np.max(results, 0) - np.min(results, 0))
    return np.where(np.isnan(distance), 0, distance)


def _compare(
    operation: OperationType,
    type: OperandType,
    actual: Any,
    expected: Any,
    what: str,
    spread: Any = 0.0,
) -> None:
    """Raise Difference unless an output of an operation is close enough to what it should be.

    spread: what is added to the tolerance, per element.
    """
    if actual.shape != expected.shape:
        raise Difference(
            f"{what} has dimensions {list(actual.shape)}; expected {list(expected.shape)}"
        )
    exact = actual.dtype.kind != "f" or operation in EXACT
    absolute, relative = (0.0, 0.0) if exact else TOLERANCE[type]
    ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(ours - theirs) <= absolute + relative * np.abs(theirs) + spread
    near &= np.isfinite(ours) & np.isfinite(theirs)
    near |= np.isposinf(spread)
    near |= ours == theirs
    near |= np.isnan(ours) & np.isnan(theirs)
    if not near.all():
        raise Difference(f"{what}: {_worst(actual, expected, near)}")


def same_bits(actual: Any, expected: Any, what: str, node: int | None = None) -> None:
    """Raise Difference unless two outputs have the same dimensions and bits."""
    if actual.shape != expected.shape:
        raise Difference(f"{what}: {list(actual.shape)}, not {list(expected.shape)}", node)
    if actual.tobytes() != expected.tobytes():
        raise Difference(f"{what}: {_worst(actual, expected, actual == expected)}", node)


def _worst(actual: Any, expected: Any, close: Any) -> str:
    wrong = np.argwhere(~close)
    if not len(wrong):
        return "not the same bits"
    at = tuple(wrong[0].tolist())
    return (
        f"{len(wrong)} of {close.size} elements differ, first at {list(at)}: {actual[at]!r}, "
        f"expected {expected[at]!r}"
    )
