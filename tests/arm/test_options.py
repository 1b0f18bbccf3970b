"""What the scripts of this folder need is checked before a root is made."""

import sys
from pathlib import Path

import pytest

from tests.arm import instructions, run_emulated, run_riscv


def made(*arguments: object) -> None:
    raise AssertionError("begins to make a root")


@pytest.fixture(autouse=True)
def no_root(monkeypatch):
    for script in (run_emulated, instructions):
        monkeypatch.setattr(script, "ready_root", made)
    monkeypatch.setattr(run_riscv, "run", made)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--wheel", "/nope.whl"], "there is no file /nope.whl"),
        (["--wheel", __file__], "is no wheel for aarch64"),
        (["--jobs", "0"], "0 is no number from 1 on"),
        (["--jobs", "two"], "two is no number from 1 on"),
        (["--parts"], "expected at least one argument"),
        (["--tiers"], "expected at least one argument"),
        (["--root", "/new", "--installed"], "no wheel is installed in /new"),
    ],
)
def test_options_of_the_proof(options, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run_emulated", *options])
    with pytest.raises(SystemExit, match="2"):
        run_emulated.main()
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_names_of_models(monkeypatch, capsys, tmp_path):
    for name in ("one.tflite", "one.npz", "without_inputs.tflite"):
        (tmp_path / name).touch()
    monkeypatch.setattr(instructions, "TRAINED", tmp_path)
    monkeypatch.setattr(instructions, "missing", list)
    monkeypatch.setattr(sys, "argv", ["instructions", "--models", "one", "nonsense"])
    with pytest.raises(SystemExit, match="2"):
        instructions.main()
    said = "error: there is no model nonsense: choose from one"
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)


def test_a_root_is_whole_when_it_has_a_stamp(monkeypatch, tmp_path):
    half = tmp_path / "half"
    (half / "etc").mkdir(parents=True)
    (half / "etc/debian_version").write_text("13.0\n")
    with pytest.raises(SystemExit, match="is no root of this command: name an empty folder"):
        run_riscv.make_root(half)
    assert (half / "etc/debian_version").exists()
    stamp = half / "etc/test-riscv-packages"
    stamp.write_text("other packages\n")
    with pytest.raises(AssertionError, match="begins to make a root"):
        run_riscv.make_root(half)
    commands = []

    def run(command: list[str | Path]) -> None:
        commands.append(command[0])
        (half / "etc").mkdir(exist_ok=True)

    monkeypatch.setattr(run_riscv, "run", run)
    run_riscv.make_root(half)
    run_riscv.make_root(half)
    assert commands == ["rm", "mmdebstrap"]
    assert "python3-numpy" in stamp.read_text()


def test_what_is_not_built_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(run_riscv, "BUILD", tmp_path)
    line = run_riscv.missing()[-1]
    assert line.startswith("libneuralnetworks.so, ") and "basic, " in line
    assert line.endswith(" not built for riscv64: make ARCH=riscv64")
    for folder, names in (("lib", run_riscv.LIBRARIES), ("c_examples", run_riscv.EXAMPLES)):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch()
    assert not [line for line in run_riscv.missing() if "make ARCH" in line]
