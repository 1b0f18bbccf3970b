"""Runs a model with a pass and without it; what has to agree.

Every output has the same dimensions and the same bits, where NaN is NaN whatever its bits are; or
both fail, with the same code and message. Of two kinds of passes that is asked of sums that are
exact in any order, and of others, a bound (`bounds.py`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu import passes, rewriting
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.settings import PASSES
from tests.random_models.graph import Graph, assemble
from tests.random_models.running import Prepared, Wrong
from tests.random_models.rewrites.variants import Variant
from tests.single import Built


class Unequal(Exception):  # noqa: N818 (a result of a test)
    """A model gives something else with a pass than without it."""


class Proof:
    """What one pass does to models. acted: how often it did."""

    def __init__(self, name: str, is_relaxed: bool = False) -> None:
        self.name = name
        self.is_relaxed = is_relaxed
        self.models = 0
        self.acted = 0
        self._device = CpuDevice()

    def check(self, graph: Graph) -> bool:
        """Whether the pass acted; raises Unequal."""
        self.models += 1
        ends = graph.ends()
        built = assemble(graph, ends)
        if self.is_relaxed:
            relaxed = built.model._replace(relax_computation_float32_to_float16=True)
            built = built._replace(model=relaxed)
        sizes = [graph.items[index].value.operand.dimensions for index in ends]
        with _recorded() as done:
            ours = self._outcome(built, sizes)
        if not done[self.name]:
            return False
        self.acted += 1
        with left_out(self.name):
            theirs = self._outcome(built, sizes)
        if isinstance(ours, str) or isinstance(theirs, str):
            if ours is not theirs and (not isinstance(ours, str) or ours != theirs):
                raise Unequal(f"with it: {_shown(ours)}; without: {_shown(theirs)}")
            return True
        for index, one, other in zip(ends, ours, theirs, strict=True):
            difference = difference_of(one, other)
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
            return f"broken: {error}"
        except Exception as error:
            return f"it raises {error!r}"


def _shown(outcome: Any) -> str:
    return outcome if isinstance(outcome, str) else "outputs"


def difference_of(one: Any, other: Any) -> str:
    """How two arrays differ in bits, but for those of NaN; "" if they do not."""
    if one.shape != other.shape:
        return f"{list(one.shape)}, without it {list(other.shape)}"
    if one.tobytes() == other.tobytes():
        return ""
    bits = f"u{one.dtype.itemsize}"
    same = one.view(bits) == other.view(bits)
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
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
def _recorded() -> Iterator[Counter[str]]:
    """What passes do meanwhile: the name of each, and how often."""
    found: Counter[str] = Counter()
    applied, on_steps = rewriting.applied, passes.on_steps

    def applied_and_told(*arguments: Any) -> Any:
        graph, done = applied(*arguments)
        found.update(each.name for each in done)
        return graph, done

    def on_steps_and_told(*arguments: Any) -> Any:
        done = on_steps(*arguments)
        found.update(each.name for each in done)
        return done

    rewriting.applied, passes.on_steps = applied_and_told, on_steps_and_told
    try:
        yield found
    finally:
        rewriting.applied, passes.on_steps = applied, on_steps


def first_unequal(proof: Proof, models: Sequence[Variant]) -> str:
    """What is wrong with the first of these that is; "" if none is."""
    for what, graph in models:
        try:
            proof.check(graph)
        except Unequal as error:
            return f"{what}: {error}\n{graph.shown('    ')}"
    return ""
