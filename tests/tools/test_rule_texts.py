"""What the functions of a declaration say of themselves."""

from nnapi_shim.operations.declare import fixed
from nnapi_shim.operations.rules import level_by_rank, one_dimensional, ranks_at_most_if_all_known
from nnapi_shim.tools.rule_texts import sentence


def test_scales_and_zero_points_are_no_levels() -> None:
    message = sentence(fixed(qu8=(1 / 256, 0), qs8=(1 / 256, -128)))
    assert message.endswith(" by type: qu8 (0.00390625, 0), qs8 (0.00390625, -128).")


def test_levels_of_ranks() -> None:
    message = sentence(level_by_rank("input", since={1: 3, 4: 1}))
    assert message == "Allowed ranks of input: 1 from level 3, 4 from level 1."


def test_arguments_of_a_factory() -> None:
    """They replace their names in the docstring; a flag that is off is left out."""
    assert sentence(ranks_at_most_if_all_known(4, "input0", "input1")) == (
        "The rank of input0, input1 is at most 4, if it is known. "
        "Checked only if the ranks of input0, input1 are all known."
    )
    assert sentence(one_dimensional("bias")) == "The rank of bias is 1 at run time."
