"""Operation declarations: operands, types, forms, levels, rules and shape function.

`Operation` is the single source for addOperation and finish (match, rules), the devices (checks,
shape, quantization), documentation and tests.
"""

from nnapi_shim.errors import NnapiError, Place, bad_data, op_failed
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)
from nnapi_shim.operations.bound_operand import BoundOperand as BoundOperand

Types = tuple[OperandType, ...]


class BoundOperation:
    """An operation with its operands by name: `op.input`, `op.axis`, never by position.

    Tensors are BoundOperands; omitted ones, and outputs that the form lacks, are None; a repeated
    name holds a list. Scalars, and the tensors that the declaration lists in `values`, are Python
    values (a number; a tuple of numbers); absent ones have the declared default. Values are unset
    while a model is built.
    """

    variant: str
    match: "Match"
    outputs: list[BoundOperand]
    sources: Mapping[str, BoundOperand]
    """Tensors of `values`, by name, for their dimensions."""
    indexes: tuple[int, ...]
    """Indexes of its operands in the graph, inputs first, for messages; () without a graph."""

    def __init__(
        self,
        match: "Match",
        named: dict[str, Any],
        outputs: list[BoundOperand],
        sources: Mapping[str, BoundOperand] | None = None,
        indexes: tuple[int, ...] = (),
    ) -> None:
        self.__dict__ = {**match.operation.absent, **named}
        self.match = match
        self.sources = sources or {}
        self.variant = match.variant
        self.outputs = outputs
        self.indexes = indexes

    def refused(self, error: NnapiError) -> NnapiError:
        """Add the index of the operand that the message of a rule begins with."""
        word, _, rest = error.message.partition(" ")
        name = word.rstrip(":,")
        names = self.match.input_names + self.match.output_names
        if error.places or not self.indexes or name not in names:
            return error
        at, count = names.index(name), len(self.match.input_names)
        if name in self.match.repeated:
            number = rest.partition(" ")[0]
            if not number.isdigit() or int(number) >= names.count(name):
                return error
            at, name = at + int(number), f"{name} {number}"
        if at >= len(self.indexes):  # a missing output
            return error
        index = self.indexes[at]
        role = Place("input", at, name) if at < count else Place("output", at - count, name)
        where = f"{name} ({role.kind} {role.number}, operand {index})"
        message = error.worded(where + error.message.removeprefix(name))
        return message.about(role, Place("operand", index, name))

    if TYPE_CHECKING:  # at run time it would slow down every attribute

        def __getattr__(self, name: str) -> Any: ...


class Operands(NamedTuple):
    """An accepted list of operands: names, the fixed types (None: given by the type table)."""

    names: tuple[str, ...]
    types: tuple[OperandType | None, ...]
    repeated: str = ""
    """Name of the operand that repeats (`inputs...`), or an empty string."""

    def spread(self, count: int) -> tuple[str, ...] | None:
        """Names for `count` operands, a repeated one once per operand; None if they do not fit."""
        extra = count - len(self.names)
        if not self.repeated:
            return self.names if extra == 0 else None
        if extra < 0:
            return None
        at = self.names.index(self.repeated)
        return self.names[:at] + (self.repeated,) * (extra + 1) + self.names[at + 1 :]


class Form(NamedTuple):
    """One accepted list of inputs and, if they vary too, of outputs."""

    inputs: Operands
    outputs: Operands | None
    """None: all outputs of the type table."""
    since: int


def form(text: str, since: int = 1) -> Form:
    """Parse `"input beta axis:INT32"`; `"inputs... axis:INT32"` repeats its first input.

    `"input axis:INT32 -> outputs..."` names its outputs; without `->` a form has all of them.
    """
    inputs, arrow, outputs = text.partition("->")
    return Form(_operands(inputs), _operands(outputs) if arrow else None, since)


def _operands(text: str) -> Operands:
    names, types, repeated = [], [], ""
    for word in text.split():
        name, _, fixed = word.partition(":")
        if name.endswith("..."):
            name = repeated = name[:-3]
        names.append(name)
        types.append(OperandType[fixed] if fixed else None)
    return Operands(tuple(names), tuple(types), repeated)


Rule = Callable[[BoundOperation], int | None]
Check = Callable[[BoundOperation], None]
Remark = Callable[[BoundOperation], str | None]
Shape = Callable[[BoundOperation], list[Dimensions]]
Quantization = Callable[[BoundOperation], list[tuple[float, int]]]
Work = int | tuple[int, str] | str | None


def declared(op: BoundOperation) -> list[tuple[float, int]]:
    """Free, as the operand declares them."""
    return [(output.scale, output.zero_point) for output in op.outputs]


def same_as(name: str, but: str = "") -> Quantization:
    """Every output has the scale and zero point of `name`, or of the first of several.

    but: a variant whose outputs keep their declared ones.
    """

    def computed(op: BoundOperation) -> list[tuple[float, int]]:
        if op.variant == but:
            return declared(op)
        source = getattr(op, name)
        if isinstance(source, list):
            source = source[0]
        return [(source.scale, source.zero_point)] * len(op.outputs)

    return computed


def declared_or(name: str) -> Quantization:
    """Free; by default those of `name`."""

    def computed(op: BoundOperation) -> list[tuple[float, int]]:
        source = getattr(op, name)
        return [
            (it.scale, it.zero_point) if it.scale else (source.scale, source.zero_point)
            for it in op.outputs
        ]

    return computed


def fixed(**variants: tuple[float, int]) -> Quantization:
    """Fixed by the operation; types that are not listed have none."""

    def computed(op: BoundOperation) -> list[tuple[float, int]]:
        return [variants.get(op.variant, (0.0, 0))] * len(op.outputs)

    return computed


class Operation:
    """The declaration of an operation.

    type: its code. doc: one sentence with the formula, for documentation.
    columns: names of the operands whose types vary together, `"input filter -> output"`.
    types: variant -> (first feature level, one OperandType per column).
    forms: the accepted lists of operands. defaults: values of inputs that a form lacks.
    values: names of tensors whose contents determine the shape, bound as tuples of numbers.
    rules: run in addOperation and finish; raise BAD_DATA, or return the feature level that a use
        needs (None: that of its row and form). They skip unknown dimensions and values.
    checks: run at execution, with all shapes and values; raise OP_FAILED.
    remarks: run in finish; a warning about a legal but suspicious use, or None.
    allow_zero_sized: whether an input may have a dimension of 0 at run time (semantics.md 2.4).
    omittable: names of the inputs that may be omitted (semantics.md 2.3).
    infinite_scales: whether it accepts infinite scales: it does not use them, or its result is
        defined nevertheless.
    data_dependent: whether output sizes depend on the data; `shape` returns 0 for them.
    legacy: whether the executor of the reference implements it directly: BAD_DATA, not OP_FAILED,
        for omitted outputs (api-semantics 16.1) and, unless an input is `omittable`, for omitted or
        zero-sized inputs (semantics.md 2.6).
    shape: output dimensions from a bound operation whose inputs are all known; may raise.
    quantization: the source of the scale and zero point of each output.
    elementwise: whether an output element depends only on the inputs at the same index.
    work: how many arithmetic operations it is; a multiplication, an addition and an elementary
        function are one each, a fused activation and a requantization none. A number: for each
        element of the outputs; (number, input): for each element of that input; a word: by the
        formula of this name in operations/work.py; None: only the data tell.
    looks_up: name of the input of which it reads no more than it writes.
    products: quantized input -> the two inputs whose scales, multiplied, are its scale.
    """

    def __init__(
        self,
        type: OperationType,
        *,
        doc: str,
        columns: str,
        types: Mapping[str, Sequence[Any]],
        forms: Iterable[Form],
        shape: Shape,
        work: Work,
        defaults: Mapping[str, Any] | None = None,
        values: Sequence[str] = (),
        rules: Sequence[Rule] = (),
        checks: Sequence[Check] = (),
        remarks: Sequence[Remark] = (),
        allow_zero_sized: bool = False,
        omittable: Sequence[str] = (),
        infinite_scales: bool = False,
        data_dependent: bool = False,
        legacy: bool = False,
        quantization: Quantization = declared,
        elementwise: bool = False,
        looks_up: str = "",
        products: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        inputs, _, outputs = columns.partition("->")
        self.type = type
        self.doc = doc
        self.input_columns = tuple(inputs.split())
        self.output_names = tuple(outputs.split())
        self.types = types
        self.forms = tuple(forms)
        self.shape = shape
        self.defaults = dict(defaults or {})
        self.absent = dict.fromkeys(self.output_names) | self.defaults
        self.values = tuple(values)
        self.rules = tuple(rules)
        self.checks = tuple(checks)
        self.remarks = tuple(remarks)
        self.allow_zero_sized = allow_zero_sized
        self.omittable = frozenset(omittable)
        self.infinite_scales = infinite_scales
        self.data_dependent = data_dependent
        self.legacy = legacy
        self.quantization = quantization
        self.elementwise = elementwise
        self.work = work
        self.looks_up = looks_up
        self.products = products or {}
        self._matches: dict[tuple[Types, Types], Match] = {}
        self._counts_expanded: set[tuple[int, int]] = set()
        self._uses: dict[tuple[int, int | None], tuple[tuple[tuple[Types, Types], Match], ...]] = {}

    @property
    def refused_input(self) -> Callable[..., NnapiError]:
        """The error constructor for omitted or zero-sized inputs that are not allowed."""
        return bad_data if self.legacy and not self.omittable else op_failed

    # Matching: at the first use, all signatures with these numbers of operands are stored in a
    # dictionary; later uses cost one lookup.

    def match(self, inputs: Types, outputs: Types) -> "Match":
        """The match for these operand types; raises BAD_DATA if there is none."""
        key = (inputs, outputs)
        match = self._matches.get(key)
        if match is None:
            counts = len(inputs), len(outputs)
            if counts not in self._counts_expanded:
                for types, result in self.uses(*counts):
                    self._matches.setdefault(types, result)
                # Last: until all are stored, other threads store them, too, and forked children.
                self._counts_expanded.add(counts)
                match = self._matches.get(key)
            if match is None:
                from nnapi_shim.operations.mismatch import no_use

                accepted = [(it.inputs, self.outputs_of(it)) for it in self.forms]
                raise no_use(accepted, list(self.uses(*counts)), inputs, outputs)
        return match

    def outputs_of(self, accepted: Form) -> Operands:
        """The outputs of a form."""
        names = self.output_names
        return accepted.outputs or Operands(names, (None,) * len(names))

    def uses(
        self, count: int, output_count: int | None = None
    ) -> Sequence[tuple[tuple[Types, Types], "Match"]]:
        """Every row x form with `count` inputs: ((input types, output types), match).

        output_count: number of outputs; None for those of the form, each once.
        """
        uses = self._uses.get((count, output_count))
        if uses is None:
            uses = self._uses[count, output_count] = tuple(self._made_uses(count, output_count))
        return uses

    def _made_uses(
        self, count: int, output_count: int | None
    ) -> Iterator[tuple[tuple[Types, Types], "Match"]]:
        """As `uses`, made anew."""
        for accepted in self.forms:
            inputs, outputs = accepted.inputs, self.outputs_of(accepted)
            wanted = len(outputs.names) if output_count is None else output_count
            names, output_names = inputs.spread(count), outputs.spread(wanted)
            if names is None or output_names is None:
                continue
            fixed_types = dict(
                zip(inputs.names + outputs.names, inputs.types + outputs.types, strict=True)
            )
            for variant, row in self.types.items():
                columns = self.row_types(row)
                known = columns | {
                    name: kind for name, kind in fixed_types.items() if kind is not None
                }
                types, output_types = (
                    tuple([known[name] for name in listed]) for listed in (names, output_names)
                )
                since = max(row[0], accepted.since)
                values = tuple(
                    position
                    for position, (name, kind) in enumerate(zip(names, types, strict=True))
                    if kind in SCALARS or name in self.values
                )
                repeated = inputs.repeated, outputs.repeated
                yield (
                    (types, output_types),
                    Match(self, variant, since, names, output_names, repeated, values),
                )

    def row_types(self, row: Sequence[Any]) -> dict[str, OperandType]:
        """Operand types of one row of the type table, by column name."""
        return dict(zip(self.input_columns + self.output_names, row[1:], strict=True))

    # Binding: operands by name.

    def bind(
        self,
        match: "Match",
        inputs: Sequence[Any],
        outputs: list[BoundOperand],
        operand: Callable[[int], BoundOperand] | None = None,
        indexes: tuple[int, ...] = (),
    ) -> BoundOperation:
        """Name the operands. `inputs` holds the attribute of each position: a BoundOperand,
        None (omitted), or a value; `UNSET` if the value is unknown.
        operand: position -> tensor, for inputs whose value is bound.
        indexes: as in BoundOperation.
        """
        named: dict[str, Any] = {}
        names = match.input_names
        listed = (names, inputs), (match.output_names, outputs)
        for (operands, values), repeated in zip(listed, match.repeated, strict=True):
            for name, value in zip(operands, values, strict=True):
                if name == repeated and value is not UNSET:
                    named.setdefault(name, []).append(value)
                elif value is not UNSET:
                    named[name] = value
        sources = (
            {names[at]: operand(at) for at in match.value_positions if names[at] in self.values}
            if operand is not None and self.values
            else {}
        )
        return BoundOperation(match, named, outputs, sources, indexes)

    def required_level(self, op: BoundOperation) -> int:
        """Run the rules; the feature level (1..8) that this use needs. Raises BAD_DATA."""
        level = op.match.since
        try:
            for rule in self.rules:
                answer = rule(op)
                if answer is not None and answer > level:
                    level = answer
        except NnapiError as error:
            raise op.refused(error) from None
        return level


UNSET = object()
"""Marks a value that is unknown while a model is built."""


class Match(NamedTuple):
    """A signature of an operation that its declaration accepts."""

    operation: Operation
    variant: str
    since: int
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    repeated: tuple[str, str]
    """Names of the input and of the output that repeat, or empty strings."""
    value_positions: tuple[int, ...]
    """Inputs whose values are needed before the operation can be prepared."""
