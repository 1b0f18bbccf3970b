"""Pairs of equal operations of a quantized model and its float model, and the values to compare.

A converter may fuse an activation into its operation in one model and not in the other. An
operation with a fused activation is therefore two stages, of which the second has the value.
"""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import OperandView, OperationView
from nnapi_shim.hal.enums import FuseCode, OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

_CONVERSIONS = (OperationType.QUANTIZE, OperationType.DEQUANTIZE)
_FUSED = {int(FuseCode.RELU): "RELU", int(FuseCode.RELU1): "RELU1", int(FuseCode.RELU6): "RELU6"}
_ABOVE_ZERO = ("RELU", "RELU6")


class Stage(NamedTuple):
    """An operation or its fused activation. has_value: whether the outputs of the operation are
    values of this stage; an operation with a fused activation has no value before it.
    """

    view: OperationView
    name: str
    has_value: bool

    @property
    def title(self) -> str:
        """Its name in a list."""
        number, name = self.view.number, self.view.name
        return f"{number} {name}" if name == self.name else f"{self.name} of {number} {name}"


class Pairs(NamedTuple):
    """Pairs of operations whose outputs are comparable, and the titles of stages that only one
    model has.
    """

    pairs: list[tuple[OperationView, OperationView]]
    unmatched: tuple[str, ...]
    float_unmatched: tuple[str, ...]


def matched(model: Model, float_model: Model) -> Pairs:
    """The stages of the same name in the same order, without QUANTIZE and DEQUANTIZE.

    A quantized range that begins at 0 is also an activation: its operation is compared with the
    RELU or RELU6 that follows in the float model only.
    """
    stages, others = _stages(model), _stages(float_model)
    free, other_free = dict.fromkeys(stages), dict.fromkeys(others)
    matches = []
    names, other_names = [stage.name for stage in stages], [stage.name for stage in others]
    matcher = SequenceMatcher(None, names, other_names, autojunk=False)
    for start, other_start, length in matcher.get_matching_blocks():
        for at in range(length):
            stage, other = stages[start + at], others[other_start + at]
            del free[stage], other_free[other]
            matches.append((stage, other))
    pairs = []
    for stage, other in matches:
        activation = _implied_activation(stage, other, other_free)
        if activation is not None:
            del other_free[activation]
        compared = activation or other
        if stage.has_value and compared.has_value:
            pairs.append((stage.view, compared.view))
    return Pairs(pairs, _titles(free), _titles(other_free))


def _stages(model: Model) -> list[Stage]:
    stages = []
    for view in model.operations:
        if view.type in _CONVERSIONS:
            continue
        activation = _fused_activation(view)
        stages.append(Stage(view, view.name, not activation))
        if activation:
            stages.append(Stage(view, activation, True))
    return stages


def _fused_activation(view: OperationView) -> str:
    """The name of the activation that is part of an operation, or ""."""
    operand = view.named.get("activation")
    code = operand.value if isinstance(operand, OperandView) else None
    return "" if code is None else _FUSED.get(int(code), "")


def _implied_activation(stage: Stage, other: Stage, free: Iterable[Stage]) -> Stage | None:
    """The activation after a float operation that only the range of the quantized output makes."""
    if not (stage.has_value and other.has_value and _begins_at_zero(stage.view.outputs)):
        return None
    readers = other.view.outputs[0].consumers if len(other.view.outputs) == 1 else ()
    if len(readers) != 1:
        return None
    return next((s for s in free if s.view is readers[0] and s.name in _ABOVE_ZERO), None)


def _begins_at_zero(outputs: Sequence[OperandView]) -> bool:
    return all(
        operand.type in QUANTIZED_RANGE and operand.zero_point == QUANTIZED_RANGE[operand.type][0]
        for operand in outputs
    )


def _titles(stages: Iterable[Stage]) -> tuple[str, ...]:
    """One title for each operation: the whole of it, or its activation alone."""
    by_number: dict[int, str] = {}
    for stage in stages:
        by_number.setdefault(stage.view.number, stage.title)
    return tuple(by_number.values())
