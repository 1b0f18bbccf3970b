"""What commands print, and what they refuse."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.command import Command

CONV = "tests.tools.models:conv_log_softmax"
QUANTIZED = "tests.tools.models:quantized"
NO_TIME = ("--runs", 2, "--warm-up", 0)

PLAIN = [
    ("run", CONV),
    ("bench", CONV, *NO_TIME),
    ("profile", CONV, *NO_TIME, "--no-peaks"),
    ("explain", CONV),
    ("diff", QUANTIZED),
    ("lint", CONV),
]


@pytest.mark.parametrize("words", PLAIN, ids=lambda words: words[0])
def test_json_and_text(command: Command, words: tuple[object, ...]) -> None:
    assert isinstance(command.succeeds(*words, "--json").json, dict)
    text = command.succeeds(*words).out
    assert text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("words", PLAIN, ids=lambda words: words[0])
def test_models_that_are_none(command: Command, tmp_path: Path, words: tuple[object, ...]) -> None:
    name, _, *rest = words
    damaged = tmp_path / "model.tflite"
    damaged.write_bytes(b"TFL3 nonsense")
    assert str(damaged) in command.refuses(name, damaged, *rest)
    missing = tmp_path / "missing.tflite"
    assert f"{missing}: No such file" in command.refuses(name, missing, *rest)
    assert "is no regular file" in command.refuses(name, tmp_path, *rest)
    assert "MODEL" in command.refuses(name)


def test_run(command: Command, tmp_path: Path) -> None:
    first, second = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(first, np.full((2, 3), 130, np.uint8))
    np.save(second, np.full((2, 3), 124, np.uint8))
    words = ("run", QUANTIZED, "-i", first, "-i", second)
    text = command.succeeds(*words).out
    assert "input  input_0: TENSOR_QUANT8_ASYMM[2, 3], scale 0.5, zero point 128" in text
    (output,) = command.succeeds(*words, "--json").json["outputs"]
    assert output["values"] == [[225] * 3] * 2  # 1 + 1 is 2, of which LOGISTIC is 0.8808
    assert output["maximum"] == 225 / 256


def test_run_makes_inputs_up(command: Command) -> None:
    first = command.succeeds("run", QUANTIZED, "--json").json
    second = command.succeeds("run", QUANTIZED, "--json").json
    other = command.succeeds("run", QUANTIZED, "--json", "--seed", 1).json
    assert first["made_up"]
    assert first["outputs"] == second["outputs"] != other["outputs"]
    assert "(made up)" in command.succeeds("run", QUANTIZED).out


def test_run_writes_outputs(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    command.succeeds("run", CONV, "-o", path)
    with np.load(path) as arrays:
        assert arrays["output_0"].shape == (1, 8, 8, 4)
    assert "there already" in command.refuses("run", CONV, "-o", path)
    command.succeeds("run", CONV, "-o", path, "--force")
    assert "no folder" in command.refuses("run", CONV, "-o", tmp_path / "none" / "out.npz")
    assert list(tmp_path.iterdir()) == [path]


def test_run_with_a_picture(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    Image.fromarray(np.full((9, 8, 3), 100, np.uint8)).save(path)
    line = command.refuses("run", CONV, "-i", path)
    assert "is 8 x 9; the input is 8 x 8 (width x height), and --resize scales pictures" in line
    command.succeeds("run", CONV, "-i", path, "--resize")


def test_labels(command: Command, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(
        "import nnapi_shim\n"
        "with nnapi_shim.Model() as model:\n"
        "    x = model.input('TENSOR_FLOAT32', [1, 3])\n"
        "    model.outputs(model.operation('SOFTMAX', [x, 1.0]))\n"
    )
    np.save(tmp_path / "x.npy", np.array([[1, 3, 2]], np.float32))
    labels = tmp_path / "labels.txt"
    labels.write_text("0 ant\n1 bee\n2 cat\n")
    words = ("run", model, "-i", tmp_path / "x.npy", "--labels", labels)
    top = command.succeeds(*words, "--json").json["outputs"][0]["top"]
    assert [item["label"] for item in top] == ["bee", "cat", "ant"]
    assert "bee" in command.succeeds(*words, "--top", 1).out
    labels.write_text("one\ntwo\n")
    assert "2 labels given; the model has 3 classes" in command.refuses(*words)
    labels.write_bytes(b"\xff\xfe")
    assert "no text" in command.refuses(*words)


def test_diff_tells_by_its_exit_code(command: Command) -> None:
    words = ("diff", CONV, "--devices", "nnapi-cpu,nnapi-reference")
    assert "within the tolerance" in command.succeeds(*words).out
    outcome = command(*words, "--atol", 0, "--rtol", 0)
    assert outcome.code == 1
    assert "the first that differs: CONV_2D (operation 0), output; most at [0, " in outcome.out
    assert "there must be two" in command.refuses("diff", CONV, "--devices", "nnapi-cpu")
    assert "no device 'npu'" in command.refuses("diff", CONV, "--devices", "npu,nnapi-cpu")


def test_lint_tells_by_its_exit_code(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import nnapi_shim\nmodel = nnapi_shim.Model()\nmodel.add_operand('INT32')\n")
    outcome = command("lint", path)
    assert outcome.code == 1
    assert outcome.out.startswith("error: BAD_DATA: ")
    assert outcome.out.endswith("1 error, 0 warnings\n")


def test_profile_writes_a_trace(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    text = command.succeeds(
        "profile", CONV, *NO_TIME, "--no-peaks", "--steps", "--top", 1, "--trace", path
    ).out
    assert path.exists()
    assert "nnapi-cpu" in text
    assert "there already" in command.refuses("profile", CONV, "--trace", path)


def test_bench_numbers_of_threads(command: Command) -> None:
    found = command.succeeds("bench", CONV, *NO_TIME, "--threads", "1,2", "--json").json
    (measured,) = found["results"]
    assert [item["threads"] for item in measured["throughput"]] == [1, 2]
    for option in ("--threads", "--kernel-threads"):
        line = command.refuses("bench", CONV, option, "many")
        assert line == f"{option} is 'many'; it must be numbers with commas, such as 1,2"
    assert "no peer 'tvm'" in command.refuses("bench", CONV, *NO_TIME, "--peer", "tvm")
    assert "--seconds" in command.refuses("bench", CONV, "--seconds", "inf")


def test_bench_in_turns_with_a_peer(command: Command) -> None:
    """A few rounds show no difference."""
    pytest.importorskip("ai_edge_litert")
    out = command.succeeds("bench", CONV, *NO_TIME, "--peer", "litert", "--kernel-threads", 1).out
    assert "1 kernel thread: litert: no difference that this run can show: ratio" in out
    assert "tier " in out


def test_a_peer_that_is_not_installed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    line = command.refuses("bench", CONV, *NO_TIME, "--peer", "openvino")
    assert line == (
        "this needs the package openvino, which is not there; `pip install 'nnapi_shim[bench]'`"
    )


def test_bench_samples_and_earlier_runs(command: Command, tmp_path: Path) -> None:
    words = ("bench", QUANTIZED, "--runs", 8, "--kernel-threads", 1)
    out = command.succeeds(*words, "--json", "--samples").out
    assert len(json.loads(out)["results"][0]["latency"]["samples"]) == 8
    before = tmp_path / "before.json"
    before.write_text(command.succeeds(*words, "--json").out)
    assert "samples" not in before.read_text()
    text = command.succeeds("bench", before, "--against", before).out
    assert "no difference that this run can show" in text
    found = command.succeeds(*words, "--against", before, "--json").json
    assert found["changes"][0]["kernel_threads"] == 1
    line = command.refuses("bench", QUANTIZED, "--against", __file__)
    assert "is no result of a benchmark" in line


def test_profile_units(command: Command) -> None:
    words = ("--runs", 2, "--no-peaks")
    assert "GOP/s" in command.succeeds("profile", QUANTIZED, *words).out
    text = command.succeeds("profile", CONV, *words).out
    assert "GFLOP/s" in text
    assert "GOP/s" not in text


def test_convert(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    assert "3 operations" in command.succeeds("convert", CONV, "-o", path).out
    before = command.succeeds("run", CONV, "--json").json["outputs"][0]["values"]
    after = command.succeeds("run", path, "--json").json["outputs"][0]["values"]
    np.testing.assert_allclose(after, before, rtol=1e-6)
    assert "there already" in command.refuses("convert", CONV, "-o", path)
    assert "suffix" in command.refuses("convert", CONV, "-o", tmp_path / "model.xyz")
    assert sorted(tmp_path.iterdir()) == [path]


def test_summary(command: Command, tmp_path: Path) -> None:
    import json

    path = tmp_path / "model.json"
    found = command.succeeds("convert", QUANTIZED, "-o", path, "--json").json
    assert found["operations"] == 2
    told = json.loads(path.read_text())
    assert told["counts"] == {"ADD": 1, "LOGISTIC": 1}
    (graph,) = told["graphs"]
    first = graph["operations"][0]
    assert first["inputs"]["input0"] == graph["inputs"][0]
    assert graph["operands"][graph["outputs"][0]]["type"] == "TENSOR_QUANT8_ASYMM"
