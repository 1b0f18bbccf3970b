"""Why no declared use of an operation fits: for the message, which is rarely needed."""

from collections.abc import Sequence

from nnapi_shim.errors import NnapiError, Place, bad_data
from nnapi_shim.operations.declare import Match, Operands, Operation, Types


def no_use(declaration: Operation, inputs: Types, outputs: Types) -> NnapiError:
    """Which form came closest, and the first operand that does not fit it."""
    forms = declaration.forms
    fitting = [accepted for accepted in forms if accepted.inputs.spread(len(inputs))]
    if not fitting:
        counts = _counts([accepted.inputs for accepted in forms])
        return bad_data(f"{len(inputs)} inputs given; allowed are {counts}", "input_count")
    candidates = list(declaration.uses(len(inputs), len(outputs)))
    if not candidates:
        counts = _counts(list(map(declaration.outputs_of, fitting)))
        return bad_data(f"{len(outputs)} outputs given; allowed are {counts}", "output_count")

    given = inputs + outputs

    def agreement(candidate: tuple[tuple[Types, Types], Match]) -> int:
        """Number of leading operands that fit."""
        wanted = candidate[0][0] + candidate[0][1]
        fits = [g == w for g, w in zip(given, wanted, strict=True)]
        return (fits + [False]).index(False)

    best = max(map(agreement, candidates))
    closest = [c for c in candidates if agreement(c) == best]
    position = min(best, len(given) - 1)
    names = closest[0][1].input_names + closest[0][1].output_names
    allowed = sorted({(c[0][0] + c[0][1])[position].name for c in closest})
    role = Place("input", position, names[position])
    if position >= len(inputs):
        role = Place("output", position - len(inputs), names[position])
    told = f"{role} is {given[position].name}; allowed here: {', '.join(allowed)}"
    return bad_data(told, "type").about(role)


def _counts(accepted: Sequence[Operands]) -> str:
    """How many operands there may be."""
    counts = sorted({len(operands.names) for operands in accepted})
    more = " or more" if any(operands.repeated for operands in accepted) else ""
    return f"{', '.join(map(str, counts))}{more}"
