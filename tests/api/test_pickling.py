"""Models, compilations and errors in other processes."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import Compilation, Execution, Model, NnapiError, ResultCode
from nnapi_shim.errors import Place, bad_data
from nnapi_shim.runtime.memory import FdMemory

ROOT = Path(__file__).resolve().parents[2]
BIG = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)


def network(name: str = "x") -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None, 30], name=name)
        y = model.fully_connected(x, BIG, np.arange(40, dtype=np.float32), name="y")
        model.outputs(model.relu(y, name="positive"))
    return model


def same(one: Model, other: Model) -> None:
    """All that can be seen of two models is the same."""
    assert len(one.operands) == len(other.operands)
    for a, b in zip(one.operands, other.operands, strict=True):
        for what in ("name", "type", "dimensions", "scale", "zero_point", "channel_quant"):
            assert getattr(a, what) == getattr(b, what)
        assert a.is_constant == b.is_constant
        assert a.is_omitted == b.is_omitted
        np.testing.assert_array_equal(a.value, b.value)
        assert (a.subgraph is None) == (b.subgraph is None)
    for a, b in zip(one.operations, other.operations, strict=True):
        assert (a.number, a.type) == (b.number, b.type)
        assert [o.index for o in a.inputs] == [o.index for o in b.inputs]
        assert [o.index for o in a.outputs] == [o.index for o in b.outputs]
    assert [o.index for o in one.input_operands] == [o.index for o in other.input_operands]
    assert [o.index for o in one.output_operands] == [o.index for o in other.output_operands]
    assert (
        one.finished.relax_computation_float32_to_float16
        == other.finished.relax_computation_float32_to_float16
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_model_arrives_as_it_was(device: str, protocol: int) -> None:
    model = network()
    arrived = pickle.loads(pickle.dumps(model, protocol))
    same(model, arrived)
    values = np.ones((2, 30))
    np.testing.assert_array_equal(
        arrived.compile(device).run(x=values), model.compile(device).run(values)
    )
    assert [o.name for o in arrived.input_operands] == ["x"]
    with pytest.raises(NnapiError, match="BAD_STATE: the model is finished"):
        arrived.input("TENSOR_FLOAT32")


def test_big_constants_are_handed_over() -> None:
    buffers: list[pickle.PickleBuffer] = []
    model = network()
    data = pickle.dumps(model, 5, buffer_callback=buffers.append)
    assert len(data) < BIG.nbytes / 2
    assert sum(buffer.raw().nbytes for buffer in buffers) >= BIG.nbytes
    same(model, pickle.loads(data, buffers=buffers))


def test_all_kinds_of_operands() -> None:
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [1, 4], 0.5, 3)
        filter = model.constant(np.ones((2, 4), np.int8), scales=[0.5, 0.25])
        model.relax_computation_float32_to_float16()
        model.outputs(model.dequantize(filter, output="TENSOR_FLOAT32"), model.relu(x))
        squeezed = model.squeeze(x, None)
        assert squeezed.dimensions == (4,)
    arrived = pickle.loads(pickle.dumps(model))
    same(model, arrived)
    assert arrived.operands[filter.index].channel_quant == model.operands[1].channel_quant


def test_models_that_refer_to_models(device: str) -> None:
    def adding(number: float) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [1], name=f"x{number}")
            model.outputs(model.add(x, [number]))
        return model

    shared = adding(1)
    with Model() as model:
        condition, x = model.input("TENSOR_BOOL8", [1]), model.input("TENSOR_FLOAT32", [1])
        (first,) = model.if_(condition, shared, adding(-1), [x])
        (second,) = model.if_(condition, adding(10), shared, [first])
        model.outputs(second)
    arrived = pickle.loads(pickle.dumps(model))
    assert len(arrived.finished.referenced) == len(model.finished.referenced) == 3
    compilation = arrived.compile(device)
    assert [compilation.run([b], [0]).tolist() for b in (True, False)] == [[11], [0]]
    inner = arrived.operations[0].inputs[1].subgraph
    assert inner.input_operands[0].name == "x1"


def test_constants_in_memories_are_copied(tmp_path: Path, device: str) -> None:
    file = tmp_path / "weights"
    file.write_bytes(np.float32([1, 2]).tobytes())
    with file.open("r+b") as opened:
        memory = FdMemory(8, 3, opened.fileno(), 0)
    model = Model()
    x = model.input("TENSOR_FLOAT32", [2])
    weights = model.add_operand("TENSOR_FLOAT32", [2])
    model.runtime.set_operand_value_from_memory(weights.index, memory, 0, 8)
    model.outputs(model.mul(x, weights))
    model.finish()
    data = pickle.dumps(model)
    file.write_bytes(bytes(8))
    assert pickle.loads(data).compile(device).run([1, 1]).tolist() == [1, 2]


def counting() -> Model:
    with Model() as model:
        total = model.input("TENSOR_FLOAT32", [1])
        x = model.input("TENSOR_FLOAT32", [1])
        sum = model.add(total, x)
        model.outputs(sum, model.relu(sum))
        model.carry(total, sum, [5])
    return model


def test_states_begin_anew(device: str) -> None:
    compilation = counting().compile(device)
    assert compilation.run([1]).tolist() == [6]
    arrived = pickle.loads(pickle.dumps(compilation))
    assert arrived.run([2]).tolist() == [7]
    assert pickle.loads(pickle.dumps(counting())).carried[0].initial.tolist() == [5]


def test_a_compilation_is_compiled_again(device: str) -> None:
    compilation = Compilation(network(), device, preference="LOW_POWER", priority="HIGH")
    arrived = pickle.loads(pickle.dumps(compilation))
    assert arrived.device == compilation.device
    values = np.ones((2, 30))
    np.testing.assert_array_equal(arrived.run(values), compilation.run(values))
    assert pickle.loads(pickle.dumps(Compilation(network()))).run(values).shape == (2, 40)


def test_it_comes_from_the_cache(tmp_path: Path) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2, 30])
        model.outputs(model.fully_connected(x, BIG, np.zeros(40, np.float32)))
    compilation = Compilation(model, "nnapi-cpu", cache=(tmp_path, b"t" * 32))
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    written = file.stat()
    arrived = pickle.loads(pickle.dumps(compilation))
    assert file.stat().st_mtime_ns == written.st_mtime_ns
    assert file.stat().st_ino == written.st_ino
    values = np.ones((2, 30))
    np.testing.assert_array_equal(arrived.run(values), compilation.run(values))


PROGRAM = """
import pickle, sys
import numpy as np
compilation = pickle.load(sys.stdin.buffer)
print(compilation.run(np.ones((1, 30), np.float32)).sum().item(), compilation.device.name)
"""


def test_another_process(device: str) -> None:
    compilation = network().compile(device)
    expected = compilation.run(np.ones((1, 30), np.float32)).sum().item()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps(compilation),
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    number, name = done.stdout.decode().split()
    assert (float(number), name) == (expected, device)


def test_copies(device: str) -> None:
    model = network()
    for other in (copy.deepcopy(model), copy.copy(model)):
        same(model, other)
    compilation = copy.deepcopy(model.compile(device))
    assert compilation.run(np.ones((1, 30))).shape == (1, 40)


def test_errors_keep_what_they_say() -> None:
    error = bad_data("scale is 0; it must be above 0", "operand-type.scale").at(
        Place("operation", 4, "ADD")
    )
    arrived = pickle.loads(pickle.dumps(error))
    assert isinstance(arrived, NnapiError)
    for what in ("code", "message", "rule", "places", "said"):
        assert getattr(arrived, what) == getattr(error, what)
    assert str(arrived) == str(error)
    assert arrived.as_dict() == error.as_dict()
    assert arrived.code is ResultCode.BAD_DATA
    assert copy.copy(error).rule == error.rule


def test_what_cannot_be_pickled() -> None:
    building = Model()
    with pytest.raises(NnapiError, match="BAD_STATE: the model is building"):
        pickle.dumps(building)
    compilation = network().compile()
    with pytest.raises(TypeError, match="an Execution cannot be pickled or copied; a Compilation"):
        pickle.dumps(Execution(compilation))
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE: the compilation is closed"):
        pickle.dumps(compilation)


def test_a_device_that_is_not_there() -> None:
    function, arguments = network().compile("nnapi-cpu").__reduce_ex__(4)
    arguments[-1]["devices"] = ["nnapi-gone"]
    with pytest.raises(NnapiError, match="there is no device 'nnapi-gone'"):
        function(*arguments)


def test_a_newer_version() -> None:
    function, (kind, state, carried) = network().__reduce_ex__(4)
    with pytest.raises(NnapiError, match="the model was pickled as version 99; this is version 1"):
        function(kind, {**state, "version": 99}, carried)


def _sum_in_child(compilation: Compilation) -> float:
    assert os.getpid()
    return float(compilation.run(np.ones((1, 30), np.float32)).sum())


def test_a_pool_of_processes() -> None:
    compilation = network().compile("nnapi-cpu")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_sum_in_child, [compilation]) == [_sum_in_child(compilation)]


EXTENSION = """
import pickle, sys
import numpy as np
from nnapi_shim import Model
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.model import Model as RuntimeModel

NAME = "com.example.painting"
if sys.argv[1] == "write":
    extension.prefixed("com.example.other", 1)  # the prefix is another one in the other process
    model = Model()
    item = model.runtime
    pixels = extension.prefixed(NAME, 7)
    a, b, mixed = (item.add_operand(pixels, [2], 1, 0.0, 0) for _ in range(3))
    share = item.add_operand(extension.prefixed(NAME, 8), None, 0, 0.0, 0)
    from nnapi_shim.address import address_of
    where, keep = address_of(bytes([51]))
    item.set_operand_value(share, where, 1)
    item.add_operation(extension.prefixed(NAME, 3), [a, b, share], [mixed])
    item.identify_inputs_and_outputs([a, b], [mixed])
    item.finish()
    pickle.dump(model, sys.stdout.buffer)
else:
    model = pickle.load(sys.stdin.buffer)
    (operation,) = model.operations
    print(hex(operation.type), operation.inputs[0].type.name, operation.inputs[2].dimensions)
    print(model.supported_operations("painter"))
"""


def test_types_of_extensions_go_by_name() -> None:
    settings = {**os.environ, "NNAPI_SHIM_DRIVERS": str(ROOT / "tests/abi/extension_driver")}

    def run(what: str, values: bytes, settings: dict[str, str]) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", EXTENSION, what]
        return subprocess.run(command, input=values, capture_output=True, cwd=ROOT, env=settings)

    written = run("write", b"", settings)
    assert written.returncode == 0, written.stderr.decode()
    read = run("read", written.stdout, settings)
    assert read.stdout.decode().splitlines() == [
        "0x10003 com.example.painting type 7 ()",
        "[True]",
    ], read.stderr.decode()
    without = run("read", written.stdout, {**os.environ})
    assert "type 7 of com.example.painting) is described by no device" in without.stderr.decode()
