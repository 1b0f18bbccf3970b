"""Random examples of operations with sizes that models have, for devices of engines.

A plan (tests/operations/plans) picks sizes from short lists; here they are replaced by those of
images, channels and vectors, which a compiler divides into tiles: multiples of 4, 32 and 64, and
others. Contents are multiples of 1/16 below 1, or integers: sums of products are exact in float32,
in whichever order they are added.
"""

from math import prod
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions
from tests.bench.operation_shapes import flops
from tests.operations.cases import PLANS, Example, Use, example, random_contents
from tests.operations.plans import resize
from tests.operations.plans.common import DEPTHS, SIDES, SIZES, Random, pick
from tests.single import Value, tensor

CHANNELS = (1, 3, 4, 8, 10, 16, 24, 32, 40, 64, 96, 100, 256)
LENGTHS = (1, 2, 3, 4, 7, 10, 16, 17, 32, 56, 64, 100)
SHORT = (1, 2, 3, 4, 5, 8, 16, 20, 24)
"""Of tensors that are repeated or padded, or have many dimensions."""
IMAGES = (3, 4, 7, 8, 14, 17, 28, 56)
MOST_TAPS = 7

MOST_ELEMENTS = 1 << 20
"""Of a tensor."""
MOST_WORK = 2e7
"""Multiplications and additions: what GPUs that are processors compute in seconds."""

_SHORT_IN_PLANS = (1, 2, 3, 5)
_REPLACED = {
    SIZES: LENGTHS,
    DEPTHS: CHANNELS,
    DEPTHS[:-1]: CHANNELS[:-1],
    _SHORT_IN_PLANS: SHORT,
    **dict.fromkeys((SIDES, resize.SIDES, resize.NEW_SIDES), IMAGES),
}


class Sizes(np.random.Generator):
    """Random numbers for plans."""

    def choice(self, choices: Any, *args: Any, **kinds: Any) -> Any:
        """As in numpy, with other sizes."""
        if args or kinds:
            return super().choice(choices, *args, **kinds)
        if isinstance(choices, tuple):
            choices = _REPLACED.get(choices, choices)
        elif isinstance(choices, range) and choices.start == 1:
            choices = choices[:MOST_TAPS]
        return choices[int(self.integers(len(choices)))]


def sized(use: Use, seed: int) -> Example:
    """The example of a use and a seed: always the same one. Each output has elements."""
    rng = Sizes(np.random.PCG64(seed))
    name = use.operation.type.name
    while True:
        batch = pick(rng, (1, 1, 1, 2, 3, 4, 8, 20))
        plan = PLANS[name](use, rng, batch)
        if max(map(_elements, plan.values())) > MOST_ELEMENTS:
            continue
        made = example(use, rng, contents=contents, plan=plan)
        shapes = use.operation.shape(made.op)
        counts = [prod(shape) for shape in shapes]
        is_known = not use.operation.data_dependent
        if (
            flops(made) < MOST_WORK
            and max(counts) < MOST_ELEMENTS
            and (min(counts) or not is_known)
        ):
            return made._replace(inputs=[_canonical(value) for value in made.inputs])


def _elements(planned: Any) -> int:
    """Of what a plan has for an operand."""
    if isinstance(planned, list):
        return max(map(_elements, planned))
    return prod(planned) if type(planned) is tuple else 0


def _canonical(value: Value) -> Value:
    """With 1 for true: plans have any byte that is not 0."""
    if value.operand.type is not T.TENSOR_BOOL8 or value.array is None:
        return value
    return value._replace(array=(value.array != 0).astype(value.array.dtype))


def contents(type: T, dimensions: Dimensions, rng: Random, name: str) -> Value:
    """A tensor of numbers with few bits; all different where NNAPI leaves the order of equal ones
    open, and none 0 where they are divided by.
    """
    if name == "TOPK_V2" and type not in QUANTIZED_RANGE:
        return tensor(type, rng.permutation(prod(dimensions)).reshape(dimensions))
    if type in QUANTIZED_RANGE or type in SCALARS:
        return random_contents(type, dimensions, rng, name)
    if type is T.TENSOR_BOOL8:
        return tensor(type, rng.integers(0, 2, dimensions))
    if type is T.TENSOR_INT32:
        return tensor(type, rng.integers(1 if name == "DIV" else -1000, 1001, dimensions))
    if name == "DIV":
        return tensor(type, (2 * rng.integers(-8, 8, dimensions) + 1) / 16)
    return tensor(type, rng.integers(-15, 16, dimensions) / 16)
