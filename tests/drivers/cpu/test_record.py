"""Argument records: a word per field, whatever the numbers."""

from struct import unpack

from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    FLOAT32_MAX,
    INT64,
    record,
)


def test_every_field_has_a_word():
    layout = record(input=ADDRESS, count=INT64, low=FLOAT32)
    assert unpack("<qqf4x", layout.pack(1, -2, 0.5)) == (1, -2, 0.5)
    assert layout.addresses == [(0, "input")]


def test_what_float32_cannot_hold_becomes_its_largest_number():
    layout = record(scale=FLOAT32, count=INT64)
    assert unpack("<f4xq", layout.pack(-1e300, 7)) == (-FLOAT32_MAX, 7)
