"""Why no declared use of an operation fits: for the message, which is rarely needed."""

from nnapi_shim.errors import NnapiError, Place, bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Protocol, Sequence

Types = tuple[OperandType, ...]


class Operands(Protocol):
    """What is asked of an accepted list of operands."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def repeated(self) -> str:
        """The one that repeats, or an empty string."""

    def spread(self, count: int) -> tuple[str, ...] | None:
        """Names for `count` operands; None if they do not fit."""


class Named(Protocol):
    """What is asked of a use."""

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of its inputs."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of its outputs."""


Use = tuple[tuple[Types, Types], Named]


def no_use(
    forms: Sequence[tuple[Operands, Operands]],
    candidates: Sequence[Use],
    inputs: Types,
    outputs: Types,
) -> NnapiError:
    """Which form came closest, and the first operand that does not fit it.

    forms: the inputs and outputs of each; candidates: the uses with these numbers of operands.
    """
    fitting = [form for form in forms if form[0].spread(len(inputs))]
    if not fitting:
        counts = _counts([accepted for accepted, _ in forms])
        return bad_data(
            f"{len(inputs)} inputs given; allowed are {counts}", "operation.signature.input-count"
        )
    if not candidates:
        counts = _counts([accepted for _, accepted in fitting])
        return bad_data(
            f"{len(outputs)} outputs given; allowed are {counts}",
            "operation.signature.output-count",
        )

    types = inputs + outputs

    def agreement(candidate: Use) -> int:
        """Number of leading operands that fit."""
        expected = candidate[0][0] + candidate[0][1]
        fits = [g == w for g, w in zip(types, expected, strict=True)]
        return (fits + [False]).index(False)

    best = max(map(agreement, candidates))
    closest = [c for c in candidates if agreement(c) == best]
    position = min(best, len(types) - 1)
    names = closest[0][1].input_names + closest[0][1].output_names
    allowed = sorted({(c[0][0] + c[0][1])[position].name for c in closest})
    role = Place("input", position, names[position])
    if position >= len(inputs):
        role = Place("output", position - len(inputs), names[position])
    message = f"{role} is {types[position].name}; allowed here: {', '.join(allowed)}"
    return bad_data(message, "operation.signature.type").about(role)


def _counts(accepted: Sequence[Operands]) -> str:
    """How many operands there may be."""
    counts = sorted({len(operands.names) for operands in accepted})
    more = " or more" if any(operands.repeated for operands in accepted) else ""
    return f"{', '.join(map(str, counts))}{more}"
