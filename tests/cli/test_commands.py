"""What commands print, and what they refuse."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nnapi_shim.extras import install_command
from nnapi_shim.tools.machine import Peaks
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
    assert "(random)" in command.succeeds("run", QUANTIZED).out


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
    text = command.succeeds("run", CONV, "-i", path, "--resize").out
    assert f"{path} scaled from 8 x 9 to 8 x 8 (width x height) with a bilinear filter" in text
    Image.fromarray(np.full((8, 8, 3), 100, np.uint8)).save(path)
    assert "scaled" not in command.succeeds("run", CONV, "-i", path, "--resize").out


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
    words = ("diff", CONV, "--device", "nnapi-cpu", "--device", "nnapi-reference")
    text = command.succeeds(*words).out
    assert "within the tolerance" in text
    assert "the inputs are random" in text
    outcome = command(*words, "--atol", 0, "--rtol", 0)
    assert outcome.code == 1
    assert "the first that differs: CONV_2D (operation 0), output; most at [0, " in outcome.out
    assert "there must be two" in command.refuses("diff", CONV, "--device", "nnapi-cpu")
    assert "no device 'npu'" in command.refuses("diff", CONV, "--device", "npu,nnapi-cpu")


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
    assert "a.txt does not end in .json" in command.refuses("profile", CONV, "--trace", "a.txt")


def test_profile_has_no_columns_of_peaks_that_are_not_measured(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nnapi_shim.tools.profile.peaks", lambda: Peaks(1e15, 1e15, 1e15))
    assert "of peak  bound" in command.succeeds("profile", CONV, *NO_TIME).out
    text = command.succeeds("profile", CONV, *NO_TIME, "--no-peaks", "--steps").out
    assert "of peak" not in text and "bound" not in text


def test_diff_says_which_values_each_device_has(command: Command) -> None:
    words = ("diff", QUANTIZED)
    assert "; each device with its own values" in command.succeeds(*words).out
    isolated = command.succeeds(*words, "--isolated").out
    assert "; each operation with the inputs that A has" in isolated


def test_bench_numbers_of_threads(command: Command) -> None:
    actual = command.succeeds("bench", CONV, *NO_TIME, "--threads", "1,2", "--json").json
    (measured,) = actual["results"]
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
    goal = "no difference that this run can show (2 rounds; a verdict needs 4): ratio"
    assert f"1 kernel thread: litert: {goal}" in out
    assert "tier " in out


def test_a_peer_that_is_not_installed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    line = command.refuses("bench", CONV, *NO_TIME, "--peer", "openvino")
    assert line == (
        "this needs the package openvino, which is not there; "
        f"`{install_command('bench', 'openvino')}`"
    )


def test_bench_samples_and_earlier_runs(command: Command, tmp_path: Path) -> None:
    words = ("bench", QUANTIZED, "--runs", 8, "--kernel-threads", 1)
    out = command.succeeds(*words, "--json", "--samples").out
    assert len(json.loads(out)["results"][0]["latency"]["samples"]) == 8
    before = tmp_path / "before.json"
    before.write_text(command.succeeds(*words, "--json").out)
    assert "samples" not in before.read_text()
    text = command.succeeds("bench", before, "--against", before).out
    assert text.endswith("no difference that this run can show\n")
    after = tmp_path / "after.json"
    assert command.succeeds(*words, "--against", before, "--json", after).out == ""
    actual = json.loads(after.read_text())
    assert actual["changes"][0]["kernel_threads"] == 1
    assert actual["results"][0]["latency"]["runs"] == 8
    command.succeeds("bench", after, "--against", before)
    line = command.refuses("bench", QUANTIZED, "--against", __file__)
    assert "is no result of a benchmark" in line
    assert f"> {__file__}" not in line and f"--json {__file__}" not in line


def test_too_few_rounds_for_a_verdict(command: Command, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    words = ("bench", QUANTIZED, "--runs", 3, "--kernel-threads", 1)
    command.succeeds(*words, "--json", before)
    text = command.succeeds(*words, "--against", before).out
    assert text.endswith("no difference that this run can show (3 rounds; a verdict needs 4)\n")
    assert command.succeeds(*words, "--against", before, "--json").json["changes"][0]["rounds"] == 3


def test_profile_units(command: Command) -> None:
    words = ("--runs", 2, "--no-peaks")
    assert "GOP/s" in command.succeeds("profile", QUANTIZED, *words).out
    text = command.succeeds("profile", CONV, *words).out
    assert "GFLOP/s" in text
    assert "GOP/s" not in text


def test_more_than_a_peak(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi_shim.tools.profile.peaks", lambda: Peaks(1e3, 1e3, 1e3, 2.5))
    text = command.succeeds("profile", CONV, *NO_TIME).out
    assert "peaks of this machine, at a load of 2.50: " in text
    assert text.count("> 100%") == 3
    assert not text.split("> 100%", 1)[1].startswith("  ")  # no bound
    assert "more than 100% of a peak is no figure to trust" in text
    monkeypatch.setattr("nnapi_shim.tools.profile.peaks", lambda: Peaks(1e15, 1e15, 1e15))
    text = command.succeeds("profile", CONV, *NO_TIME).out
    assert "> 100%" not in text and "no figure" not in text
    assert "peaks of this machine: " in text


def test_convert(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    assert "3 operations" in command.succeeds("convert", CONV, "-o", path).out
    before = command.succeeds("run", CONV, "--json").json["outputs"][0]["values"]
    after = command.succeeds("run", path, "--json").json["outputs"][0]["values"]
    np.testing.assert_allclose(after, before, rtol=1e-6)
    assert command.refuses("convert", CONV, "-o", path) == (
        f"{path} is there already; --force replaces it"
    )
    assert "suffix" in command.refuses("convert", CONV, "-o", tmp_path / "model.xyz")
    assert sorted(tmp_path.iterdir()) == [path]


def test_summary(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    actual = command.succeeds("convert", QUANTIZED, "-o", path, "--json").json
    assert actual["operations"] == 2
    messages = json.loads(path.read_text())
    assert messages["counts"] == {"ADD": 1, "LOGISTIC": 1}
    (graph,) = messages["graphs"]
    first = graph["operations"][0]
    assert first["inputs"]["input0"] == graph["inputs"][0]
    assert graph["operands"][graph["outputs"][0]]["type"] == "TENSOR_QUANT8_ASYMM"


@pytest.fixture
def halves(tmp_path: Path) -> dict[str, Path]:
    """The real numbers 1 and -2 for both inputs, in a file of each kind."""
    first, second = (np.full((2, 3), value, np.float32) for value in (1, -2))
    stored = np.full((2, 3), 130, np.uint8)
    files = {name: tmp_path / name for name in ("x.json", "x.csv", "x.bin", "both.json", "b.npy")}
    files["x.json"].write_text(str(first.tolist()))
    files["x.csv"].write_text("a,b,c\n1.0,1.0,1.0\n1.0,1.0,1.0\n")
    files["x.bin"].write_bytes(stored.tobytes())
    files["both.json"].write_text(f'{{"input_1": {second.tolist()}, "input_0": {first.tolist()}}}')
    np.save(files["b.npy"], second)
    return files


@pytest.mark.parametrize("kind", ["x.json", "x.csv", "x.bin"])
def test_kinds_of_input_files(command: Command, halves: dict[str, Path], kind: str) -> None:
    """Each file has the same numbers; integers are stored values, others are quantized."""
    goal = command.succeeds("run", QUANTIZED, "-i", halves["both.json"], "--json").json["outputs"]
    actual = command.succeeds(
        "run", QUANTIZED, "-i", halves[kind], "-i", halves["b.npy"], "--json"
    ).json
    assert actual["outputs"] == goal
    assert goal[0]["values"] == [[69] * 3] * 2  # LOGISTIC of 1 - 2 is 0.2689


@pytest.mark.parametrize("kind", ["x.json", "x.csv", "x.bin", "b.npy"])
def test_an_input_from_stdin(
    command: Command, halves: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = command.succeeds(
        "run", QUANTIZED, "-i", halves[kind], "-i", halves["b.npy"], "--json"
    ).json
    stdin = io.TextIOWrapper(io.BytesIO(halves[kind].read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    actual = command.succeeds("run", QUANTIZED, "-i", "-", "-i", halves["b.npy"], "--json").json
    assert actual["outputs"] == goal["outputs"]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.json", b"[[1, 2], [3]]", "is no JSON with numbers"),
        ("a.json", b'["a"]', "not all of it is numbers"),
        ("a.json", b"[[300, 0, 0], [0, 0, 0]]", "numbers that TENSOR_QUANT8_ASYMM does not hold"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.npy", b"", "a.npy is empty"),
        ("a.json", b"", "a.json is empty"),
        ("a.png", b"", "a.png is empty"),
        ("a.csv", b"#\n", "it is empty"),
        (
            "a.bin",
            b"",
            "a.bin has 0 bytes; TENSOR_QUANT8_ASYMM[2, 3] takes 6 bytes, 6 elements of 1 byte",
        ),
        ("a.csv", b"1,2\n3,x\n", "is no table of numbers"),
        ("a.csv", b"1,2\n3,4\n", "dimensions [2, 2]; the input has [2, 3]"),
        (
            "a.bin",
            b"12345",
            "a.bin has 5 bytes; TENSOR_QUANT8_ASYMM[2, 3] takes 6 bytes, 6 elements of 1 byte",
        ),
    ],
)
def test_bad_input_files(
    command: Command, tmp_path: Path, name: str, content: bytes, text: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert text in command.refuses("run", QUANTIZED, "-i", path)


def test_bytes_of_a_part_of_an_element(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"12345")
    line = command.refuses("run", CONV, "-i", path)
    goal = "a.bin has 5 bytes; TENSOR_FLOAT32[1, 8, 8, 3] takes 768 bytes, 192 elements of 4 bytes"
    assert goal in line
    line = command.refuses("run", CONV, "--expect", path)
    assert line.endswith("a.bin has 5 bytes; TENSOR_FLOAT32[1, 8, 8, 4] takes elements of 4 bytes")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("run {}.tflite", ".tflite is empty"),
        ("explain {}.onnx", ".onnx is empty"),
        (
            "run {0}.py",
            ".py has no nnapi_shim.Model; {0}.py:NAME chooses a function that returns one",
        ),
        (f"run {CONV} --labels {{}}.txt", ".txt is empty"),
        (f"bench {CONV} --against {{}}.json", ".json is empty"),
        ("replay {}.zip", ".zip is empty"),
    ],
)
def test_empty_files(command: Command, tmp_path: Path, words: str, text: str) -> None:
    for suffix in ("tflite", "onnx", "py", "txt", "json", "zip"):
        (tmp_path / f"empty.{suffix}").touch()
    line = command.refuses(*words.format(tmp_path / "empty").split())
    assert line == f"{tmp_path / 'empty'}{text.format(tmp_path / 'empty')}"


def test_expected_outputs(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    command.succeeds("run", QUANTIZED, "-o", path)
    assert "all values are equal" in command.succeeds("run", QUANTIZED, "--expect", path).out
    outcome = command("run", QUANTIZED, "--seed", 1, "--expect", path)
    assert outcome.code == 1
    assert "output_0 is not as expected: " in outcome.out
    (actual,) = command("run", QUANTIZED, "--seed", 1, "--expect", path, "--json").json["expected"]
    steps = actual["difference"]["steps"]
    assert steps > 1
    command.succeeds("run", QUANTIZED, "--seed", 1, "--expect", path, "--steps", steps)
    assert command("run", QUANTIZED, "--seed", 1, "--expect", path, "--steps", steps - 1).code == 1
    np.save(tmp_path / "wrong.npy", np.zeros((3, 3), np.uint8))
    outcome = command("run", QUANTIZED, "--expect", tmp_path / "wrong.npy")
    assert outcome.code == 1
    assert "dimensions [2, 3] and [3, 3]" in outcome.out
    np.savez(tmp_path / "other.npz", a=np.zeros(1), b=np.zeros(1))
    assert "the outputs are output_0" in command.refuses(
        "run", QUANTIZED, "--expect", tmp_path / "other.npz"
    )


def test_values_are_real_numbers(command: Command, halves: dict[str, Path]) -> None:
    """The printed values have the unit of their range."""
    text = command.succeeds("run", QUANTIZED, "-i", halves["both.json"]).out
    assert "  from 0.269531 to 0.269531, mean 0.269531\n  0.269531, 0.269531" in text


def test_classes_without_labels(command: Command, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(
        "import nnapi_shim\n"
        "with nnapi_shim.Model() as model:\n"
        "    model.outputs(model.softmax(model.input('TENSOR_FLOAT32', [1, 10])))\n"
    )
    (tmp_path / "x.json").write_text(str([[0, 5, 1, 0, 9, 0, 0, 7, 2, 3]]).replace(",", ".0,"))
    words = ("run", model, "-i", tmp_path / "x.json")
    lines = command.succeeds(*words).out.splitlines()
    assert [line.split()[0] for line in lines[-6:]] == ["class", "4", "7", "1", "9", "8"]
    assert lines[-6].split() == ["class", "score"]
    assert "class" not in command.succeeds(*words, "--top", 0).out


DETECTION = """
import numpy as np
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("TENSOR_FLOAT32", [1, 10])
    boxes = model.reshape(x, np.int32([1, 5, 2]), name="boxes")
    model.outputs(boxes, model.softmax(x, name="scores"), model.argmax(x, 1, name="best"))
"""


def test_several_outputs_are_no_classes(command: Command, tmp_path: Path) -> None:
    """Unless they are asked for; each output is printed below its name."""
    model = tmp_path / "model.py"
    model.write_text(DETECTION)
    lines = command.succeeds("run", model).out.splitlines()[2:]
    assert [line.split()[1] for line in lines[::3]] == ["boxes:", "scores:", "best:"]
    assert "class" not in "".join(lines)
    lines = command.succeeds("run", model, "--top", 2).out.splitlines()[2:]
    assert [line.split()[0] for line in lines[3:8]] == ["output", "from", "class", "9", "5"]
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join("abcdefghij"))
    outputs = command.succeeds("run", model, "--labels", labels, "--json").json["outputs"]
    assert [len(item["top"]) for item in outputs] == [0, 5, 0]
    assert outputs[1]["top"][0]["label"] == "j"
    labels.write_text("a\nb\n")
    assert "2 labels given; the model has 10" in command.refuses("run", model, "--labels", labels)
    line = command.refuses("run", QUANTIZED, "--top", 3)
    assert line == "no output is a row of scores; labels and a number of classes need one"


def test_json_into_a_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    assert command.succeeds("explain", "--json", path, CONV).out == ""
    assert json.loads(path.read_text())["operations"]
    assert "there already" in command.refuses("explain", CONV, "--json", path)
    command.succeeds("explain", CONV, "--json", path, "--force")
    assert "does not end in .json" in command.refuses("info", "--json=found.txt")
    assert "no folder" in command.refuses("profile", CONV, "--json", tmp_path / "no" / "a.json")


def test_devices_are_repeated_or_listed(command: Command) -> None:
    for words in (
        ("--device", "nnapi-reference", "--device", "nnapi-cpu"),
        ("--device", "nnapi-reference,nnapi-cpu"),
    ):
        actual = command.succeeds("explain", CONV, *words, "--json").json
        assert set(actual["devices"]) == {"nnapi-reference", "nnapi-cpu"}


def test_a_program_that_is_missing(command: Command, tmp_path: Path) -> None:
    """The exit codes of a shell."""
    outcome = command("exec", "--", tmp_path / "none")
    assert (outcome.code, outcome.out) == (127, "")
    assert outcome.err == f"nnapi-shim: there is no program {tmp_path / 'none'}\n"
    (tmp_path / "text").write_text("no program")
    outcome = command("exec", "--", tmp_path / "text")
    assert (outcome.code, outcome.out) == (126, "")
    assert "is no executable file" in outcome.err


def test_quantization_error(command: Command, tmp_path: Path) -> None:
    models = "tests.tools.test_quantization_error"
    words = (f"{models}:quantized_model", "--float", f"{models}:float_model")
    actual = command.succeeds("diff", *words, "--json").json
    assert [item["name"] for item in actual["operations"]] == ["MUL", "RELU1"]
    text = command.succeeds("diff", *words).out
    assert "SQNR" in text and "product" in text
    assert "the inputs are random" in text
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((1, 6), np.float32))
    assert "random" not in command.succeeds("diff", *words, "-i", path).out
    line = command.refuses("diff", *words, "--device", "nnapi-cpu,nnapi-reference")
    assert "--float" in line


def test_profile_on_more_processors(command: Command) -> None:
    words = ("profile", CONV, "--scaling", "--runs", 2)
    text = command.succeeds(*words).out
    assert all(name in text for name in ("processors", "speed-up", "last tiles"))
    data = command.succeeds(*words, "--kernel-threads", "2,3", "--json").json
    assert [item["cores"] for item in data["predictions"]] == [2, 3]
    assert "each number must be 1 to 64" in command.refuses(*words, "--kernel-threads", "0")
