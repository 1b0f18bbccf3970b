"""Rules and checks shared by several operations.

Rules run in addOperation and finish: they skip unknown dimensions, raise BAD_DATA, and may return
the feature level that a use needs. Checks run at execution, when all dimensions and values are
known, and raise OP_FAILED.
"""

from math import copysign, inf
from struct import pack, unpack

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import ELEMENT_BYTES, MAX_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import Dimensions, combined, element_count
from nnapi_shim.hints import Iterator, Mapping, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Check, Rule


def operands_named(op: BoundOperation, name: str) -> list[BoundOperand]:
    """The operands of a name: several if it repeats, none if it is omitted."""
    value = getattr(op, name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def labelled(op: BoundOperation, names: Sequence[str]) -> Iterator[tuple[str, BoundOperand]]:
    """The operands of names with their labels for messages: `inputs 2` if a name repeats."""
    for name in names:
        is_repeated = name in op.match.repeated
        for at, operand in enumerate(operands_named(op, name)):
            yield (f"{name} {at}" if is_repeated else name), operand


def rank_at_most(limit: int, *names: str) -> Rule:
    """The rank of `names` is at most `limit`, if it is known."""

    def rule(op: BoundOperation) -> None:
        for label, operand in labelled(op, names):
            if len(operand.dimensions) > limit:
                raise bad_data(
                    f"{label} has rank {len(operand.dimensions)} {list(operand.dimensions)}; "
                    f"allowed are ranks up to {limit}",
                    "operation.rank.limit",
                )

    return rule


def ranks_at_most_if_all_known(limit: int, *names: str) -> Rule:
    """Checked only if the ranks of `names` are all known."""
    each = rank_at_most(limit, *names)

    def rule(op: BoundOperation) -> None:
        if all(getattr(op, name).dimensions for name in names):
            each(op)

    return rule


def rank_is(rank: int, *names: str) -> Rule:
    """The rank of `names` is `rank`, if it is known."""

    def rule(op: BoundOperation) -> None:
        for label, operand in labelled(op, names):
            if operand.dimensions and len(operand.dimensions) != rank:
                raise bad_data(
                    f"{label} has rank {len(operand.dimensions)} {list(operand.dimensions)}; "
                    f"it must be {rank}",
                    "operation.rank.exact",
                )

    return rule


def same_rank(*names: str) -> Rule:
    """The known ranks of `names` are equal."""

    def rule(op: BoundOperation) -> None:
        first, *others = labelled(op, names)
        for label, operand in others:
            dimensions, expected = operand.dimensions, first[1].dimensions
            if dimensions and expected and len(dimensions) != len(expected):
                raise bad_data(
                    f"{label} has dimensions {list(dimensions)}; it must have the rank "
                    f"of {first[0]} {list(expected)}",
                    "operation.rank.equal",
                )

    return rule


def level_by_rank(name: str, since: Mapping[int, int]) -> Rule:
    """Allowed ranks of `name`: `since`."""

    def rule(op: BoundOperation) -> int | None:
        rank = len(getattr(op, name).dimensions)
        if rank == 0:
            return None
        if rank not in since:
            raise bad_data(
                f"{name} has rank {rank}; allowed are {sorted(since)}", "operation.rank.allowed"
            )
        return since[rank]

    return rule


def same_parameters(*names: str) -> Rule:
    """If quantized, `names` have the same scale and zero point."""

    def rule(op: BoundOperation) -> None:
        operands = [*labelled(op, names)]
        first, reference = operands[0]
        for name, operand in operands:
            parameters = operand.scale, operand.zero_point
            if operand.type in QUANTIZED_RANGE and parameters != (
                reference.scale,
                reference.zero_point,
            ):
                raise bad_data(
                    f"{name} has scale {operand.scale:g} and zero point {operand.zero_point}; "
                    f"{first} has {reference.scale:g} and {reference.zero_point}, and they must "
                    "be equal",
                    "operation.quantization.equal",
                )

    return rule


def copied_as_stored(op: BoundOperation) -> str | None:
    """Warn if the output has other parameters than the input: stored values are copied unchanged.

    As in the reference; the values have the declared scale and zero point of the output.
    """
    output, input = ((it.scale, it.zero_point) for it in (op.output, op.input))
    if output == input:
        return None
    return (
        f"output has scale {output[0]:g} and zero point {output[1]}, input {input[0]:g} and "
        f"{input[1]}; stored values are copied as they are, and mean something else there; give "
        "both operands the same"
    )


def zero_point_level(op: BoundOperation) -> int | None:
    """An input of TENSOR_QUANT8_ASYMM with another zero point than 0 needs level 3."""
    return 3 if op.variant == "qu8" and op.input.zero_point != 0 else None


def per_channel_dim(name: str, dim: int) -> Rule:
    """If `name` is quantized per channel, its scales are along dimension `dim`."""

    def rule(op: BoundOperation) -> None:
        quant = getattr(op, name).channel_quant
        if quant is not None and quant.channel_dim != dim:
            raise bad_data(
                f"{name} has its scales along dimension {quant.channel_dim}; it must be {dim}",
                "operation.quantization.channel-dim",
            )

    return rule


def known_rank(rank: int, *names: str) -> Check:
    """The rank of `names` is `rank` at run time."""

    def check(op: BoundOperation) -> None:
        for name in names:
            dimensions = getattr(op, name).dimensions
            if len(dimensions) != rank:
                raise op_failed(
                    f"{name} has dimensions {list(dimensions)}; it must have rank {rank}",
                    "operation.rank.exact",
                )

    return check


def expect_dimensions(op: BoundOperation, **expected: Sequence[int | None]) -> None:
    """These operands have these dimensions, None being any size; omitted ones are skipped."""
    for name, sizes in expected.items():
        operand = op.__dict__.get(name)
        if operand is None or operand.dimensions == sizes:
            continue
        if len(operand.dimensions) != len(sizes) or any(
            size not in (None, actual)
            for size, actual in zip(sizes, operand.dimensions, strict=True)
        ):
            raise op_failed(
                f"{name} has dimensions {list(operand.dimensions)}; they must be "
                f"[{_listed(sizes)}]",
                "operation.dimensions.expected",
            )


def rank_limit(limit: int, *names: str) -> Check:
    """The rank of `names` is at most `limit` at run time."""

    def check(op: BoundOperation) -> None:
        for name in names:
            for operand in operands_named(op, name):
                if len(operand.dimensions) > limit:
                    raise op_failed(
                        f"{name} has dimensions {list(operand.dimensions)}; allowed are ranks up "
                        f"to {limit}",
                        "operation.rank.limit",
                    )

    return check


def fused_activation(op: BoundOperation) -> None:
    """The fused activation is a FuseCode, and NONE for INT32 operands."""
    if op.activation not in (0, 1, 2, 3):
        raise op_failed(
            f"activation is {op.activation}; allowed are 0 (NONE) to 3 (RELU6)",
            "operation.activation.unknown",
        )
    if op.activation != FuseCode.NONE and op.variant == "i32":
        raise op_failed(
            f"activation is {op.activation}; TENSOR_INT32 allows 0 (NONE) only",
            "operation.activation.integers",
        )


def positive(*names: str) -> Check:
    """Greater than 0: `names`."""

    def check(op: BoundOperation) -> None:
        for name in names:
            value = getattr(op, name)
            if not value > 0:
                raise op_failed(
                    f"{name} is {value}; it must be greater than 0", "operation.scalar.positive"
                )

    return check


def no_empty_dimension(*names: str) -> Check:
    """No dimension of `names` is 0."""

    def check(op: BoundOperation) -> None:
        for name in names:
            dimensions = getattr(op, name).dimensions
            if 0 in dimensions:
                raise op_failed(
                    f"{name} has dimensions {list(dimensions)}; none may be 0",
                    "operation.input.empty",
                )

    return check


def image_not_empty(op: BoundOperation) -> None:
    """Height, width and depth of the image `input` are at least 1; only its batch may be 0."""
    batch_free = op.input.dimensions[1:]
    if 0 in batch_free:
        raise op_failed(
            f"input has dimensions {list(op.input.dimensions)}; only the batch may be 0",
            "operation.image.empty",
        )


def axis_in_range(axis: int, rank: int, prefix: str = "axis is") -> int:
    """Normalize an axis from [-rank, rank) to [0, rank).

    prefix: the words of the message before the axis.
    """
    if not -rank <= axis < rank:
        raise op_failed(f"{prefix} {axis}; allowed are {-rank} to {rank - 1}", "operation.axis")
    return axis % rank


def axis_exists(op: BoundOperation) -> None:
    """The axis lies in [-rank, rank) of the input."""
    axis_in_range(op.axis, len(op.input.dimensions))


def outputs_fit(op: BoundOperation) -> None:
    """No output exceeds the maximum size of an operand."""
    for operand, name, dimensions in zip(
        op.outputs, op.match.output_names, op.match.operation.shape(op), strict=True
    ):
        if element_count(dimensions) * ELEMENT_BYTES[operand.type] > MAX_BYTES:
            raise op_failed(
                f"{name} {list(dimensions)} is larger than 2^32 - 1 bytes",
                "operation.output.too-large",
            )


def bias_scale(input_name: str, filter_name: str) -> Check:
    """A quantized bias has zero point 0 and scale `input_name` x `filter_name`, within 1e-6.

    1e-6 of the smaller scale; the product is formed in float32 (semantics.md 5.4). For per-channel
    filters the reference checks neither.
    """

    def check(op: BoundOperation) -> None:
        bias, filter_operand = op.bias, getattr(op, filter_name)
        if bias.type.name != "TENSOR_INT32" or filter_operand.channel_quant is not None:
            return
        product = float32(getattr(op, input_name).scale * filter_operand.scale)
        if abs(product - bias.scale) > 1e-6 * min(product, bias.scale):
            raise op_failed(
                f"bias has scale {bias.scale:g}; it must be the product of the scales of "
                f"{input_name} and {filter_name}, {product:g}",
                "operation.bias.scale",
            )
        if bias.zero_point != 0:
            raise op_failed(
                f"bias has zero point {bias.zero_point}; it must be 0", "operation.bias.zero-point"
            )

    return check


def float32(value: float) -> float:
    """Rounded to the nearest float32; infinity on overflow."""
    try:
        return unpack("f", pack("f", value))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return copysign(inf, value)


def float32s(values: Sequence[float]) -> Sequence[float]:
    """As float32, of many numbers."""
    layout = f"{len(values)}f"
    try:
        return unpack(layout, pack(layout, *values))
    except OverflowError:
        return [float32(value) for value in values]


def source_dimensions(name: str, *sizes: int) -> Rule:
    """The known dimensions of `name` are (`sizes`); 0 is any size."""

    def rule(op: BoundOperation) -> None:
        source = op.sources.get(name)
        if source is not None and combined(source.dimensions, sizes) is None:
            allowed = _listed([size or None for size in sizes])
            raise bad_data(
                f"{name} has dimensions {list(source.dimensions)}; they must be [{allowed}]",
                "operation.dimensions.expected",
            )

    return rule


def one_dimensional(*names: str, omitted: bool = False) -> Check:
    """The rank of `names` is 1 at run time.

    omitted: whether declared dimensions of an omitted one are checked, too.
    """

    def check(op: BoundOperation) -> None:
        for name in names:
            source = op.sources.get(name)
            if source is None or len(source.dimensions) == 1:
                continue
            if getattr(op, name) is None and not omitted:
                continue
            raise op_failed(
                f"{name} has dimensions {list(source.dimensions)}; there must be one dimension",
                "operation.rank.one",
            )

    return check


def read_as(op: BoundOperation, name: str, dimensions: Dimensions) -> None:
    """Reshape an operand with the same number of elements to these dimensions.

    For operands whose dimensions the reference checks partly or not at all.
    """
    operand = getattr(op, name)
    if element_count(operand.dimensions) == element_count(dimensions):
        setattr(op, name, operand.viewed(dimensions))


def sized(name: str, *sizes: int) -> Check:
    """The dimensions of `name` are (`sizes`) at run time."""

    def check(op: BoundOperation) -> None:
        expect_source(op, name, *sizes)

    return check


def expect_source(op: BoundOperation, name: str, *sizes: int) -> None:
    """Raise OP_FAILED unless the tensor of a value has these dimensions."""
    source = op.sources.get(name)
    if source is not None and source.dimensions != sizes:
        raise op_failed(
            f"{name} has dimensions {list(source.dimensions)}; they must be [{_listed(sizes)}]",
            "operation.dimensions.expected",
        )


def _listed(sizes: Sequence[int | None]) -> str:
    return ", ".join("any" if size is None else str(size) for size in sizes)
