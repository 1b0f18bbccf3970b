"""bench: what is measured, not how fast it is."""

import json
import os
import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.tools.bench import bench
from nnapi_shim.tools.bench_against import against, saved
from nnapi_shim.tools.bench_report import Bench, verdict
from nnapi_shim.tools.bench_rounds import in_turns
from nnapi_shim.tools.latency import calls_within, latency
from nnapi_shim.tools.peers import Peer
from nnapi_shim.tools.runtimes import RUNTIMES, _without_information
from nnapi_shim.version import __version__
from tests.tools.models import conv_log_softmax, of_unknown_size, quantized


def test_percentiles() -> None:
    actual = latency([0.04, 0.01, 0.03, 0.02, 0.05])
    assert (actual.runs, actual.minimum, actual.p50, actual.maximum) == (5, 0.01, 0.03, 0.05)
    assert actual.mean == pytest.approx(0.03)
    assert actual.p90 == pytest.approx(0.046)
    assert actual.samples[0] == 0.04
    one = latency([2.0])
    assert (one.p50, one.p99, one.deviation) == (2.0, 2.0, 0.0)


@pytest.mark.parametrize("make", [conv_log_softmax, quantized, of_unknown_size])
def test_counts(make) -> None:
    actual = bench(make(), "nnapi-cpu", runs=4, threads=(1, 2))
    assert actual.devices == ("nnapi-cpu",)
    (measured,) = actual.results
    assert measured.latency.runs == 4
    assert [(item.threads, item.latency.runs) for item in measured.throughput] == [(1, 4), (2, 8)]
    assert actual.memory.before <= actual.memory.peak
    assert actual.made_up


def test_all_runtimes_get_the_same_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the number of the setting; the variable is the same afterwards."""
    arguments = []

    def peer(name, source, model, inputs, threads):
        arguments.append((int(os.environ["NNAPI_SHIM_THREADS"]), threads))
        return Peer(name, "1", lambda: None, list)

    monkeypatch.setattr("nnapi_shim.tools.bench.peer", peer)
    monkeypatch.setattr("nnapi_shim.tools.bench.import_of", lambda name: None)
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "3")
    actual = bench(quantized(), "nnapi-cpu", runs=2, peers=("a",), kernel_threads=(1, 2))
    assert arguments == [(1, 1), (2, 2)]
    assert [measured.kernel_threads for measured in actual.results] == [1, 2]
    assert os.environ["NNAPI_SHIM_THREADS"] == "3"
    assert bench(quantized(), "nnapi-cpu", runs=2, peers=("a",)).results[0].kernel_threads == 3
    assert arguments[-1] == (3, 3)


def test_conditions() -> None:
    actual = bench(quantized(), "nnapi-cpu", runs=2)
    conditions = actual.to_json()["conditions"]
    assert conditions["affinity"] == sorted(os.sched_getaffinity(0))
    assert conditions["tier"]
    assert conditions["version"]
    assert conditions["load_before"] >= 0
    assert actual.arithmetic.floating == 0
    assert actual.arithmetic.integer > 0
    assert bench(conv_log_softmax(), "nnapi-cpu", runs=1).arithmetic.integer == 0
    assert bench(of_unknown_size(), "nnapi-cpu", runs=1).arithmetic is None


def test_samples_only_when_asked_for() -> None:
    actual = bench(quantized(), "nnapi-cpu", runs=3)
    entry = actual.to_json()["results"][0]
    assert "samples" not in entry["latency"]
    assert "samples" not in entry["throughput"][0]["latency"]
    entry = actual.to_json(samples=True)["results"][0]
    assert len(entry["latency"]["samples"]) == 3
    assert len(entry["throughput"][0]["latency"]["samples"]) == 3


def test_verdicts() -> None:
    assert verdict(1.1, 1.3, 20) == "faster"
    assert verdict(0.7, 0.9, 20) == "slower"
    assert verdict(0.98, 1.05, 20) == "not shown"
    assert verdict(1.0, 1.05, 20) == "not shown"
    assert verdict(1.1, 1.3, 3) == "not shown"


def _with_times(actual: Bench, factor: float) -> dict[str, Any]:
    data = actual.to_json()
    for entry in data["results"]:
        entry["rounds"] = [factor * time for time in (1.0, 1.01, 1.02, 1.03)]
    return data


def test_against_an_earlier_run(tmp_path) -> None:
    actual = bench(quantized(), "nnapi-cpu", runs=8, kernel_threads=(1,))
    path = tmp_path / "before.json"
    path.write_text(json.dumps(_with_times(actual, 2.0)))
    earlier = saved(path)
    (change,) = against(earlier, _with_times(actual, 1.0)).changes
    assert (change.kernel_threads, change.verdict) == (1, "faster")
    assert change.low < 2 < change.high
    assert against(_with_times(actual, 1.0), earlier).changes[0].verdict == "slower"
    assert against(earlier, _with_times(actual, 2.01)).changes[0].verdict == "not shown"
    other = _with_times(actual, 1.0)
    other["conditions"]["tier"] = "v9"
    assert list(against(earlier, other).differing) == ["tier"]
    other["results"][0]["kernel_threads"] = 2
    with pytest.raises(NnapiError, match="common number"):
        against(earlier, other)
    for text in ("{}", "[1]", "no JSON", '{"results": [{"rounds": []}]}'):
        path.write_text(text)
        with pytest.raises(NnapiError, match="no result of a benchmark"):
            saved(path)


def test_threads_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were made do not wait for the others."""
    start, made = Thread.start, []

    def start_two(self: Thread) -> None:
        if len(made) == 2:
            raise RuntimeError("can't start new thread")
        start(self)
        made.append(self)

    monkeypatch.setattr(Thread, "start", start_two)
    with pytest.raises(NnapiError, match="5 threads cannot be made"):
        bench(conv_log_softmax(), "nnapi-cpu", runs=4, threads=(5,))
    for thread in made:
        thread.join()


def test_a_device_as_a_peer() -> None:
    """It runs the whole model, and is measured as a runtime is."""
    actual = bench(conv_log_softmax(), "nnapi-cpu", runs=6, peers=("nnapi-reference",))
    assert actual.devices == ("nnapi-cpu",)
    (peer,) = actual.results[0].peers
    assert (peer.name, peer.version) == ("nnapi-reference", __version__)
    assert len(peer.ratios) == 6 and peer.ratio > 1
    assert peer.largest_difference < 1e-5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", RUNTIMES)
def test_peers(name, threads) -> None:
    """The same model, in turns, with the same results."""
    pytest.importorskip(RUNTIMES[name].module)
    actual = bench(
        conv_log_softmax(), "nnapi-cpu", runs=6, peers=(name,), kernel_threads=(threads,)
    )
    (measured,) = actual.results
    assert measured.kernel_threads == threads
    (peer,) = measured.peers
    assert peer.name == name
    assert peer.version
    assert len(peer.ratios) == 6
    assert peer.low <= peer.ratio <= peer.high
    assert peer.largest_difference < 1e-5


def test_information_of_litert_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    """Its other lines are not, and they come also after an exception."""
    with pytest.raises(ValueError, match="no model"), _without_information():
        os.write(2, b"INFO: Created a delegate.\nERROR: no model\n")
        raise ValueError("no model")
    os.write(2, b"INFO: later\n")
    assert capfd.readouterr().err == "ERROR: no model\nINFO: later\n"


def test_bad_requests() -> None:
    with pytest.raises(
        NnapiError, match=r"no peer 'tvm'; there are litert, .*, nnapi-cpu, nnapi-ref"
    ):
        bench(quantized(), peers=("tvm",), runs=1)
    with pytest.raises(NnapiError, match="at least 1"):
        bench(quantized(), threads=(0,), runs=1)
    with pytest.raises(NnapiError, match="1 to 64"):
        bench(quantized(), kernel_threads=(1, 65), runs=1)


def test_a_peer_that_does_not_run_the_model(tmp_path) -> None:
    pytest.importorskip("ai_edge_litert")
    from nnapi_shim.tools.peers import peer

    path = tmp_path / "model.tflite"
    path.write_bytes(b"0000TFL3" + bytes(100))
    with pytest.raises(NnapiError, match="litert does not run this model"):
        peer("litert", str(path), quantized(), ([], []))


def test_peers_of_a_model_with_states() -> None:
    """The exported model has them as inputs and outputs."""
    pytest.importorskip("onnxruntime")
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        state = model.input("TENSOR_FLOAT32", [2])
        total = model.operation("ADD", [x, state, 0])
        model.outputs(total, model.operation("RELU", [total]))
        model.carry(state, total)
    (peer,) = bench(model, "nnapi-cpu", runs=2, peers=("onnxruntime",)).results[0].peers
    assert peer.latency.runs == 2
    assert peer.largest_difference is None


def test_the_time_is_over() -> None:
    """What becomes slower after the first runs ends by the clock, with at least one run."""
    calls: list[None] = []

    def slower() -> None:
        calls.append(None)
        if len(calls) > 3:
            time.sleep(0.03)

    assert calls_within(slower, 0.1) > 1000
    began = time.perf_counter()
    own, theirs = in_turns(slower, [], 1 << 17, 0.1, 0, 0)
    assert 1 <= len(own[0]) <= 4
    assert not theirs
    assert time.perf_counter() - began < 60  # 4 runs, not 131072


def test_rounds_are_cut() -> None:
    """Rounds with a peer, too; one is made in any case."""
    peer: Any = SimpleNamespace(run=lambda: time.sleep(0.001))

    def slow() -> None:
        time.sleep(0.03)

    own, (theirs,) = in_turns(slow, [peer], 1000, 0.01, 0, 0)
    assert len(own) == len(theirs) == 1
    assert len(own[0]) == 1
    assert len(theirs[0]) == 1
