"""What is made of a model's own constants is made once, for all its compilations."""

import gc
import threading
from unittest.mock import Mock

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, address
from nnapi_shim.drivers.cpu.compile import packing
from nnapi_shim.drivers.cpu.program import shared_constants
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.shared_constants import SharedConstants
from nnapi_shim.drivers.cpu.program.threads import ALONE


@pytest.fixture
def runs(monkeypatch):
    """The kernels that have been run for constants."""
    seen = []
    run = packing.StepsInOrder

    def observed(library, steps, *others):
        seen.extend(kernel for kernel, _, _ in steps)
        return run(library, steps, *others)

    monkeypatch.setattr(packing, "StepsInOrder", observed)
    return seen


def product(seed=1, columns=64):
    values = np.random.default_rng(seed).normal(size=(columns, 32)).astype(np.float32)
    model = Model()
    x = model.input("TENSOR_FLOAT32", (3, 32))
    model.outputs(model.fully_connected(x, values, np.zeros(columns, np.float32)))
    model.finish()
    return model, values


def test_a_second_compilation_packs_nothing(runs):
    model, values = product()
    x = np.random.default_rng(2).normal(size=(3, 32)).astype(np.float32)
    first = Compilation(model, devices=["nnapi-cpu"])
    packed = len(runs)
    assert packed > 0
    others = [Compilation(model, devices=["nnapi-cpu"]) for _ in range(2)]
    assert len(runs) == packed
    first.close()
    for compilation in others:
        np.testing.assert_allclose(compilation.run(x), x @ values.T, rtol=1e-5, atol=1e-5)


def test_equal_models_that_were_built_apart_share(runs):
    (one, values), (other, _), (different, changed) = (
        product(5, 256),
        product(5, 256),
        product(6, 256),
    )
    x = np.random.default_rng(2).normal(size=(3, 32)).astype(np.float32)
    first = Compilation(one, devices=["nnapi-cpu"])
    packed = len(runs)
    second = Compilation(other, devices=["nnapi-cpu"])
    assert len(runs) == packed
    third = Compilation(different, devices=["nnapi-cpu"])
    assert len(runs) > packed
    first.close()
    del first, one
    gc.collect()
    np.testing.assert_allclose(second.run(x), x @ values.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(third.run(x), x @ changed.T, rtol=1e-5, atol=1e-5)


def test_what_nobody_needs_is_let_go():
    model, _ = product(3)
    gc.collect()
    before = len(shared_constants._known)
    compilation = Compilation(model, devices=["nnapi-cpu"])
    assert len(shared_constants._known) == before + 1
    compilation.close()
    del compilation
    gc.collect()
    assert len(shared_constants._known) == before


def test_threads_that_compile_at_once():
    model, values = product(4)
    x = np.ones((3, 32), np.float32)
    results = [None] * 4

    def compile_and_run(at):
        results[at] = Compilation(model, devices=["nnapi-cpu"]).run(x)

    threads = [threading.Thread(target=compile_and_run, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_allclose(result, x @ values.T, rtol=1e-5, atol=1e-5)


def test_a_memory_has_no_part_in_what_is_shared():
    """Its contents may be others when the model is compiled again."""
    values = SharedConstants(b"0123456789")
    assert all(map(values.has, (0, b"literal", values.address, values.address + 9)))
    assert not values.has(values.address - 1) and not values.has(values.address + 10)


def test_what_was_made_of_a_block_that_is_not_kept_is_not_kept_either(monkeypatch):
    """Another thread was faster with the block; its address may be another block's one day."""
    monkeypatch.setattr(packing, "StepsInOrder", lambda *_: Mock(result=lambda: (0, 0)))
    own = SharedConstants(bytes(64))
    mine, another, next_one, third = (address.Block(64) for _ in range(4))
    own.keep(("pack", 1), another)
    kept = Constants.__new__(Constants)
    kept._shared, kept._packed, kept.crew = own, {}, ALONE
    packed = packing.Packing(kept)
    packed.steps.append(("pack", b"", 1))
    packed._blocks = {
        ("pack", 1): mine,
        ("sum", mine.address): next_one,
        ("table", 5): third,
    }
    packed._shared = {block.address: key for key, block in packed._blocks.items()}
    packed.run(None, 0)
    assert own.packed == {("pack", 1): another, ("table", 5): third}
