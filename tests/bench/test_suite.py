"""The benchmark of whole models: what it runs, compares, writes. Not how fast anything is."""

import os
import subprocess
import sys

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.bench.suite import c_program, page, picture, tier
from tests.bench.suite.contestants import Contestant
from tests.bench.suite.figures import figures, geometric_mean, plain, read
from tests.bench.suite.race import Entrant, Race, Start, race


@pytest.fixture
def contestant(tmp_path) -> Contestant:
    """A sum that goes on from run to run."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 6], name="x")
        state = model.input("TENSOR_FLOAT32", [1, 6], name="state")
        total = model.add(x, state)
        model.outputs(model.softmax(x), total)
        model.carry(state, total)
    path = tmp_path / "model.tflite"
    model.save(path)
    x = np.linspace(0, 1, 6, dtype=np.float32).reshape(1, 6)
    files = {".tflite": path, ".onnx": "there is none"}
    return Contestant("sum", "float32", False, files, [x], [x, np.zeros_like(x)])


def test_a_race(contestant) -> None:
    """Two entrants that run, one without a file, one that is no runtime."""
    result = race(contestant, [1], 2, ["nnapi_shim", "onnxruntime", "abacus"], "", lambda _: None)
    ours = Entrant("nnapi_shim", 1)
    assert list(result.samples) == [ours]
    assert len(result.samples[ours]) == 2
    assert result.starts[ours].peak > 1e6
    np.testing.assert_allclose(result.outputs[ours][0].sum(), 1, rtol=1e-6)
    assert "there is none" in result.failed[Entrant("onnxruntime", 1)]
    assert "abacus" in result.failed[Entrant("abacus", 1)]


def test_figures(contestant) -> None:
    """Ratios are to whoever is the fastest in a round; outputs may stand in another order."""
    ours, slow, fast = Entrant("nnapi_shim", 1), Entrant("litert", 1), Entrant("openvino", 1)
    samples = {ours: [[2.0], [2.0], [3.0]], slow: [[8.0]] * 3, fast: [[4.0], [4.0], [3.0]]}
    vector, box = np.eye(6, dtype=np.float32)[:2], np.ones((1, 4), np.float32)
    outputs = {ours: [vector, box], slow: [box + 0.5, vector[::-1]], fast: [vector]}
    starts = dict.fromkeys(samples, Start(1.0, 0.5, 10**7))
    result = figures(contestant, Race(starts, samples, {}, outputs))
    (ratio,) = result.ratios
    assert (ratio.peer, ratio.median, ratio.of_minima) == ("openvino", 0.5, 2 / 3)
    assert ratio.low <= 0.5 <= ratio.high
    near = {item.runtime: (item.largest, item.classes) for item in result.nearness}
    assert near == {"litert": (1.0, "0/2"), "openvino": (None, "")}
    assert read(plain(result)) == result


def test_the_page(contestant, tmp_path) -> None:
    """What stands around the markers stays; the picture is written."""
    pytest.importorskip("matplotlib")
    ours, peer = Entrant("nnapi_shim", 1), Entrant("litert", 1)
    samples = {ours: [[2e-3]], peer: [[4e-3]]}
    starts = dict.fromkeys(samples, Start(1.0, 0.5, 10**7))
    result = figures(contestant, Race(starts, samples, {Entrant("openvino", 1): "no"}, {}))
    path = tmp_path / "page.md"
    path.write_text(f"above\n{page.BEGIN}old\n{page.END}below\n")
    about = {"date": "today", "tier": "v4", "processor": "one", "litert": "1.0"}
    started = {"cpu": 0.1, "peak": 30e6, "allowed": 22e6}
    for _ in range(2):
        page.write(path, about, 1, [result], "picture.svg", started)
    text = path.read_text()
    assert text.startswith("above\n") and text.endswith("below\n") and "old" not in text
    assert "| sum | 2 (2) | 4 (4) | \u2013 | \u2013 | **0.50** | 0.50 to 0.50 |" in text
    assert "ms of processors | at most 120.00 | 100.00 | yes |" in text
    assert "MB in memory at most | at most 22.00 | 30.00 | no |" in text
    assert "OpenVINO does not run sum: no" in text
    picture.picture([result], [1], tmp_path / "picture.svg")
    assert "sum" in (tmp_path / "picture.svg").read_text()


def test_what_a_program_needs() -> None:
    """Constants, and what is alive at once: here input and output of the second operation."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [8])
        y = model.tanh(model.tanh(model.add(x, np.ones(8, np.float32))))
        model.outputs(model.tanh(y))
    fused = 4  # the activation that ADD has as an operand
    assert c_program._needed(model.graph) in (3 * 32, 3 * 32 + fused)


def test_means() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_a_process_held_to_a_tier() -> None:
    """The C library detects the tier by CPUID, as the peers do."""
    tiers = processor_tiers()
    if "v3" not in tiers[1:]:
        pytest.skip("this processor has nothing above the tier v3")
    variables = tier.environment("v3")
    if "LD_PRELOAD" not in variables:
        pytest.skip("this processor cannot report fewer instruction sets than it has")
    program = "from nnapi_shim.drivers.cpu.program import library; print(library.processor_tiers())"
    environment = {key: variables[key] for key in ("LD_PRELOAD", "CPUID_TIER")}
    held = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert held.stdout.split() == str(tiers[tiers.index("v3") :]).split()
    assert tier.held_runtimes(["nnapi_shim", "litert"], variables) == ["nnapi_shim", "litert"]


def test_peers_that_cannot_be_held_are_left_out(capsys) -> None:
    variables = {"NNAPI_SHIM_TIER": "v3", "ONEDNN_MAX_CPU_ISA": "AVX2"}
    runtimes = tier.held_runtimes(["nnapi_shim", "litert", "openvino"], variables)
    assert runtimes == ["nnapi_shim", "openvino"]
    assert "litert cannot be held to the tier" in capsys.readouterr().out
