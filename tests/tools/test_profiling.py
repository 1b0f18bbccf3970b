"""Profiles of what runs in a block: `with nnapi_shim.profile() as p:`."""

import json
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Compilation, Execution, Model, NnapiError
from tests.pictures.models import chain


def squares() -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [4], name="x")
        model.outputs(model.abs(model.neg(x)))
    return model


X = np.float32([1, -2, 3, -4])


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_operations(device: str) -> None:
    """Runs of before the block do not count, and results are the same."""
    compilation = Compilation(squares(), device)
    compilation.run(X)
    with nnapi_shim.profile() as p:
        for _ in range(3):
            assert compilation.run(X).tolist() == [1, 2, 3, 4]
        assert compilation.run_named({"x": X})["output_0"].tolist() == [1, 2, 3, 4]
    (model,) = p.models
    assert (model.runs, model.devices) == (4, (device,))
    assert [item.name for item in p.operations] == ["NEG", "ABS"]
    assert all(item.output_bytes == 16 and item.device == device for item in p.operations)
    assert sum(item.share or 0 for item in p.operations) == pytest.approx(1)
    assert sum(item.calls for item in p.operations) >= 4
    assert p.peak_bytes > 0
    compilation.run(X)
    assert p.models[0].runs == 4


def test_after_the_block_runs_are_as_before() -> None:
    compilation = Compilation(squares(), "nnapi-cpu")
    runner, run = compilation._runner, Compilation.run
    with pytest.raises(ZeroDivisionError), nnapi_shim.profile() as p:
        compilation.run(X)
        assert compilation._runner is not runner
        raise ZeroDivisionError
    assert compilation._runner is runner
    assert Compilation.run is run
    assert p.models[0].runs == 1


def test_outputs_of_a_profile(tmp_path) -> None:
    compilation = Compilation(chain(), "nnapi-cpu")
    with nnapi_shim.profile() as p:
        compilation.run(np.zeros(compilation.inputs[0].dimensions, np.float32))
    lines = str(p).splitlines()
    assert lines[0].startswith("model 0 (5 operations) on nnapi-cpu: 1 run, ")
    assert len(lines) == 1 + 1 + 5 + 1
    assert len(p.table(top=2).splitlines()) == 5
    json.dumps(p.to_json())
    p.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "nnapi-cpu" for event in events) >= 4
    p.save_flame_graph(tmp_path / "flames.svg")
    root = ElementTree.parse(tmp_path / "flames.svg").getroot()
    assert any("CONV_2D" in (title.text or "") for title in root.iter() if "title" in title.tag)
    p.save_flame_graph(tmp_path / "flames.txt")
    folded = (tmp_path / "flames.txt").read_text().splitlines()
    assert all(line.rpartition(" ")[2].isdigit() for line in folded)
    assert folded[0].startswith("model 0 (5 operations);CONV_2D (operation 0);")
    assert "coloured by time in a run" in p._repr_html_()
    assert "in a run" in compilation._repr_html_()


def test_threads_and_futures() -> None:
    """Each step belongs to the compilation whose run its thread makes."""
    one, other = Compilation(squares(), "nnapi-cpu"), Compilation(chain(), "nnapi-cpu")
    zeros = np.zeros(other.inputs[0].dimensions, np.float32)

    def work(compilation: Compilation, value: np.ndarray) -> None:
        for _ in range(20):
            compilation.run(value)

    with nnapi_shim.profile() as p:
        threads = [threading.Thread(target=work, args=pair) for pair in ((one, X), (other, zeros))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.submit(X).result()
    by_size = {len(model.operations): model for model in p.models}
    assert (by_size[2].runs, by_size[5].runs) == (21, 20)
    assert p.other_steps == ()


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_control_flow(device: str) -> None:
    """The steps of a graph of IF count once, for the IF."""
    with Model() as model:
        condition, x = model.input("TENSOR_BOOL8", [1]), model.input("TENSOR_FLOAT32", [4])
        branches = [squares(), squares()]
        model.outputs(*model.if_(condition, *branches, [x]))
    compilation = Compilation(model, device)
    with nnapi_shim.profile() as p:
        compilation.run(np.bool_([True]), X)
    (item,) = p.operations
    assert item.name == "IF"
    assert 0 < item.seconds <= p.models[0].run_seconds


def test_other_executions_and_nested_blocks() -> None:
    compilation = Compilation(squares(), "nnapi-cpu")
    with nnapi_shim.profile() as p:
        with pytest.raises(NnapiError, match="cannot be nested"), nnapi_shim.profile():
            pass
        execution = Execution(compilation)
        execution.set_input(0, X)
        execution.set_output(0, np.empty(4, np.float32))
        execution.compute()
    assert p.models == ()
    assert {step.device for step in p.other_steps} == {"nnapi-cpu"}


def test_a_compilation_that_is_closed_in_the_block() -> None:
    with nnapi_shim.profile() as p, Compilation(squares(), "nnapi-cpu") as compilation:
        compilation.run(X)
    assert p.models[0].runs == 1
    with pytest.raises(NnapiError, match="closed"):
        compilation.run(X)
