"""Argument records: a word per field, whatever the numbers."""

from importlib import import_module
from pathlib import Path
from struct import unpack

import pytest

from nnapi_shim.drivers.cpu import lowering
from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS
from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS
from nnapi_shim.drivers.cpu.lowering.reduction import VIEW
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    FLOAT32_MAX,
    INT64,
    Record,
    Space,
    record,
)


def test_every_field_has_a_word():
    layout = record(input=ADDRESS, count=INT64, low=FLOAT32)
    assert unpack("<qqf4x", layout.pack(1, -2, 0.5)) == (1, -2, 0.5)
    assert layout.addresses == [(0, "input")]


def test_what_float32_cannot_hold_becomes_its_largest_number():
    layout = record(scale=FLOAT32, count=INT64)
    assert unpack("<f4xq", layout.pack(-1e300, 7)) == (-FLOAT32_MAX, 7)


@pytest.mark.parametrize(
    ("space", "fields"),
    [(Space.ELEMENTS, ELEMENTS), (Space.PAIRS, WALK_FIELDS), (Space.RUNS, VIEW)],
    ids=[Space.ELEMENTS, Space.PAIRS, Space.RUNS],
)
def test_records_declare_the_space_that_their_fields_cut(space, fields):
    """A pass that asks the space relies on the fields; a record that has them and declares none
    would silently be left as it is.
    """
    declared = {}
    for path in sorted(Path(lowering.__file__).parent.glob("*.py")):
        module = import_module(f"{lowering.__name__}.{path.stem}")
        for name, value in vars(module).items():
            if isinstance(value, Record):
                declared[f"{path.stem}.{name}"] = value
    having = {name for name, each in declared.items() if each.fields.keys() >= fields.keys()}
    assert having == {name for name, each in declared.items() if each.space == space}
    assert len(having) > 3
