"""What the functions of a declaration say of themselves."""

from nnapi_shim.operations.declare import fixed
from nnapi_shim.operations.rules import level_by_rank
from nnapi_shim.tools.rule_texts import sentence


def test_scales_and_zero_points_are_no_levels() -> None:
    message = sentence(fixed(qu8=(1 / 256, 0), qs8=(1 / 256, -128)))
    assert message.endswith(" (variants: qu8 (0.00390625, 0), qs8 (0.00390625, -128))")


def test_levels_of_ranks() -> None:
    message = sentence(level_by_rank("input", since={1: 3, 4: 1}))
    assert message.endswith(" (name: input; since: 1 from level 3, 4 from level 1)")
