"""Descriptions of stored programs: what is packed is found again, what leads astray is refused."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi_shim.drivers.cpu.cache import format
from nnapi_shim.drivers.cpu.cache.format import (
    COUNTS,
    LITERAL,
    POOL,
    VALUE,
    WEIGHT,
    Description,
    Limits,
    Malformed,
    Steps,
    packed,
    parsed,
    words_of,
)
from nnapi_shim.drivers.cpu.program.program import (
    BESIDE,
    CHAIN,
    END,
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_LOOP_TIMEOUT,
)
from nnapi_shim.errors import Place

LIMITS = Limits([64, 128, 256], [32], [16, 4], 2)
"""Literals, weights, own constants; a memory; inputs; outputs."""
INPUT, OUTPUT = FIRST_ARGUMENT_SLOT, FIRST_ARGUMENT_SLOT + 2

STEPS = {
    "kernels": ["relu_f32", "copy", "relu_f32"],
    "firsts": [0, 3, 6],
    "tiles": [1, 0, 7],
    "branch_offsets": [0, -1, 1],
    "links": [END, END, END],
    "complaints": ["", "größer", ""],
    "where": [Place("operation", 0, "RELU"), "in words", Place("operation", 2)],
}
REST = {
    "arguments": bytes(9 * 8),
    "patches": [0, SLOT_ARENA, 512, 1, INPUT, 16, 2, OUTPUT, 8, 3, SLOT_LOOP_TIMEOUT, 0],
    "fixed": [4, LITERAL, 0, 64, 5, WEIGHT, 0, 128, 6, VALUE, 0, 256, 7, POOL, 0, 32],
    "arena_bytes": 512,
    "slots": FIRST_ARGUMENT_SLOT + 4,
    "shapes": [(2, 3), ()],
    "needed": [(0, 8)],
}


def described(**changed):
    steps = Steps(**{name: changed.pop(name, column) for name, column in STEPS.items()})
    return Description(steps, **{**REST, **changed})


def everything(description):
    """All fields, to be compared."""
    steps = description.steps
    return [getattr(steps, name) for name in STEPS] + [getattr(description, n) for n in REST]


def test_what_is_packed_is_found_again():
    for padding in (0, 1, 63):
        data = memoryview(packed(described()) + bytes(padding))
        assert everything(parsed(data, LIMITS)) == everything(described())


@pytest.mark.parametrize("links", [[CHAIN, BESIDE, END], [BESIDE, END, END], [END, CHAIN, END]])
def test_regions_are_kept(links):
    given = described(links=links, branch_offsets=[0, 0, 0], tiles=[4, 4, 4])
    assert parsed(memoryview(packed(given)), LIMITS).steps.links == links


def test_words_of_a_program():
    """Steps in front; what they and the patches refer to moves behind them."""
    words, patches = words_of(described(), {"relu_f32": 1000, "copy": 2000})
    assert struct.unpack_from("<15q", words) == (
        *(1000, 0, 1, 0, END, 2000, 0, 0, -1, END, 1000, 0, 7, 1, END),
    )
    assert words[120:] == REST["arguments"]
    rows = [*struct.iter_unpack("<3q", patches)]
    assert rows[:3] == [(1, 0, 120), (6, 0, 144), (11, 0, 168)]
    assert rows[3:5] == [(15, SLOT_ARENA, 512), (16, INPUT, 16)]


FAR = (1 << 31, 1 << 62, -1, -(1 << 63))


def replaced(name, at, value):
    """A column with one other number."""
    row = [*(STEPS | REST)[name]]
    row[at] = value
    return {name: row}


ASTRAY = [
    *[{"kernels": [name] * 3} for name in ("bind", "digest", "version_0_1_0", "", "a b")],
    *[{"kernels": [name] * 3} for name in ("../relu", "relu\0", "größer")],
    *[replaced("firsts", 1, n) for n in (10, *FAR)],
    *[replaced("tiles", 1, n) for n in FAR],
    *[
        replaced("branch_offsets", at, n)
        for at, n in ((0, -1), (2, 2), (0, 1 << 62), (1, -(1 << 63)))
    ],
    *[
        replaced("links", at, n)
        for at, n in ((2, CHAIN), (2, BESIDE), (0, 3), *((0, n) for n in FAR))
    ],
    {"links": [CHAIN, END, END], "branch_offsets": [0, 0, 0]},  # 1 tile and then none
    *[
        {"links": [BESIDE, END, END], "branch_offsets": branch_offsets}
        for branch_offsets in ([1, 0, 0], [0, 1, 0], [0, 0, -1])
    ],
    *[replaced("patches", 0, n) for n in (9, *FAR)],
    *[replaced("patches", 1, n) for n in (0, REST["slots"], *FAR)],
    *[replaced("patches", at, n) for at, n in ((2, 513), (5, 17), (8, 9), (11, 1))],
    *[replaced("patches", at, n) for at in (2, 5, 8, 11) for n in FAR],
    *[replaced("fixed", 0, n) for n in (9, *FAR)],
    *[replaced("fixed", 1, n) for n in (4, *FAR)],
    *[replaced("fixed", at, n) for at, n in ((3, 65), (7, 129), (11, 257), (15, 33), (14, 1))],
    *[replaced("fixed", at, n) for at in (3, 7, 11, 15, 14) for n in FAR],
    *[{"arena_bytes": n} for n in (511, 1 << 48, 1 << 62)],
    *[{"slots": n} for n in (REST["slots"] - 1, REST["slots"] + 1, 1 << 40)],
    *[{"shapes": shapes} for shapes in ([(2, 3)], [(1,)] * 3, [(1 << 32,), ()], [(-1,), ()])],
    *[{"needed": [row]} for row in ((2, 8), (-1, 8), (0, -1), (0, 1 << 48), (0, 7))],
]


@pytest.mark.parametrize("changed", ASTRAY, ids=str)
def test_what_leads_astray_is_refused(changed):
    with pytest.raises(Malformed):
        parsed(memoryview(packed(described(**changed))), LIMITS)


@pytest.mark.parametrize("which", [*range(len(COUNTS) - 2), len(COUNTS) - 1])
@pytest.mark.parametrize("count", [*FAR, 1 << 20, (1 << 61) + 1])
def test_counts_that_are_not_there(which, count):
    """All but the bytes of the arena, which is made as large as it is said to be."""
    data = bytearray(packed(described()))
    struct.pack_into("<q", data, 8 * which, count)
    with pytest.raises(Malformed):
        parsed(memoryview(data), LIMITS)


def test_every_length():
    data = packed(described())
    for length in range(len(data)):
        with pytest.raises(Malformed):
            parsed(memoryview(data[:length]), LIMITS)


CHANGES = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from([*FAR, 0, 1, 2, 3, 8, 9, 64, 1 << 32])),
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(CHANGES, st.binary(max_size=24), st.integers(0, 1 << 16))
def test_anything_is_refused_or_leads_nowhere_else(numbers, piece, where):
    """Whatever passes is checked again with nothing of how it was read."""
    data = bytearray(packed(described()))
    for at, value in numbers:
        struct.pack_into("<q", data, 8 * (at % (len(data) // 8)), value)
    where %= len(data)
    data[where : where + len(piece)] = piece[: len(data) - where]
    try:
        result = parsed(memoryview(data), LIMITS)
    except Malformed:
        return
    leads_nowhere_else(result, LIMITS)


def leads_nowhere_else(result, limits):
    """Fail unless every number refers to something that is there; written row by row."""
    words, count = len(result.arguments) // 8, len(result.steps.kernels)
    lengths = {SLOT_ARENA: result.arena_bytes, SLOT_LOOP_TIMEOUT: 0}
    needed = dict(result.needed)
    for at, length in enumerate([*limits.inputs, *map(needed.get, range(limits.output_count))]):
        lengths[FIRST_ARGUMENT_SLOT + at] = length or 0
    for at in range(0, len(result.patches), 3):
        word, slot, addend = result.patches[at : at + 3]
        assert 0 <= word < words and 0 <= addend <= lengths[slot]
    for at in range(0, len(result.fixed), 4):
        word, kind, which, offset = result.fixed[at : at + 4]
        assert (0 <= word < words and which >= 0) or kind != POOL
        assert 0 <= offset <= (limits.pools[which] if kind == POOL else limits.places[kind])
    for at in range(count):
        assert 0 <= result.steps.firsts[at] <= words and result.steps.tiles[at] >= 0
        assert 0 <= at + result.steps.branch_offsets[at] <= count
        assert result.steps.kernels[at].split("_")[0] not in format.HELPERS
