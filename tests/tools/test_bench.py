"""bench: what is measured, not how fast it is."""

import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.tools.bench import _in_turns, bench
from nnapi_shim.tools.latency import calls_within, latency
from nnapi_shim.tools.runtimes import RUNTIMES
from tests.tools.models import conv_log_softmax, of_unknown_size, quantized


def test_percentiles() -> None:
    found = latency([0.04, 0.01, 0.03, 0.02, 0.05])
    assert (found.runs, found.minimum, found.p50, found.maximum) == (5, 0.01, 0.03, 0.05)
    assert found.mean == pytest.approx(0.03)
    assert found.p90 == pytest.approx(0.046)
    assert found.samples[0] == 0.04
    one = latency([2.0])
    assert (one.p50, one.p99, one.deviation) == (2.0, 2.0, 0.0)


@pytest.mark.parametrize("make", [conv_log_softmax, quantized, of_unknown_size])
def test_counts(make) -> None:
    found = bench(make(), "nnapi-cpu", runs=4, threads=(1, 2))
    assert found.devices == ("nnapi-cpu",)
    assert found.latency.runs == 4
    assert [(item.threads, item.latency.runs) for item in found.throughput] == [(1, 4), (2, 8)]
    assert found.memory.before <= found.memory.peak
    assert found.made_up


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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", RUNTIMES)
def test_peers(name, threads) -> None:
    """The same model, in turns, with the same results."""
    pytest.importorskip(RUNTIMES[name].module)
    found = bench(conv_log_softmax(), "nnapi-cpu", runs=6, peers=(name,), peer_threads=threads)
    (peer,) = found.peers
    assert peer.name == name
    assert peer.version
    assert len(peer.ratios) == 6
    assert peer.low <= peer.ratio <= peer.high
    assert peer.largest_difference < 1e-5


def test_bad_requests() -> None:
    with pytest.raises(NnapiError, match="no peer 'tvm'"):
        bench(quantized(), peers=("tvm",), runs=1)
    with pytest.raises(NnapiError, match="at least 1"):
        bench(quantized(), threads=(0,), runs=1)


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
    (peer,) = bench(model, "nnapi-cpu", runs=2, peers=("onnxruntime",)).peers
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
    own, theirs = _in_turns(slower, [], 1 << 17, 0.1, 0, 0)
    assert 1 <= len(own[0]) <= 4
    assert not theirs
    assert time.perf_counter() - began < 60  # 4 runs, not 131072


def test_rounds_are_cut() -> None:
    """Rounds with a peer, too; one is made in any case."""
    peer: Any = SimpleNamespace(run=lambda: time.sleep(0.001))

    def slow() -> None:
        time.sleep(0.03)

    own, (theirs,) = _in_turns(slow, [peer], 1000, 0.01, 0, 0)
    assert len(own) == len(theirs) == 1
    assert len(own[0]) == 1
    assert len(theirs[0]) == 1
