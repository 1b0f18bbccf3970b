"""Serialization of a program without addresses; every reference is checked when it is parsed.

    numbers    COUNTS, then the rows below, 8 bytes each
    arguments  words of the argument records, as in a Program; addresses are 0
    texts      UTF-8, concatenated

Rows of numbers:

    steps      kernel (a text), first argument word, tiles, branch offset, link, complaint (a text),
               kind of the Place (a text), its number, its name (a text); number -1: a plain text
    patches    word, slot, addend
    fixed      word, LITERAL, WEIGHT, VALUE or POOL, which pool, offset
    needed     output, bytes
    shapes     rank and dimensions of every output, in one row
    ends       end offset of each text
"""

from operator import sub
from struct import pack

from nnapi_shim.drivers.cpu.program.program import (
    BESIDE,
    CHAIN,
    END,
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_LOOP_TIMEOUT,
    SLOT_WORDS,
    STEP_WORDS,
)
from nnapi_shim.errors import Place, Where
from nnapi_shim.hints import Iterator, NamedTuple, Sequence

LITERAL, WEIGHT, VALUE, POOL = range(4)
"""Base of a fixed address: the file's literals or weights, the model's own constants, or one of its
memories.
"""

COUNTS = ("steps", "patches", "fixed", "needed", "shapes", "ends", "arguments", "arena", "slots")
ROW_WORDS, PATCH_WORDS, FIXED_WORDS, NEEDED_WORDS = 9, 3, 4, 2

HELPERS = ("bind", "digest", "version")
"""Kernels and symbols that are never steps of a program."""


class Malformed(Exception):  # noqa: N818 (a finding)
    """A description that is inconsistent with itself or the model; the message says where."""


class Steps(NamedTuple):
    """The steps of a program as columns. firsts: first argument word of each step."""

    kernels: Sequence[str]
    firsts: Sequence[int]
    tiles: Sequence[int]
    branch_offsets: Sequence[int]
    links: Sequence[int]
    complaints: Sequence[str]
    where: Sequence[Where]


class Description(NamedTuple):
    """A program without its addresses. patches and fixed are flat rows, as in the format above."""

    steps: Steps
    arguments: bytes
    patches: Sequence[int]
    fixed: Sequence[int]
    arena_bytes: int
    slots: int
    shapes: Sequence[tuple[int, ...]]
    needed: Sequence[tuple[int, int]]


class Limits(NamedTuple):
    """Sizes of everything that a description may refer to.

    places: bytes of the literals, the weights and the model's own constants. pools: bytes of the
    model's memories. inputs: bytes of the program's inputs. output_count: number of outputs.
    """

    places: Sequence[int]
    pools: Sequence[int]
    inputs: Sequence[int]
    output_count: int


def packed(description: Description) -> bytes:
    """Serialize a description."""
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    numbers: list[int] = []
    steps = description.steps
    for kernel, *four, complaint, where in zip(*steps, strict=True):
        place = where if isinstance(where, Place) else Place(where, -1)
        numbers += text(kernel), *four, text(complaint)
        numbers += text(place.kind), place.number, text(place.name)
    numbers += *description.patches, *description.fixed
    numbers += [number for pair in description.needed for number in pair]
    shapes = [number for shape in description.shapes for number in (len(shape), *shape)]
    encoded = [value.encode() for value in texts]
    ends = [sum(map(len, encoded[: at + 1])) for at in range(len(encoded))]
    counts = [
        len(steps.kernels),
        len(description.patches) // PATCH_WORDS,
        len(description.fixed) // FIXED_WORDS,
        len(description.needed),
        len(shapes),
        len(ends),
        len(description.arguments) // 8,
        description.arena_bytes,
        description.slots,
    ]
    numbers = [*counts, *numbers, *shapes, *ends]
    return pack(f"<{len(numbers)}q", *numbers) + description.arguments + b"".join(encoded)


def parsed(data: memoryview, limits: Limits) -> Description:
    """Parse a serialized description, with or without trailing zeros. Raises Malformed."""
    try:
        return _parsed(data, limits)
    except (IndexError, ValueError, OverflowError, MemoryError) as error:
        raise Malformed(f"the description ends early: {error}") from None


def _parsed(data: memoryview, limits: Limits) -> Description:
    numbers = data[: len(data) // 8 * 8].cast("q")
    counts = numbers[: len(COUNTS)].tolist()
    at = len(COUNTS)
    _require(len(counts) == at and min(counts) >= 0, "counts")
    step_count, patch_count, fixed_count, needed_count, shape_words, ends = counts[:6]
    argument_words, arena_bytes, slots = counts[6:]
    tables: list[list[int]] = []
    for words in (
        step_count * ROW_WORDS,
        patch_count * PATCH_WORDS,
        fixed_count * FIXED_WORDS,
        needed_count * NEEDED_WORDS,
        shape_words,
        ends,
    ):
        _require(words <= len(numbers) - at, "counts")
        tables.append(numbers[at : at + words].tolist())
        at += words
    _require(argument_words <= len(numbers) - at, "counts")
    arguments = bytes(data[8 * at : 8 * (at + argument_words)])
    texts = _texts(data[8 * (at + argument_words) :], tables[5])
    description = Description(
        _steps(tables[0], texts),
        arguments,
        tables[1],
        tables[2],
        arena_bytes,
        slots,
        [*_shapes(tables[4])],
        [*zip(tables[3][::2], tables[3][1::2], strict=True)],
    )
    check(description, limits)
    return description


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise Malformed(f"{what} out of range")


def _require_within(numbers: Sequence[int], end: int, what: str) -> None:
    """Raise Malformed unless all numbers are in [0, end)."""
    _require(not numbers or (min(numbers) >= 0 and max(numbers) < end), what)


def _texts(data: memoryview, ends: list[int]) -> list[str]:
    bounds = [0, *ends]
    _require(sorted(bounds) == bounds and bounds[-1] <= len(data), "texts")
    begins = iter(bounds)
    return [str(data[begin:end], "utf-8") for begin, end in zip(begins, ends, strict=False)]


def _shapes(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    at = 0
    while at < len(numbers):
        end = at + 1 + numbers[at]
        _require(at < end <= len(numbers), "rank")
        yield tuple(numbers[at + 1 : end])
        at = end


def _steps(numbers: list[int], texts: list[str]) -> Steps:
    columns = [numbers[at::ROW_WORDS] for at in range(ROW_WORDS)]
    kernels, firsts, tiles, branch_offsets, links, complaints, kinds, place_numbers, names = columns
    for column in (kernels, complaints, kinds, names):
        _require_within(column, len(texts), "text")
    where = [
        Place(texts[kind], number, texts[name]) if number >= 0 else texts[kind]
        for kind, number, name in zip(kinds, place_numbers, names, strict=True)
    ]
    kernel_names, complaint_texts = [texts[at] for at in kernels], [texts[at] for at in complaints]
    return Steps(kernel_names, firsts, tiles, branch_offsets, links, complaint_texts, where)


def check(description: Description, limits: Limits) -> None:
    """Raise Malformed unless every reference of a description is valid."""
    words, steps = len(description.arguments) // 8, description.steps
    for name in set(steps.kernels):
        _require(name.replace("_", "").isalnum() and name.isascii(), "kernel")
        _require(name.split("_")[0] not in HELPERS, "kernel")
    _require_within(steps.firsts, words + 1, "arguments")
    _require_within(steps.tiles, 1 << 31, "tiles")
    targets = [at + offset for at, offset in enumerate(steps.branch_offsets)]
    _require_within(targets, len(targets) + 1, "branch offset")
    _check_regions(steps)
    _require(len(description.shapes) == limits.output_count, "shapes")
    dimensions = [dimension for shape in description.shapes for dimension in shape]
    _require_within(dimensions, 1 << 32, "dimension")
    outputs = dict(description.needed)
    _require_within([*outputs], limits.output_count, "output")
    _require_within([*outputs.values(), description.arena_bytes], 1 << 48, "bytes")
    lengths = [outputs.get(at, 0) for at in range(limits.output_count)]
    _require(description.slots == FIRST_ARGUMENT_SLOT + len(limits.inputs) + len(lengths), "slots")
    _check_patches(description, words, [*limits.inputs, *lengths])
    _check_fixed(description.fixed, words, limits)


def _check_regions(steps: Steps) -> None:
    """Require equal tile counts of chained steps, and no branches within or into regions of several
    steps.
    """
    links, branch_offsets = steps.links, steps.branch_offsets
    _require_within(links, BESIDE + 1, "link")
    _require(not links or links[-1] == END, "link")
    inside = {at + 1 for at, link in enumerate(links) if link != END}
    for at, (link, branch_offset) in enumerate(zip(links, branch_offsets, strict=True)):
        if branch_offset:
            _require(link == END and not inside & {at, at + branch_offset}, "link")
        _require(link != CHAIN or steps.tiles[at] == steps.tiles[at + 1], "link")


def _check_patches(description: Description, words: int, arguments: Sequence[int]) -> None:
    """Require that a patch refers to the arena, an argument or the loop timeout."""
    at, slots, addends = (description.patches[field::PATCH_WORDS] for field in range(PATCH_WORDS))
    ends = [-1] * FIRST_ARGUMENT_SLOT + [*arguments]
    ends[SLOT_ARENA], ends[SLOT_LOOP_TIMEOUT] = description.arena_bytes, 0
    _require_within(at, words, "patch")
    _require_within(slots, len(ends), "slot")
    _require_within(addends, 1 << 48, "patch")
    _require_within([*map(sub, map(ends.__getitem__, slots), addends)], 1 << 48, "patch")


def _check_fixed(fixed: Sequence[int], words: int, limits: Limits) -> None:
    at, kinds, which, offsets = (fixed[field::FIXED_WORDS] for field in range(FIXED_WORDS))
    _require_within(at, words, "address")
    _require_within(kinds, POOL + 1, "address")
    pools, places = limits.pools, limits.places
    numbers = [number for kind, number in zip(kinds, which, strict=True) if kind == POOL]
    _require_within(numbers, len(pools), "address")
    ends = [
        pools[number] if kind == POOL else places[kind]
        for kind, number in zip(kinds, which, strict=True)
    ]
    _require_within(offsets, 1 << 62, "address")
    _require_within([*map(sub, ends, offsets)], 1 << 62, "address")


def words_of(description: Description, addresses: dict[str, int]) -> tuple[bytearray, bytes]:
    """The words of a program and its patches. addresses: kernel name -> address."""
    steps = description.steps
    step_count = len(steps.kernels)
    base = STEP_WORDS * step_count
    head = [0] * base
    head[0::STEP_WORDS] = [addresses[name] for name in steps.kernels]
    head[2::STEP_WORDS], head[3::STEP_WORDS] = steps.tiles, steps.branch_offsets
    head[4::STEP_WORDS] = steps.links
    argument_patches = [0] * (PATCH_WORDS * step_count)  # address of each step's arguments
    argument_patches[0::PATCH_WORDS] = range(1, base, STEP_WORDS)
    argument_patches[1::PATCH_WORDS] = [SLOT_WORDS] * step_count
    argument_patches[2::PATCH_WORDS] = [8 * (base + first) for first in steps.firsts]
    patches = [*description.patches]
    patches[0::PATCH_WORDS] = [base + at for at in patches[0::PATCH_WORDS]]
    words = bytearray(pack(f"<{base}q", *head) + description.arguments)
    return words, pack(f"<{len(argument_patches) + len(patches)}q", *argument_patches, *patches)
