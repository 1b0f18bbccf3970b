"""The outputs of IF and WHILE, which are those of the referenced models."""

from collections.abc import Sequence

from nnapi_shim.api.signature import Result
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions, Model


def results(kind: OperationType, models: Sequence[Model], count: int | None) -> list[Result]:
    """The outputs of an IF (models: then, else) or a WHILE (models: condition, body).

    count: the number of outputs of a WHILE; None for all outputs of its body. Dimensions that
        differ between the branches are unknown.
    """
    if len(models) != 2:
        raise bad_data(
            f"{len(models)} models given; it takes 2, before its other inputs",
            "control-flow.model-count",
        )
    first, second = (
        [model.main.operands[index] for index in model.main.output_indexes] for model in models
    )
    if kind is OperationType.WHILE:
        first = second if count is None else second[:count]
    elif len(first) != len(second):
        raise bad_data(
            f"then_model has {len(first)} outputs and else_model {len(second)}", "if.output-count"
        )
    return [
        Result(one.type, _common(one.dimensions, other.dimensions), one.scale, one.zero_point)
        for one, other in zip(first, second, strict=False)
    ]


def _common(one: Dimensions, other: Dimensions) -> Dimensions:
    if len(one) != len(other):
        return ()
    return tuple(a if a == b else 0 for a, b in zip(one, other, strict=True))
