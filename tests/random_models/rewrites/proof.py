"""Runs a model with a pass and without it; what has to agree.

Every output has the same dimensions and the same bits, where NaN is NaN whatever its bits are; or
both fail, with the same code and message. Passes that let another kernel compute sums may add up in
another order (`REORDERED`): their models hold small whole numbers, of which all sums are exact,
infinities and NaN, and a sum of 0 may have either sign.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu import passes
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.schedule import Schedule
from nnapi_shim.errors import NnapiError
from nnapi_shim.settings import PASSES
from tests.random_models.graph import Graph, assemble
from tests.random_models.rewrites.mutations import module_of
from tests.random_models.running import Prepared, Wrong
from tests.single import Built

RELAXED = ("compress_weights_f16",)
"""Passes for models that allow float32 to be computed with less."""
REORDERED = ("keep_weights_q8", "fuse_dilation", "fuse_padding", "compress_weights_f16")
"""Passes that let another kernel compute sums."""

SMALL: dict[str, dict[str, Any]] = {
    "keep_weights_q8": {"MIN_WEIGHTS": 1},
    "fuse_tiles": {"MIN_BYTES": 1 << 10, "TILES": (2, 32)},
    "fuse_elementwise": {"MIN_ELEMENTS": 64, "BLOCK": 128},
}
"""Names in the module of a pass that say from which sizes on it acts, which change no result, and
values that let it act on small models.
"""

BROKEN = "broken"
"""How an outcome begins that no model may have."""


class Unequal(Exception):  # noqa: N818 (a result of a test)
    """A model gives something else with a pass than without it."""


class Proof:
    """What one pass does to models. models: how many were looked at; acted: in how many it did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.models = 0
        self.acted = 0
        self._device = CpuDevice()

    def check(self, graph: Graph) -> bool:
        """Whether the pass acted; raises Unequal."""
        self.models += 1
        ends = graph.ends()
        built = assemble(graph, ends)
        if self.name in RELAXED:
            relaxed = built.model._replace(relax_computation_float32_to_float16=True)
            built = built._replace(model=relaxed)
        sizes = [graph.items[index].value.operand.dimensions for index in ends]
        with _recorded() as done, _acting_on_small_models(self.name):
            ours = self._outcome(built, sizes)
        is_broken = isinstance(ours, str) and ours.startswith(BROKEN)
        if not done[self.name] and not is_broken:
            return False
        self.acted += 1
        with left_out(self.name):
            theirs = self._outcome(built, sizes)
        if isinstance(ours, str) or isinstance(theirs, str):
            if ours is not theirs and (not isinstance(ours, str) or ours != theirs):
                raise Unequal(f"with it: {_shown(ours)}; without: {_shown(theirs)}")
            return True
        for index, one, other in zip(ends, ours, theirs, strict=True):
            difference = difference_of(one, other, self.name in REORDERED)
            if difference:
                raise Unequal(f"operand {index}: {difference}")
        return True

    def _outcome(self, built: Built, sizes: Sequence[Any]) -> Any:
        """The outputs, or as text what is wrong."""
        try:
            return Prepared(self._device, built).run(built.inputs, sizes)
        except NnapiError as error:
            return f"{error.code.name}, {error.message}"
        except Wrong as error:
            return f"{BROKEN}: {error}"
        except Exception as error:
            return f"{BROKEN}: {error!r}"


def _shown(outcome: Any) -> str:
    return outcome if isinstance(outcome, str) else "outputs"


def difference_of(one: Any, other: Any, zeros_are_equal: bool = False) -> str:
    """How two arrays differ in bits, but for those of NaN; "" if they do not.

    zeros_are_equal: whatever their sign.
    """
    if one.shape != other.shape:
        return f"{list(one.shape)}, without it {list(other.shape)}"
    if one.tobytes() == other.tobytes():
        return ""
    bits = f"u{one.dtype.itemsize}"
    same = one.view(bits) == other.view(bits)
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
        if zeros_are_equal:
            same |= (one == 0) & (other == 0)
    if same.all():
        return ""
    at = tuple(np.argwhere(~same)[0].tolist())
    count = int((~same).sum())
    return (
        f"{count} of {same.size} elements differ, first at {list(at)}: {one[at]!r}, without it "
        f"{other[at]!r}"
    )


@contextmanager
def left_out(name: str) -> Iterator[None]:
    """Models are compiled without a pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSES.name, name)
        yield


@contextmanager
def _acting_on_small_models(name: str) -> Iterator[None]:
    module = import_module(module_of(name))
    with pytest.MonkeyPatch.context() as patch:
        for key, value in SMALL.get(name, {}).items():
            patch.setattr(module, key, value)
        yield


@contextmanager
def _recorded() -> Iterator[Counter[str]]:
    """What passes do meanwhile: the name of each, and how often."""
    actual: Counter[str] = Counter()
    rewrite_graph, rewrite_schedule = passes.rewrite_graph, passes.rewrite_schedule

    def of_graph(*arguments: Any) -> Any:
        graph, rewrites = rewrite_graph(*arguments)
        actual.update(rewrite.name for rewrite in rewrites)
        return graph, rewrites

    def of_schedule(schedule: Schedule) -> None:
        rewrite_schedule(schedule)
        actual.update(rewrite.name for rewrite in schedule.rewrites)

    passes.rewrite_graph, passes.rewrite_schedule = of_graph, of_schedule
    try:
        yield actual
    finally:
        passes.rewrite_graph, passes.rewrite_schedule = rewrite_graph, rewrite_schedule
