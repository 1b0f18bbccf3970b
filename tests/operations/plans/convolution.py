"""Examples of the convolution family."""

from math import prod, sqrt
from typing import TYPE_CHECKING

from tests.operations.plans.common import DEPTHS, Plan, Random, activation, pick, sliding
from tests.single import Value, i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def convolution(use: "Use", rng: Random, batch: int) -> Plan:
    """As `sliding`, with a filter for all channels."""
    plan = sliding(use, rng, batch)
    depth_in = plan["input"][1 if plan["nchw"] else 3]
    depth_out = pick(rng, DEPTHS)
    plan["filter"] = (depth_out, plan["filter_height"], plan["filter_width"], depth_in)
    plan["bias"] = (depth_out,)
    return plan


def depthwise(use: "Use", rng: Random, batch: int) -> Plan:
    """As `sliding`, with a filter for each channel."""
    plan = sliding(use, rng, batch)
    plan["depth_multiplier"] = pick(rng, (1, 1, 2, 3))
    depth_out = plan["input"][1 if plan["nchw"] else 3] * plan["depth_multiplier"]
    plan["filter"] = (1, plan["filter_height"], plan["filter_width"], depth_out)
    plan["bias"] = (depth_out,)
    return plan


def grouped(use: "Use", rng: Random, batch: int) -> Plan:
    """As `sliding`, with a filter for every group of channels."""
    plan = sliding(use, rng, batch)
    groups = pick(rng, (1, 2, 3, 4, 24))
    depth_in, depth_out = (pick(rng, (1, 2) if groups == 24 else DEPTHS[:-1]) for _ in range(2))
    batch, *size = plan["input"]
    size[0 if plan["nchw"] else 2] = groups * depth_in
    plan["input"] = (batch, *size)
    depth_out *= groups
    plan["filter"] = (depth_out, plan["filter_height"], plan["filter_width"], depth_in)
    plan["bias"] = (depth_out,)
    plan["num_groups"] = groups
    return plan


def transposed(use: "Use", rng: Random, batch: int) -> Plan:
    """An image, a window, and paddings that leave something of the output."""
    depth_in, depth_out = pick(rng, DEPTHS), pick(rng, (1, 2, 3, 8, 19))
    nchw = bool(rng.integers(2))
    plan: Plan = {
        "nchw": nchw,
        "padding": pick(rng, (1, 2)),
        "activation": activation(use, rng),
        "bias": (depth_out,),
    }
    image, filter, asked = [], [], []
    for name, before, after in (
        ("height", "pad_top", "pad_bottom"),
        ("width", "pad_left", "pad_right"),
    ):
        size, taps, stride = pick(rng, (1, 2, 3, 5)), pick(rng, (1, 2, 3, 4)), pick(rng, (1, 2, 3))
        reached = (size - 1) * stride + taps
        plan[before] = pick(rng, range(min(reached, taps + 1)))
        plan[after] = pick(rng, range(-1, min(reached - plan[before], taps + 1)))
        plan[f"stride_{name}"] = stride
        image.append(size)
        filter.append(taps)
        asked.append(size * stride - pick(rng, range(stride)))
    plan["input"] = (batch, depth_in, *image) if nchw else (batch, *image, depth_in)
    plan["output_shape"] = i32([1, 1, *asked] if nchw else [1, *asked, 1])
    plan["filter"] = (depth_out, *filter, depth_in)
    return plan


def filtered_scale(inputs: list[Value], rng: Random) -> float:
    """From the spread of a sum of products; a depthwise filter sums over height and width."""
    return _scale(inputs, prod(inputs[1].operand.dimensions[1:]))


def depthwise_scale(inputs: list[Value], rng: Random) -> float:
    """As filtered_scale."""
    return _scale(inputs, 9)


def _scale(inputs: list[Value], terms: int) -> float:
    weights = inputs[1].operand
    quant = weights.channel_quant
    scale = weights.scale if quant is None else sum(quant.scales) / len(quant.scales)
    return inputs[0].operand.scale * scale * 90 * sqrt(terms)


PLANS = {
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise,
    "GROUPED_CONV_2D": grouped,
    "TRANSPOSE_CONV_2D": transposed,
}
AMPLITUDE = dict.fromkeys(PLANS, 1.0)
CHANNEL_DIM = {**dict.fromkeys(PLANS, 0), "DEPTHWISE_CONV_2D": 3}
OUTPUT_SCALE = {**dict.fromkeys(PLANS, filtered_scale), "DEPTHWISE_CONV_2D": depthwise_scale}
