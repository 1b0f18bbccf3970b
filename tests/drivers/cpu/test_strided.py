"""Copies between strided views, against numpy: every kernel, edge sizes, tiles."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import address
from nnapi_shim.drivers.cpu.lowering.strided import SIDE, Axis, copied, filled
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.record import ADDRESS, At, Step

DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 12: np.dtype("V12")}


def place(value: Any, kept: list[Any]) -> int:
    """Address of a field's value."""
    offset = 0
    while isinstance(value, At):
        value, offset = value.base, offset + value.offset
    if isinstance(value, bytes):
        kept.append(np.frombuffer(value, np.uint8))
        value = kept[-1]
    return 0 if value is None else value.ctypes.data + offset


def run(step: Step, tiles: Any = None) -> None:
    """Run tiles of a step: these, or all, the last first."""
    kept: list[Any] = []
    fields = [
        place(step.fields[name], kept) if kind == ADDRESS else step.fields[name]
        for name, kind in step.record.fields.items()
    ]
    where, _owner = address.address_of(step.record.pack(*fields))
    for tile in reversed(range(step.tiles)) if tiles is None else tiles:
        assert library.current().function(step.kernel)(where, tile) == 0


def first(view: Any) -> Any:
    """Where the first element of a view lies, inside the array that owns the memory."""
    base = view
    while base.base is not None:
        base = base.base
    return At(base, view.__array_interface__["data"][0] - base.ctypes.data)


def step_between(source: Any, target: Any) -> Step:
    """The step that copies one view to another."""
    axes = map(Axis, source.shape, source.strides, target.strides)
    return copied(first(source), first(target), axes, source.itemsize)


def array(random: Any, shape: Any, size: int) -> Any:
    """Random elements of `size` bytes."""
    return random.integers(0, 256, (*shape, size), np.uint8).view(DTYPES[size])[..., 0]


def check(source: Any, target: Any) -> Step:
    """Copy; the view `target` holds what the source does, all around it is as before."""
    owner = first(target).base
    expected = owner.copy()
    same_view = np.ndarray(
        target.shape, target.dtype, expected, first(target).offset, target.strides
    )
    same_view[...] = source
    step = step_between(source, target)
    run(step)
    assert (owner == expected).all(), (source.shape, source.strides, target.strides)
    return step


def random_view(random: Any, view: Any) -> Any:
    """Some of a view: axes in another order, ranges of any stride."""
    cuts = []
    for size in view.shape:
        stride = int(random.choice([1, 1, 1, 2, 3, -1, -2]))
        cuts.append(slice(None, None, stride) if size > 1 else slice(None))
    return view[tuple(cuts)].transpose(random.permutation(view.ndim))


@pytest.mark.parametrize("size", DTYPES)
def test_any_view(size):
    random = np.random.default_rng(size)
    for _ in range(150):
        shape = random.integers(1, 8, random.integers(1, 7))
        source = random_view(random, array(random, shape, size))
        if random.random() < 0.3:
            repeats = random.integers(1, 6)
            at = random.integers(0, source.ndim + 1)
            source = np.broadcast_to(source, (repeats, *source.shape))
            source = np.moveaxis(source, 0, at)
        target = array(random, source.shape, size)
        if random.random() < 0.3:  # with gaps
            wider = array(random, [n + int(random.integers(0, 3)) for n in source.shape], size)
            target = wider[tuple(slice(0, n) for n in source.shape)]
        check(source, target)


SIDES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100)


@pytest.mark.parametrize("size", SIDE)
@pytest.mark.parametrize("rows", SIDES)
def test_matrices(size, rows):
    random = np.random.default_rng(rows)
    for columns in SIDES:
        source = array(random, (3, columns, rows), size).transpose(0, 2, 1)
        step = check(source, array(random, source.shape, size))
        few = "interleave_b" if columns <= 4 else "deinterleave_b" if rows <= 4 else "transpose_b"
        assert step.kernel == f"{few}{8 * size}"
        wider = array(random, (3, rows + 1, columns + 1), size)
        step = check(source, wider[:, :rows, :columns])
        assert not step.kernel.startswith("interleave")


LARGE = {
    "run": ((1, 1000003), (0, 1)),
    "runs": ((5, 300001), (0, 1)),
    "lines": ((70, 40, 300), (1, 0, 2)),
    "matrix": ((700, 900), (1, 0)),
    "wide matrix": ((20, 100000), (1, 0)),
    "tall matrix": ((100000, 20), (1, 0)),
    "few rows": ((3, 200000), (1, 0)),
    "few columns": ((200000, 3), (1, 0)),
    "small matrices": ((20000, 3, 8), (0, 2, 1)),
    "large matrices": ((3, 300, 500), (0, 2, 1)),
}


@pytest.mark.parametrize("size", SIDE)
@pytest.mark.parametrize("case", LARGE)
def test_tiles_do_not_meet(case, size):
    shape, order = LARGE[case]
    random = np.random.default_rng(1)
    source = array(random, shape, size).transpose(order)
    if case == "runs":
        source = source[:, :-1]
    target = array(random, source.shape, size)
    step = check(source, target)
    if case != "run":  # nothing divides its length
        assert step.tiles > 1
    source[...] = 1
    written = 0
    for tile in range(step.tiles):
        target[...] = 0
        run(step, [tile])
        written += int(np.count_nonzero(target))
    assert written == target.size, "two tiles write the same element"


def test_nothing_is_copied_along_an_empty_axis():
    target = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for shape in ((0, 4), (3, 0)):
        step = copied(target, target, map(Axis, shape, (4, 1), (4, 1)), 1)
        assert step.tiles == 0


@pytest.mark.parametrize("value", [b"\x07", b"\x07\x08", b"\x07\x08\x09\x0a"])
@pytest.mark.parametrize(
    ("shape", "wider"),
    [
        ((1,), (1,)),
        ((5, 7), (5, 9)),
        ((3, 1), (3, 5)),
        ((2, 3, 1000), (2, 5, 1000)),
        ((7001,), (7001,)),
        ((3, 4097), (3, 4100)),
        ((300, 1001), (300, 1001)),
        ((0, 3), (2, 3)),
    ],
)
def test_fill(value, shape, wider):
    dtype = DTYPES[len(value)]
    (number,) = np.frombuffer(value, dtype)
    owner = np.zeros(wider, dtype)
    region = owner[tuple(slice(0, n) for n in shape)]
    for step in filled(owner, shape, region.strides, value):
        run(step)
    assert (region == number).all()
    region[...] = 0
    assert not owner.any()
