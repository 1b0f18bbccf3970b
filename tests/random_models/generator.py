"""Draws random models: one operation after the other, on what has been computed so far."""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations import registry
from tests.operations.cases import AMPLITUDE, USES, Example, Use, example, random_contents
from tests.operations.plans.common import Random
from tests.random_models import control_flow, edges, glue
from tests.random_models.graph import Graph, Node, types_named
from tests.random_models.growth import Growth, Numbers
from tests.single import Value, scalar

OPERATIONS = tuple(declaration.type for declaration in registry())
"""All that a model can be made of."""

CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)
ATTEMPTS = 30
"""How often an operation is drawn again when what there is does not fit it."""

MAX_ELEMENTS = 8192
"""Of a tensor: what is larger takes the formulas too long."""

UNTAMED = frozenset(
    types_named(
        "ADD SUB NEG ABS MAXIMUM MINIMUM RELU RELU1 RELU6 EQUAL NOT_EQUAL GREATER GREATER_EQUAL "
        "LESS LESS_EQUAL SELECT RESHAPE SLICE TILE TRANSPOSE CONCATENATION SPLIT PACK GATHER "
        "REVERSE EXPAND_DIMS SQUEEZE STRIDED_SLICE"
    )
)
"""Operations that take numbers of any size, now and then also ones that are not finite."""

SUMS = frozenset(
    types_named(
        "CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D FULLY_CONNECTED BATCH_MATMUL "
        "REDUCE_SUM MEAN AVERAGE_POOL_2D L2_POOL_2D L2_NORMALIZATION INSTANCE_NORMALIZATION RNN "
        "LOCAL_RESPONSE_NORMALIZATION UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF "
        "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM"
    )
)
"""Operations that add up many numbers. They take none of which most are equal: then all roundings
go the same way, and what is added in float32 leaves the tolerance.
"""


class Sizes(NamedTuple):
    """How large a model is to be.

    operations: how many are drawn; those that adapt tensors to each other come on top.
    largest: the largest dimension that a plan picks; 64 at most.
    """

    operations: int = 6
    largest: int = 8

    @staticmethod
    def of(rng: Random) -> "Sizes":
        """Mostly small ones."""
        return Sizes(
            min(40, int(rng.geometric(0.18))), int(rng.choice((2, 3, 5, 5, 8, 8, 8, 17, 64)))
        )


@cache
def _uses() -> dict[OperationType, list[Use]]:
    result: dict[OperationType, list[Use]] = {}
    for use in USES:
        result.setdefault(use.operation.type, []).append(use)
    return result


def random_model(
    seed: int,
    sizes: Sizes | None = None,
    allowed: Sequence[OperationType] = OPERATIONS,
    special: bool = False,
) -> Graph:
    """The model of a seed: always the same one. With fewer operations, it is its beginning.

    sizes: None for those that the seed decides too.
    special: with contents at the edges of their types (edges.py).
    """
    rng = Numbers(np.random.PCG64(seed))
    sizes = sizes or Sizes.of(rng)
    rng.largest = sizes.largest
    constants = float(rng.choice((0.0, 0.3, 0.6, 1.0)))
    growth = Growth(rng, frozenset(allowed), constants, special=special)
    for _ in range(sizes.operations):
        failing = draw(growth, allowed)
        if failing is not None:
            return failing
    return growth.graph


def draw(growth: Growth, allowed: Sequence[OperationType]) -> Graph | None:
    """Add an operation; a graph if it ends with one that is to fail."""
    rng = growth.rng
    for attempt in range(ATTEMPTS):
        type = allowed[int(rng.integers(len(allowed)))]
        if rng.random() < 0.03:
            type = CONTROL_FLOW[int(rng.integers(2))]
        mark = growth.mark()
        try:
            if type in CONTROL_FLOW:
                is_allowed = type in growth.allowed and growth.depth < 2
                if is_allowed and control_flow.draw(growth, type, draw):
                    return None
                growth.back_to(mark)
                continue
            uses = _uses()[type]
            result = _Drawn(growth, uses[int(rng.integers(len(uses)))], pooled=attempt < 20)
            result.check()
        except NnapiError:
            growth.back_to(mark)
            continue
        node = Node(type, result.indexes(), ())
        try:
            growth.add_node(node, result.sample.outputs)
            return None
        except NnapiError:
            if growth.depth == 0 and rng.random() < 0.3:
                return growth.with_failing(node, result.sample.outputs)
            growth.back_to(mark)
    return None


class _Drawn:
    """An example of a use, its tensors taken from what there is.

    pooled: whether tensors may be taken.
    """

    def __init__(self, growth: Growth, use: Use, pooled: bool) -> None:
        self.growth = growth
        self.use = use
        self.pooled = pooled
        scale = edges.scale_of if growth.special and growth.chance(0.5) else None
        self.sample: Example = example(
            use, growth.rng, self._batch(), self._contents, output_scale=scale
        )

    def _batch(self) -> int:
        rng = self.growth.rng
        if self.use.operation.allow_zero_sized and rng.random() < 0.12:
            return 0
        return int(rng.choice((1, 1, 2, 2, 3, 5)))

    # Tensors

    def _contents(self, type: T, dimensions: Dimensions, rng: Random, name: str) -> Value:
        growth = self.growth
        if self.pooled and growth.chance(0.7):
            for candidate in self._candidates(type, dimensions):
                index = self._fitting(candidate, type, dimensions, name)
                if index is not None:
                    return growth.value(index)
        return (edges.contents if growth.special else random_contents)(type, dimensions, rng, name)

    def _candidates(self, type: T, dimensions: Dimensions) -> list[int]:
        """Up to three tensors to take: one that fits already, a recent one, any."""
        growth, rng = self.growth, self.growth.rng
        pool = growth.pool.get(type, [])
        if type == T.TENSOR_BOOL8 and growth.chance(0.5):
            numbers = glue.MOVABLE[int(rng.integers(len(glue.MOVABLE)))]
            pool = growth.pool.get(numbers, [])
        if not pool:
            return []
        fitting = [i for i in pool if growth.value(i).operand.dimensions == dimensions]
        recent = pool[-4:]
        chosen = [recent[int(rng.integers(len(recent)))], pool[int(rng.integers(len(pool)))]]
        if fitting and growth.chance(0.9):
            chosen.insert(0, fitting[int(rng.integers(len(fitting)))])
        return chosen

    def _fitting(self, index: int, type: T, dimensions: Dimensions, name: str) -> int | None:
        """A tensor made to fit."""
        growth = self.growth
        if growth.value(index).operand.type != type:
            return glue.truth(growth, index, dimensions)
        made = glue.adapted(growth, index, dimensions)
        if made is None or type not in glue.FLOATS:
            return made
        if growth.special and OperationType[name] not in edges.ORDINARY and growth.chance(0.7):
            return made
        amplitude = AMPLITUDE.get(name, 8.0)
        array = growth.value(made).array
        if OperationType[name] in SUMS and not _is_varied(array):
            return None
        if glue.is_within(array, amplitude) or (
            OperationType[name] in UNTAMED and growth.chance(0.3)
        ):
            return made
        made = glue.tamed(growth, made, amplitude)
        if made is not None and OperationType[name] in SUMS:
            return made if _is_varied(growth.value(made).array) else None
        return made

    # The rest

    def check(self) -> None:
        """Raise BAD_DATA if a rule refuses the use, OP_FAILED if a tensor is too large."""
        operation = self.use.operation
        for value in self.sample.outputs:
            if value.operand.type in QUANTIZED_RANGE and not value.operand.scale:
                raise bad_data(
                    "a scale that fits the inputs is too small for a float32", "operand-type.scale"
                )
        operation.required_level(self.sample.op)
        try:
            shapes = operation.shape(self.sample.op)
        except NnapiError:
            return  # checks come first; whoever computes it says which error it is
        shapes = [*shapes, *(value.operand.dimensions for value in self.sample.inputs)]
        if any(prod(shape) > MAX_ELEMENTS for shape in shapes):
            raise op_failed("too large", "operation.output.too-large")

    def indexes(self) -> tuple[int, ...]:
        """Indexes of the inputs, new ones added; now and then a number is a wrong one."""
        growth = self.growth
        inputs = [self._computed(value) for value in self.sample.inputs]
        numbers = [
            at
            for at, value in enumerate(inputs)
            if isinstance(value, Value) and value.operand.type == T.INT32
        ]
        if numbers and growth.depth == 0 and growth.chance(0.03):
            at = numbers[int(growth.rng.integers(len(numbers)))]
            wrong = int(growth.rng.choice((-1, 0, 1, 4, 5, 9)))
            inputs[at] = scalar(T.INT32, wrong)
        return growth.indexes(inputs)

    def _computed(self, value: Value) -> Any:
        """Contents that decide about shapes are computed by the model now and then; so is a number
        that some operation happens to have found.
        """
        growth = self.growth
        type = value.operand.type
        if value.is_omitted:
            return value
        if type in SCALARS:
            same = [i for i in growth.pool.get(type, ()) if growth.value(i).array == value.array]
            return same[0] if same and growth.chance(0.3) else value
        if type == T.TENSOR_INT32 and growth.chance(0.05):
            copy = glue.copied(growth, growth.given(value))
            return value if copy is None else copy
        return value


def _is_varied(array: Any) -> bool:
    """Whether few numbers of a tensor are equal, or there are few."""
    return array.size < 32 or 4 * len(np.unique(array)) >= array.size
