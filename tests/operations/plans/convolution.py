"""Examples of the convolution family."""

from math import prod, sqrt
from typing import TYPE_CHECKING

from tests.operations.plans.common import DEPTHS, Plan, Random, pick, sliding
from tests.single import Value

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


PLANS = {"CONV_2D": convolution, "DEPTHWISE_CONV_2D": depthwise}
AMPLITUDE = {"CONV_2D": 1.0, "DEPTHWISE_CONV_2D": 1.0}
CHANNEL_DIM = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}
OUTPUT_SCALE = {"CONV_2D": filtered_scale, "DEPTHWISE_CONV_2D": depthwise_scale}
