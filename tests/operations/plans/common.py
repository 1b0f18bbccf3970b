"""What the plans of several families use: random sizes and scalars.

A plan is, by operand name, the dimensions of a tensor, the value of a scalar, or both in a Value
(tests.single). A name that repeats takes a list of them. What a family needs beyond that:

PLANS: operation -> function of (use, random numbers, size of the first dimension); one that goes
    element by element needs none.
AMPLITUDE: operation -> largest floating-point input, where it is not 8.
CHANNEL_DIM: operation -> dimension that per-channel scales belong to, where it is not the last.
OUTPUT_SCALE: operation -> function of (inputs, random numbers) that gives an output scale with
    which most results fall inside the type, where it is free.
CHECKED: (operation, variant) -> output parameters that are the operand's own, and checked.
FAILS: "operation-variant" -> result code of uses that are declared and fail in every computation.
NOT_IN_THE_TABLE: operation -> input types that are accepted beyond the published table -> level.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions

if TYPE_CHECKING:
    from tests.operations.cases import Use

Random = np.random.Generator
Plan = dict[str, Any]
Planner = Callable[["Use", Random, int], Plan]
SIZES = (1, 2, 3, 5, 8, 17)
DEPTHS = (1, 2, 3, 4, 8, 19, 33)
SIDES = (3, 4, 5, 6, 7, 8)
"""Of images that a window slides over."""


def pick(rng: Random, choices: Any) -> int:
    """One of the choices."""
    return int(rng.choice(choices))


def sizes(rng: Random, batch: int, rank: int) -> Dimensions:
    """`rank` dimensions, the first of them `batch`."""
    return (batch, *(pick(rng, SIZES) for _ in range(rank - 1)))


def small_sizes(rng: Random, batch: int, rank: int) -> Dimensions:
    """As `sizes`, none of them above 5: for ranks above 4, or where more is to be added."""
    return (batch, *(pick(rng, (1, 2, 3, 5)) for _ in range(rank - 1)))


def activation(use: "Use", rng: Random) -> int:
    """A fused activation that the types of the use allow."""
    return 0 if use.variant == "i32" else pick(rng, range(4))


def elementwise(use: "Use", rng: Random, batch: int) -> Plan:
    """One tensor of any rank, or two that are broadcast; perhaps a fused activation."""
    tensors = [
        name for name, type in zip(use.names, use.inputs, strict=True) if type not in SCALARS
    ]
    full = sizes(rng, batch, pick(rng, range(1, 5)))
    shapes = [full] if len(tensors) == 1 else narrowed(rng, full)
    plan: Plan = dict(zip(tensors, shapes, strict=True))
    if "activation" in use.names:
        plan["activation"] = activation(use, rng)
    return plan


def narrowed(rng: Random, full: Dimensions) -> list[Dimensions]:
    """The dimensions twice, perhaps with sizes of 1, and missing ones in front, in one of them."""
    shapes = [full, full]
    if rng.random() < 0.7:
        narrow = tuple(1 if rng.random() < 0.4 else size for size in full)
        shapes[pick(rng, (0, 1))] = narrow[pick(rng, range(len(full))) :]
    return shapes


def sliding(use: "Use", rng: Random, batch: int) -> Plan:
    """An image, and a window that fits into it."""
    depth = pick(rng, DEPTHS)
    height, width = (pick(rng, SIDES) for _ in range(2))
    nchw = "nchw" in use.names and bool(rng.integers(2))
    plan: Plan = {
        "input": (batch, depth, height, width) if nchw else (batch, height, width, depth),
        "nchw": nchw,
        "padding": pick(rng, (1, 2)),
        "activation": activation(use, rng),
    }
    for size, name, before, after in (
        (height, "height", "pad_top", "pad_bottom"),
        (width, "width", "pad_left", "pad_right"),
    ):
        dilation = pick(rng, (1, 2)) if "dilation_width" in use.names else 1
        taps = pick(rng, range(1, (size - 1) // dilation + 2))
        plan[f"stride_{name}"] = pick(rng, (1, 2, 3))
        plan[f"dilation_{name}"] = dilation
        plan[f"filter_{name}"] = taps
        plan[before], plan[after] = rng.integers(0, (taps - 1) * dilation + 1, 2).tolist()
    return plan
