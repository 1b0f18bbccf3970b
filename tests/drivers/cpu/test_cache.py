"""Prepared models in cache files: reused, distinguished, and rejected when damaged."""

import multiprocessing
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.cache import cache as cache_module
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program import library as library_module
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, OperandType, OperationType, Priority
from nnapi_shim.hal.types import CacheHandles
from tests.drivers.cpu.test_programs import Graph

T, O = OperandType, OperationType  # noqa: E741
TOKEN = bytes(32)


def network(seed=0, size=8, activation=1):
    """A convolution, an addition of a constant and a softmax."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    x = graph.input([1, size, size, 3])
    weights = graph.constant(rng.standard_normal((16, 3, 3, 3)).astype(np.float32))
    bias = graph.constant(rng.standard_normal(16).astype(np.float32))
    scalars = [graph.constant(np.int32(n), T.INT32) for n in (1, 1, 1, activation)]
    y = graph.operation(O.CONV_2D, [x, weights, bias, *scalars], [1, size, size, 16])
    more = graph.constant(rng.standard_normal(16).astype(np.float32))
    y = graph.operation(O.ADD, [y, more, scalars[0]], [1, size, size, 16])
    beta = graph.constant(np.float32(1), T.FLOAT32)
    graph.operation(O.SOFTMAX, [y, beta], [1, size, size, 16], output=True)
    return graph


def prepared(graph, folder, token=TOKEN):
    handles = CacheHandles(str(folder), token)
    return CpuDevice().prepareModel(
        graph.model(), ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, handles
    )


def result_of(graph, model):
    shape = graph.operands[graph.inputs[0]].dimensions
    values = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    result = np.zeros((*shape[:3], 16), np.float32)
    model.execute(graph.request([values], [result]), False, None, 10**9)
    return result


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_second_preparation_lowers_nothing(tmp_path, lowered):
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    lowered.clear()
    first = result_of(graph, prepared(graph, tmp_path))
    assert len(lowered) == 1
    assert len(files(tmp_path)) == 1
    second = result_of(graph, prepared(graph, tmp_path))
    assert len(lowered) == 1
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, expected)


def test_other_models_and_tokens_have_files_of_their_own(tmp_path):
    networks = [network(), network(seed=1), network(size=9), network(activation=0)]
    expected = [result_of(graph, graph.prepare(CpuDevice())) for graph in networks]
    for _ in range(2):
        for graph, goal in zip(networks, expected, strict=True):
            np.testing.assert_array_equal(result_of(graph, prepared(graph, tmp_path)), goal)
    assert len(files(tmp_path)) == 4
    prepared(networks[0], tmp_path, b"\1" * 32)
    assert len(files(tmp_path)) == 5


def test_one_changed_weight_is_another_model(tmp_path):
    graph = network()
    prepared(graph, tmp_path)
    for at in (0, 700, len(graph.constants) - 1):
        graph.constants[at] ^= 1
        prepared(graph, tmp_path)
        graph.constants[at] ^= 1
    assert len(files(tmp_path)) == 4


def test_an_other_tier_or_version_does_not_find_it(tmp_path, monkeypatch, lowered):
    graph = network()
    prepared(graph, tmp_path)
    monkeypatch.setattr(cache_module, "__version__", "0.0.0")
    prepared(graph, tmp_path)
    assert len(lowered) == 2
    assert len(files(tmp_path)) == 2


def test_machines_of_two_architectures_share_a_folder(tmp_path, monkeypatch, lowered):
    """Each has a file of its own, and finds it again after the other has used the folder."""
    graph = network()
    for machine in ("x86_64", "aarch64", "x86_64", "aarch64"):
        monkeypatch.setattr(library_module, "platform_machine", lambda name=machine: name)
        prepared(graph, tmp_path)
    assert len(lowered) == 2
    assert len(files(tmp_path)) == 2


def test_other_numbers_of_threads_have_files_of_their_own(tmp_path, monkeypatch, lowered):
    """Tiles were chosen for them: those of one thread are too few for sixteen."""
    graph = network()
    results = []
    for threads in ("1", "16", "1", "16"):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", threads)
        results.append(result_of(graph, prepared(graph, tmp_path)))
    assert len(lowered) == 2
    assert len(files(tmp_path)) == 2
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def damages(data):
    """Ways in which a file may be broken: name and contents."""
    yield "empty", b""
    for length in (1, 7, 40, len(data) // 2, len(data) - 1):
        yield f"cut to {length}", data[:length]
    yield "longer", data + b"\0"
    for at in range(0, len(data), max(1, len(data) // 97)):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        yield f"byte {at}", bytes(flipped)
    huge = bytearray(data)
    struct.pack_into("<3q", huge, 136, 1 << 62, 1 << 62, 1 << 62)
    yield "huge lengths", bytes(huge)


def test_what_is_damaged_is_compiled_again(tmp_path, lowered, capfd):
    graph = network()
    expected = result_of(graph, prepared(graph, tmp_path))
    (name,) = files(tmp_path)
    path = tmp_path / name
    data = path.read_bytes()
    lowered.clear()
    for count, (what, contents) in enumerate(damages(data), 1):
        path.write_bytes(contents)
        result = result_of(graph, prepared(graph, tmp_path))
        assert len(lowered) == count, f"{what}: was taken"
        np.testing.assert_array_equal(result, expected, what)
        np.testing.assert_array_equal(result_of(graph, prepared(graph, tmp_path)), expected)
        assert len(lowered) == count, f"{what}: was not replaced"


def test_what_killed_writers_left_is_removed(tmp_path):
    graph = network()
    prepared(graph, tmp_path)
    (path,) = tmp_path.iterdir()
    old, new = (path.with_name(f"{path.name}.{number}.1") for number in (1, 2))
    for other in (old, new):
        other.write_bytes(b"half")
    os.utime(old, (1, 1))
    path.unlink()
    prepared(graph, tmp_path)
    assert set(tmp_path.iterdir()) == {path, new}


def test_a_limit_on_the_size_of_files_is_no_error(tmp_path):
    code = """if True:
        import resource, sys
        from pathlib import Path
        from tests.drivers.cpu.test_cache import network, prepared, result_of
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        graph = network()
        print(result_of(graph, prepared(graph, Path(sys.argv[1]))).sum())
    """
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 0
    assert files(tmp_path) == []


def test_the_file_of_another_model_under_this_name(tmp_path, lowered):
    one, other = network(), network(seed=1)
    expected = result_of(other, prepared(other, tmp_path))
    (name,) = files(tmp_path)
    prepared(one, tmp_path)
    (own,) = set(files(tmp_path)) - {name}
    (tmp_path / name).write_bytes((tmp_path / own).read_bytes())
    np.testing.assert_array_equal(result_of(other, prepared(other, tmp_path)), expected)
    assert len(lowered) == 3


@pytest.mark.parametrize("folder", ["missing", "missing/deeper", "file", "\0"])
def test_a_folder_that_is_not_there(tmp_path, folder, capfd):
    """No cache, as in the reference; a folder that was probably forgotten is reported, once."""
    (tmp_path / "file").write_bytes(b"")
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    np.testing.assert_array_equal(result_of(graph, prepared(graph, tmp_path / folder)), expected)
    prepared(graph, tmp_path / folder)
    assert files(tmp_path) == ["file"]
    text = f"compiled models are not kept: there is no folder {tmp_path / folder}"
    assert capfd.readouterr().err.count(text) == ("missing" in folder)


def test_nothing_is_written_after_the_preparation(tmp_path):
    graph = network()
    model = prepared(graph, tmp_path)
    for name in files(tmp_path):
        (tmp_path / name).unlink()
    tmp_path.rmdir()
    result_of(graph, model)
    assert not tmp_path.exists()


def test_a_model_whose_shapes_the_run_decides_is_not_kept(tmp_path):
    graph = Graph()
    x = graph.input([0, 2])
    graph.operation(O.RELU, [x], [0, 2], output=True)
    prepared(graph, tmp_path)
    assert files(tmp_path) == []


def test_messages_of_a_stored_program_name_the_operation(tmp_path):
    graph = Graph()
    x = graph.input([4, 2])
    indexes = graph.input([3], T.TENSOR_INT32)
    axis = graph.constant(np.int32(0), T.INT32)
    graph.operation(O.GATHER, [x, axis, indexes], [3, 2], output=True)
    values = [np.ones((4, 2), np.float32), np.array([0, 9, 1], np.int32)]
    messages = []
    for _ in range(2):
        model = prepared(graph, tmp_path)
        with pytest.raises(NnapiError) as caught:
            model.execute(graph.request(values, [np.zeros((3, 2), np.float32)]), False, None, 10**9)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "GATHER (operation 0): number 1 of indices is 9; allowed are 0 to 3" in messages[0]


def _prepare_often(folder):
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    for turn in range(20):
        result = result_of(graph, prepared(graph, folder))
        np.testing.assert_array_equal(result, expected)
        if turn % 5 == 4:
            for path in folder.iterdir():
                path.unlink(missing_ok=True)


def test_processes_that_share_a_folder(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_prepare_often, args=(tmp_path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(files(tmp_path)) <= 1


def test_large_weights_that_differ(tmp_path, lowered):
    """They share the file's name, and are distinguished nevertheless."""
    graph = Graph()
    x = graph.input([1, 64])
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    weights = graph.constant(w)
    bias, none = graph.constant(np.zeros(64, np.float32)), graph.none()
    graph.operation(O.FULLY_CONNECTED, [x, weights, bias, none], [1, 64], output=True)
    values, result = np.ones((1, 64), np.float32), np.zeros((1, 64), np.float32)
    for change in (0, 1, 1, 0):
        graph.constants[2] = w.tobytes()[2] ^ (change << 6)
        changed = np.frombuffer(bytes(graph.constants[: w.nbytes]), np.float32).reshape(w.shape)
        model = prepared(graph, tmp_path)
        model.execute(graph.request([values], [result]), False, None, 0)
        np.testing.assert_allclose(
            result[0], changed.sum(1, dtype=np.float64), rtol=1e-4, atol=1e-4
        )
    assert len(lowered) == 3
    assert len(files(tmp_path)) == 1
