"""Steps that run side by side: the same bits on any number of threads, in little more memory."""

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.compile import layout
from nnapi_shim.drivers.cpu.passes.schedule import run_parallel
from nnapi_shim.drivers.cpu.passes.schedule.parallel_groups import MAX_GROUP, MAX_GROWTH
from nnapi_shim.drivers.cpu.program.program import BESIDE
from nnapi_shim.tools.explain import explain

SIZE = 96


def many_transposes(count):
    """Transposes that each make room for the next, if one comes after the other."""
    model = Model()
    x = model.input("TENSOR_FLOAT32", [SIZE, SIZE])
    total = model.reduce_sum(x, [0], keep_dims=False)
    for number in range(count):
        turned = model.transpose(model.add(x, np.float32([number])), [1, 0])
        total = model.maximum(total, model.reduce_max(turned, [0], keep_dims=False))
    model.outputs(total)
    model.finish()
    return model


def test_results_are_the_same_bits(monkeypatch):
    model = many_transposes(3)
    x = np.random.default_rng(1).normal(size=(SIZE, SIZE)).astype(np.float32)
    assert "run_parallel" in {done.name for done in explain(model).passes}
    expected = model.compile("nnapi-reference").run(x)
    for threads in (1, 2, 5):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
        compiled = model.compile("nnapi-cpu")
        result = {compiled.run(x).tobytes() for _ in range(20)}
        assert len(result) == 1
        np.testing.assert_allclose(np.frombuffer(result.pop(), np.float32), expected, rtol=1e-5)


def test_the_arena_hardly_grows(monkeypatch):
    model = many_transposes(9)
    sizes = []

    def planned(ranges, plan=layout.plan):
        result = plan(ranges)
        sizes.append(result[1])
        return result

    monkeypatch.setattr(layout, "plan", planned)
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "-run_parallel")
    model.compile("nnapi-cpu")
    monkeypatch.setenv("NNAPI_SHIM_PASSES", "")
    result = [done.name for done in explain(model).passes]
    without, with_it = sizes[0], sizes[-1]
    assert "run_parallel" in result
    assert without < with_it <= without + MAX_GROWTH


def test_not_too_many_are_looked_through(monkeypatch):
    """Each tile of a region goes by the steps that are in front of its own."""
    model = Model()
    x = model.input("TENSOR_FLOAT32", [64, 64])
    model.outputs(*[model.transpose(x, [1, 0]) for _ in range(2 * MAX_GROUP + 3)])
    model.finish()
    joins = []

    def assembled(schedule, *arguments, assemble=layout.assemble):
        joins.extend(scheduled.link for scheduled in schedule.steps)
        return assemble(schedule, *arguments)

    monkeypatch.setattr("nnapi_shim.drivers.cpu.compile.graph_lowering.assemble", assembled)
    model.compile("nnapi-cpu")
    regions = "".join("+" if join == BESIDE else " " for join in joins).split()
    assert [len(region) + 1 for region in regions] == [MAX_GROUP, MAX_GROUP, 3]


def test_where_each_needs_the_one_before_nothing_is_looked_for(monkeypatch):
    model = Model()
    x = model.input("TENSOR_FLOAT32", [SIZE, SIZE])
    turned = model.transpose(model.reduce_max(x, [0], keep_dims=True), [1, 0])
    model.outputs(model.reduce_max(turned, [0], keep_dims=False))
    model.finish()
    monkeypatch.setattr(run_parallel, "_chains", lambda _: pytest.fail("it looks at all steps"))
    model.compile("nnapi-cpu")
    with pytest.raises(pytest.fail.Exception):
        many_transposes(2).compile("nnapi-cpu")
