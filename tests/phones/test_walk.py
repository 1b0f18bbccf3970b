"""The first section of docs/testing.md, as a new user follows it, and the files of its example."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.phones.conftest import ROOT
from tests.waiting import HANGS_S

PAGE = ROOT / "docs" / "testing.md"
EXAMPLE = ROOT / "examples" / "testing"
MARK = "<!-- run by tests/phones/test_walk.py -->\n```sh\n"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=dict(os.environ) | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout."""
    (tmp_path / "build").mkdir()
    (tmp_path / "include").symlink_to(ROOT / "include")
    (tmp_path / "build" / "lib").symlink_to(ROOT / "build" / "lib")
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "testing")
    return tmp_path


@pytest.mark.slow
def test_the_walk(checkout: Path) -> None:
    blocks = re.findall(rf"{re.escape(MARK)}(.*?)```", PAGE.read_text(), re.S)
    plain, phones, sweep, one, ci = [run(block, checkout) for block in blocks]
    assert (plain.returncode, plain.stdout) == (0, "2 4 6 8 \n"), plain.stderr
    assert (phones.returncode, phones.stdout) == (0, "2 4 6 8 \n" * 3), phones.stderr
    assert sweep.returncode == 1
    last = "28 runs with a failing call: 8 continued, 12 failed, 8 unnoticed; 16 findings"
    assert sweep.stdout.splitlines()[-1] == last
    assert last in PAGE.read_text()
    suite = ET.parse(checkout / "build" / "failures.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("28", "16")
    assert (one.returncode, one.stdout) == (0, "0 0 0 0 \n")
    assert ci.returncode != 0
    assert "75% tests passed, 1 tests failed out of 4" in ci.stdout
    assert "failures (Failed)" in ci.stdout
    source = checkout / "examples" / "testing" / "scale.c"
    text, count = re.subn(
        r"^  (ANeuralNetworks.*?); /\* not checked \*/",
        r"  CHECK(\1);",
        source.read_text(),
        flags=re.M,
    )
    assert count == 2
    source.write_text(text)
    build = "cmake --build build/testing > log && ctest --test-dir build/testing -R failures"
    repaired = run(build, checkout)
    assert repaired.returncode == 0, repaired.stdout
    assert "100% tests passed" in repaired.stdout


def test_the_workflow() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((EXAMPLE / "github-actions.yml").read_text())
    steps = workflow["jobs"]["phones"]["steps"]
    commands = " ".join(step.get("run", "") for step in steps)
    assert "ctest --test-dir build" in commands
    assert 'pip install "nnapi_shim[tools] @ $NNAPI_SHIM_WHEEL"' in commands  # any URL of a wheel
    assert [step for step in steps if "upload-artifact" in step.get("uses", "")]


def test_the_listener(tmp_path: Path) -> None:
    """Needs GoogleTest; its sources are not part of the repository."""
    source = tmp_path / "found.cpp"
    source.write_text("#include <gtest/gtest.h>\n")
    if shutil.which("c++") is None or run(f"c++ -fsyntax-only {source}", tmp_path).returncode:
        pytest.skip("GoogleTest is not installed (Debian: libgtest-dev)")
    flags = f"-I{ROOT / 'include'} -L{ROOT / 'build' / 'lib'} -lneuralnetworks -lgtest -pthread"
    built = run(f"c++ -std=c++17 {EXAMPLE / 'phone_test.cpp'} -o tests {flags}", tmp_path)
    assert built.returncode == 0, built.stderr
    on_npu = run("nnapi-shim exec --profile android-11-npu -- ./tests", tmp_path)
    assert on_npu.returncode == 0, on_npu.stdout
    alone = run(
        "nnapi-shim exec --profile android-10 -- ./tests --gtest_output=xml:x.xml", tmp_path
    )
    assert alone.returncode == 1
    assert alone.stdout.count("on the phone: android-10\n") == 1
    assert ET.parse(tmp_path / "x.xml").getroot().get("nnapi_profile") == "android-10"
