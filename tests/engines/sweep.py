"""Operations with random sizes that models have, on devices of engines beside nnapi-reference.

    python -m tests.engines.sweep DEVICE ... [--operations NAME ...] [--types NAME ...]
        [--cases N] [--seed N] [--untried]

The tensors of conformance vectors are small: a compiler divides larger ones into tiles, and what is
left over at their ends can be wrong while all vectors are right. For each operation so many cases
are drawn (sizes.py) and computed; those that are wrong are printed, with their dimensions and the
number that draws them again. With --untried the rows of what the engine declines that are for some
of its devices alone do not count.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.operations import registry
from tests.engines import vectors
from tests.engines.children import computed, end_of
from tests.engines.sizes import sized
from tests.operations.cases import Example, Use, uses
from tests.random_models.closeness import EXACT, spread
from tests.random_models.graph import COMPUTED, Graph, Item, Node, assemble
from tests.random_models.running import evaluate, run
from tests.single import CONSTANT, INPUT

TYPES = ("f32", "i32", "b8")
"""Variants of uses; those of two types, such as f32_i32, count if both are among them."""

OPERATIONS = tuple(
    each.type.name
    for each in registry()
    if each.type.name not in ("IF", "WHILE", "RANDOM_MULTINOMIAL")
)
"""Those that compute the same for the same inputs, and no graphs of their own."""
_WEIGHTS = ("filter", "weights", "bias")
"""What names of operands end with that are constants in models."""


class Case(NamedTuple):
    """One example: an operation, and what number it has among those of the operation."""

    operation: str
    number: int


class Outcome(NamedTuple):
    """What became of a case: right, declined, refused (by the reference device) or wrong."""

    case: Case
    what: str
    why: str


@cache
def _uses(operation: str, types: tuple[str, ...]) -> list[Use]:
    (declared,) = [each for each in registry() if each.type.name == operation]
    return [use for use in uses(declared, range(2, 4)) if {*use.variant.split("_")} <= {*types}]


def cases(
    operations: Sequence[str], types: tuple[str, ...], count: int, seed: int = 0
) -> list[Case]:
    """So many of each operation that has one of these types."""
    return [
        Case(name, number)
        for name in operations
        if _uses(name, types)
        for number in range(seed, seed + count)
    ]


def drawn(case: Case, types: tuple[str, ...]) -> Example:
    """The example of a case."""
    of = _uses(case.operation, types)
    return sized(of[case.number % len(of)], crc32(case.operation.encode()) + case.number)


def outcome(case: Case, types: tuple[str, ...], device: Any) -> Outcome:
    """Compute a case on a device."""
    made = drawn(case, types)
    try:
        what, why = _outcome(made, device)
    except Exception as error:
        what, why = "wrong", f"{type(error).__name__}: {error}"
    return Outcome(case, what, f"{described(made)}: {why}" if why else "")


def described(made: Example) -> str:
    """Dimensions of tensors and values of scalars, by name."""
    parts = []
    for name, value in zip(made.use.names, made.inputs, strict=True):
        if not value.is_omitted:
            is_value = value.operand.type in SCALARS or name in made.use.operation.values
            shown = value.array.tolist() if is_value else list(value.operand.dimensions)
            parts.append(f"{name} {shown}")
    return f"{made.use.variant} {', '.join(parts)}"


def _outcome(made: Example, device: Any) -> tuple[str, str]:
    items = [
        Item(value, _kind(made, position), value.operand.dimensions)
        for position, value in enumerate(made.inputs)
    ]
    inputs = tuple(range(len(items)))
    shapes = made.use.operation.shape(made.op)
    items += [Item(each, COMPUTED, shape) for each, shape in zip(made.outputs, shapes, strict=True)]
    outputs = tuple(range(len(inputs), len(items)))
    node = Node(made.use.operation.type, inputs, outputs)
    built = assemble(Graph(items, [node]), outputs)
    (reason,) = device.getReasons(built.model)
    if reason:
        return "declined", reason
    try:
        expected = evaluate(node, made.inputs, made.outputs)
    except NnapiError as error:
        return "refused", error.message
    actual = run(device, built, [each.shape for each in expected])
    for at, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        why = _compared(node, made, at, ours, theirs)
        if why:
            return "wrong", why
    return "right", ""


def _kind(made: Example, position: int) -> str:
    """Constants: weights, those of one tensor not always, what decides dimensions, and scalars."""
    name, value = made.use.names[position], made.inputs[position]
    if value.is_omitted:
        return CONSTANT
    is_weight = name.endswith(_WEIGHTS) and (name not in _WEIGHTS or value.array.size % 4 != 1)
    is_value = value.operand.type in SCALARS or name in made.use.operation.values
    return CONSTANT if is_weight or is_value else INPUT


def _compared(node: Node, made: Example, at: int, ours: Any, theirs: Any) -> str:
    """What is wrong with an output, or ""."""
    if ours.shape != theirs.shape:
        return f"output {at} has dimensions {list(ours.shape)}, expected {list(theirs.shape)}"
    wrong = _far(made, at, ours, theirs, 0.0)
    if wrong.any() and node.type not in EXACT:
        wrong = _far(made, at, ours, theirs, spread(node, made.inputs, made.outputs, at))
    if not wrong.any():
        return ""
    where = tuple(np.argwhere(wrong)[0].tolist())
    return (
        f"output {at}: {wrong.sum()} of {wrong.size}; {list(where)} is {ours[where]}, expected "
        f"{theirs[where]}"
    )


def _far(made: Example, at: int, ours: Any, theirs: Any, more: Any) -> Any:
    """Which elements are farther from those of the reference device than vectors may be."""
    absolute, relative = vectors.within(made.use.outputs[at])
    a, e = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.isfinite(a) & (np.abs(a - e) <= absolute + relative * np.abs(e) + more)
    return ~(near | (a == e) | (np.isnan(a) & np.isnan(e)))


def main() -> None:
    """The command line; children compute, so that an engine that crashes is told of."""
    parser = argparse.ArgumentParser(prog="tests.engines.sweep")
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--operations", nargs="*", default=[])
    parser.add_argument("--types", nargs="*", default=[], help=f"by default {' '.join(TYPES)}")
    parser.add_argument("--cases", type=int, default=20, help="of each operation")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--untried", action="store_true", help="what other devices take, too")
    arguments = parser.parse_args()
    types = tuple(arguments.types or TYPES)
    operations = arguments.operations or OPERATIONS
    wrong = 0
    for name in arguments.devices:
        device = vectors.device(name)  # imports its engine
        if arguments.untried:
            module = sys.modules[f"nnapi_shim.drivers.engines.{name.partition('-')[0]}"]
            module.DECLINED = tuple(row for row in module.DECLINED if not row.devices)
        total: Counter[str] = Counter()
        for operation in operations:
            outcomes = swept(
                cases([operation], types, arguments.cases, arguments.seed), types, device
            )
            counts = Counter(each.what for each in outcomes)
            total += counts
            for each in outcomes:
                if each.what == "wrong":
                    print(f"wrong: {operation} {each.case.number}: {each.why}")
            if counts:
                print(f"{name} {operation}: {_text(counts)}", flush=True)
        print(f"{name}: {_text(total)}", flush=True)
        wrong += total["wrong"]
    sys.exit(bool(wrong))


def swept(chosen: Sequence[Case], types: tuple[str, ...], device: Any) -> list[Outcome]:
    """Outcomes of all."""
    made = computed(
        chosen,
        lambda case: outcome(case, types, device),
        lambda case, status: (case, "wrong", f"{described(drawn(case, types))}: {end_of(status)}"),
    )
    return [Outcome(Case(*case), what, why) for case, what, why in made]


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[what]} {what}" for what in ("right", "declined", "refused", "wrong"))


if __name__ == "__main__":
    main()
