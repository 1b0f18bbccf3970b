"""How many threads runs take, and that results do not depend on it."""

import os
import time
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import settings
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.threads import MAX_THREADS, available, count, crew, settled
from nnapi_shim.drivers.cpu.run.tile_timing import timed_regions
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.tools.inputs import made_up

MODELS = Path(__file__).resolve().parents[4] / "shared" / "models"
NAMES = (
    "mobilenet_v1_025_224_quant",
    "mobilenet_v1_025_224_float",
    "resnet8_cifar_int8",
    "vww96_float",
    "kws_dscnn_int8",
    "movenet_lightning_ptq",
    "mnist_lstm_float",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("64", MAX_THREADS), ("65", MAX_THREADS), ("9" * 30, MAX_THREADS)],
)
def test_the_setting(monkeypatch, capfd, text, expected):
    """More than the most is reported, once."""
    monkeypatch.setattr(settings, "_refused", {})
    monkeypatch.setenv("NNAPI_SHIM_THREADS", text)
    assert [count(), count()] == [expected] * 2
    lines = capfd.readouterr().err.splitlines()
    if int(text) <= MAX_THREADS:
        assert lines == []
    else:
        (line,) = lines
        assert line.endswith(f"{text!r}, which is not used; 64 threads, the most, are used")


def test_a_block_reads_the_setting_once_on_its_thread(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "5")
    elsewhere = []
    with pytest.raises(ZeroDivisionError), settled():
        monkeypatch.setenv("NNAPI_SHIM_THREADS", "7")
        other = Thread(target=lambda: elsewhere.append(count()))
        other.start()
        other.join()
        with settled():
            assert count() == 5
        assert count() == 5
        raise ZeroDivisionError
    assert (elsewhere, count()) == ([7], 7)


def test_a_compilation_reads_it_a_few_times(monkeypatch):
    """Not for each of 31 operations."""
    model = nnapi_shim.load(MODELS / "mobilenet_v1_025_224_quant.tflite")
    reads = []

    class Setting:
        def get(self):
            reads.append(None)
            return "2"

    monkeypatch.setattr(threads, "THREADS", Setting())
    model.compile("nnapi-cpu")
    assert 0 < len(reads) < 5


@pytest.mark.parametrize("text", ["", "0", "all", "-1", "2.5", "²"])
def test_all_that_there_are(monkeypatch, capfd, text):
    monkeypatch.setattr(threads, "_available", [])
    monkeypatch.setattr(threads, "available", lambda: 7)
    monkeypatch.setenv("NNAPI_SHIM_THREADS", text)
    assert count() == 7
    assert ("NNAPI_SHIM_THREADS" in capfd.readouterr().err) == (text not in ("", "0"))


def group(folder, line, mount, **files):
    """A folder like /proc/self of a process in a control group, whose files lie beside it."""
    (folder / "proc").mkdir()
    (folder / "proc" / "cgroup").write_text(f"1:name=systemd:/\n{line}\n")
    (folder / "proc" / "mountinfo").write_text(
        f"30 20 0:25 / {folder}/mounted rw - {mount}\n31 20 0:26 / /sys rw - sysfs sysfs rw\n"
    )
    for name, text in files.items():
        path = folder / "mounted" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "proc")


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("max 100000", "max 100000", 8),
        ("50000 100000", "max 100000", 1),
        ("250000 100000", "max 100000", 3),
        ("max 100000", "110000 100000", 2),
        ("nonsense", "", 8),
    ],
)
def test_a_quota_of_the_second_version(monkeypatch, tmp_path, inner, outer, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    files = {"a__b__cpu_dot_max": inner, "a__cpu_dot_max": outer}
    assert available(group(tmp_path, "0::/a/b", "cgroup2 cgroup2 rw", **files)) == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1", 8), ("50000", 1), ("300001", 4)])
def test_a_quota_of_the_first_version(monkeypatch, tmp_path, quota, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    files = {"a__cpu_dot_cfs_quota_us": quota, "a__cpu_dot_cfs_period_us": "100000"}
    where = group(tmp_path, "4:cpu,cpuacct:/a", "cgroup cgroup rw,cpu,cpuacct", **files)
    assert available(where) == expected


def test_an_affinity_mask_and_no_files(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert available(str(tmp_path)) == 1


def test_preference_and_priority(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "4")
    assert crew(ExecutionPreference.LOW_POWER, Priority.HIGH).threads == 1
    ranks = [
        crew(ExecutionPreference.FAST_SINGLE_ANSWER, priority)
        for priority in (Priority.HIGH, Priority.MEDIUM, Priority.LOW)
    ]
    assert [tuple(rank) for rank in ranks] == [(4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_same_bits(monkeypatch, name):
    actual = []
    for number in (1, 2, 5):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
        compilation = nnapi_shim.load(MODELS / f"{name}.tflite").compile()
        inputs = made_up(compilation.inputs, 3)
        runs = []
        for _ in range(3):  # each from the states that the one before it left
            results = compilation.run(*inputs)
            results = results if isinstance(results, tuple) else (results,)
            runs.append([np.asarray(result).tobytes() for result in results])
        actual.append(runs)
    assert all(runs == actual[0] for runs in actual)


SHAPES = {
    "conv_2d": [(1, 28, 28, 128), (128, 3, 3, 128), 128, {"padding": "SAME"}],
    "depthwise_conv_2d": [
        (1, 14, 14, 512),
        (1, 3, 3, 512),
        512,
        {"padding": "SAME", "depth_multiplier": 1},
    ],
    "fully_connected": [(1, 2048), (1024, 2048), 1024, {}],
}
"""Operation that takes long -> dimensions of its input and filter, number of columns, more."""


@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_long_operations_have_tiles_for_many_threads(monkeypatch, name, is_quantized):
    random = np.random.default_rng(5)
    *sizes, columns, more = SHAPES[name]
    model = nnapi_shim.Model()
    if is_quantized:
        x, weights = (random.integers(0, 256, size, np.uint8) for size in sizes)
        bias = np.zeros(columns, np.int32)
        input = model.input("TENSOR_QUANT8_ASYMM", x.shape, 0.02, 128)
        filter = model.constant(weights, "TENSOR_QUANT8_ASYMM", 0.01, 127)
    else:
        x, weights = (random.uniform(-1, 1, size).astype(np.float32) for size in sizes)
        bias = np.zeros(columns, np.float32)
        input, filter = model.input("float32", x.shape), model.constant(weights)
    if is_quantized:
        more = {**more, "scale": 0.5, "zero_point": 120}
    model.outputs(getattr(model, name)(input, filter, bias, **more))
    model.finish()
    results, tiles = [], []
    for number in ("1", "16"):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", number)
        results.append(model.compile(devices=["nnapi-cpu"]).run(x).tobytes())
        regions = []
        with timed_regions(regions.append, by_tile=True):
            results.append(model.compile(devices=["nnapi-cpu"]).run(x).tobytes())
        tiles.append([region.tiles for region in regions])
    assert len({*results}) == 1
    few, many = tiles
    assert len(few) == len(many)
    assert max(few) < 14 <= max(many)


@pytest.mark.own_process
def test_workers_have_names_and_leave_signals_alone(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "3")
    path = MODELS / "mobilenet_v1_025_224_float.tflite"
    compilation = nnapi_shim.load(path).compile()
    blocked = {}
    deadline = time.monotonic() + 20  # a worker names itself once the system lets it run
    while not {"nnapi-0", "nnapi-1"} <= blocked.keys() and time.monotonic() < deadline:
        compilation.run(*made_up(compilation.inputs, 3))
        for task in Path("/proc/self/task").iterdir():
            status = dict(
                line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
            )
            blocked[status["Name"]] = int(status["SigBlk"], 16)
    for worker in ("nnapi-0", "nnapi-1"):
        assert blocked[worker] & 1 << 1 and blocked[worker] & 1 << 14  # SIGINT, SIGTERM
        assert not blocked[worker] & 1 << 6  # SIGBUS is raised by what the thread does
