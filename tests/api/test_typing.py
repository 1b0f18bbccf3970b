"""What type checkers say of users' programs: nothing of a good one, every mistake of a bad one."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOOD = Path(__file__).parent / "users" / "good.py"
MISTAKE = "# a mistake"
BAD = """from nnapi_shim import Model

model = Model()
x = model.input("TENSOR_FLOAT32", [1, 8, 8, 2])
model.conv_2d(x, x)  # a mistake: no bias, no padding
model.conv_2d(x, x, x, padding="SAFE")  # a mistake: no such scheme
model.conv_2d(x, x, x, padding="SAME", activation="RELU7")  # a mistake: no such activation
model.conv_2d(x, x, x, padding="SAME", strides=2)  # a mistake: no such parameter
model.conv_2d(x, x, x, padding="SAME", stride=(1, 2, 3))  # a mistake: three numbers
model.conv_2d(x, x, x, "SAME")  # a mistake: to be given by name
model.conv_3d(x)  # a mistake: no such operation
model.relu(model)  # a mistake: a model is no operand
model.relu(x, name=3)  # a mistake: a number is no name
one, two, three = model.topk_v2(x, 1)  # a mistake: there are two outputs
model.input(0.5)  # a mistake: no type
model.input("TENSOR_FLOAT33")  # a mistake: no such type
x.relu()  # a mistake: an operand has no operations
model.compile().run(x=object())  # a mistake: no numbers
model.compile(devices=3)  # a mistake: no device
model.compile().run_named([x])  # a mistake: no mapping
"""


def of_mypy(folder: Path, *programs: Path) -> set[tuple[str, int]]:
    """The lines in which `mypy --strict` finds errors, without settings of this repository."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    command += ["--cache-dir", str(folder / "cache"), *map(str, programs)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    result = re.findall(r"^(.*?):(\d+): error:", done.stdout, re.MULTILINE)
    return {(Path(name).name, int(line)) for name, line in result}


def of_pyright(folder: Path, *programs: Path) -> set[tuple[str, int]]:
    """The lines in which pyright finds errors."""
    pyright = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("basedpyright is not installed")
    settings = {
        "typeCheckingMode": "strict",
        "include": [str(program) for program in programs],
        "extraPaths": [str(ROOT)],
        "reportUnusedVariable": False,
        "reportUnknownVariableType": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {
        (Path(item["file"]).name, item["range"]["start"]["line"] + 1)
        for item in json.loads(done.stdout)["generalDiagnostics"]
        if item["severity"] == "error"
    }


@pytest.mark.parametrize(
    "checker", [of_mypy, pytest.param(of_pyright, marks=pytest.mark.integration)]
)
def test_mistakes_are_found(tmp_path: Path, checker: Callable[..., set[tuple[str, int]]]) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(BAD)
    mistakes = {
        ("bad.py", number) for number, line in enumerate(BAD.splitlines(), 1) if MISTAKE in line
    }
    assert len(mistakes) == 16
    assert checker(tmp_path, GOOD, bad) == mistakes


def test_the_good_program_runs() -> None:
    done = subprocess.run([sys.executable, GOOD], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "CONV_2D ['x', " in done.stdout
