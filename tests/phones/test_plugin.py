"""The plugin of pytest, and the projects of docs/testing.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim.phones.files import shipped
from tests.phones.conftest import ROOT
from tests.waiting import HANGS_S

PAGE = ROOT / "docs" / "testing.md"
CONFTEST = 'pytest_plugins = ["nnapi_shim.testing"]\n'
PROGRAM = f'PROGRAM = "{ROOT}/build/c_examples/simple_add"\n'


def run(folder: Path, *options: str, **files: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder with these files."""
    for name, text in {"conftest": CONFTEST, **files}.items():
        (folder / f"{name}.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir=.", *options],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def ids(outcome: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^test_\w+\.py::(\S+) PASSED", outcome.stdout, re.M)


PHONES = f"""
import pytest
{PROGRAM}

@pytest.mark.nnapi_profiles("android-10", "android-8.1")
def test_marked(nnapi_profile):
    outcome = nnapi_profile.run(PROGRAM)
    assert outcome.returncode == (127 if nnapi_profile.profile == "android-8.1" else 0)

def test_plain(nnapi_profile):
    assert nnapi_profile.environment["NNAPI_SHIM_PROFILE"] == nnapi_profile.profile
"""


def test_phones(tmp_path: Path) -> None:
    outcome = run(tmp_path, test_phones=PHONES)
    marked = ["test_marked[android-10]", "test_marked[android-8.1]"]
    assert ids(outcome) == [*marked, *(f"test_plain[{name}]" for name in shipped())], outcome.stdout
    (tmp_path / "pytest.ini").write_text("[pytest]\nnnapi_profiles = android-9 android-11-npu\n")
    plain = ["test_plain[android-9]", "test_plain[android-11-npu]"]
    assert ids(run(tmp_path, test_phones=PHONES)) == [*marked, *plain]
    options = ("--nnapi-profile", "android-12", "--nnapi-profile=android-10")
    both = [f"{test}[{name}]" for test in ("test_marked", "test_plain") for name in options[1:]]
    assert ids(run(tmp_path, *options, test_phones=PHONES)) == [
        name.replace("--nnapi-profile=", "") for name in both
    ]


def test_a_profile_that_does_not_exist(tmp_path: Path) -> None:
    outcome = run(tmp_path, "--nnapi-profile=android-7", test_phones=PHONES)
    assert outcome.returncode != 0
    assert "there is no profile 'android-7'; there are android-8.1" in outcome.stdout


FAULTS = f"""
import pytest
{PROGRAM}

def test_faults(nnapi_faults):
    phone = nnapi_faults("function=Model_create code=OUT_OF_MEMORY")
    assert phone.profile == ""
    assert phone.run(PROGRAM).returncode == 1
    assert phone.with_faults("").run(PROGRAM, NNAPI_SHIM_LOG="silent").stderr == ""

@pytest.mark.nnapi_profiles("android-10-gpu")
def test_both(nnapi_profile, nnapi_faults):
    phone = nnapi_faults("device=generic-gpu do=lost")
    outcome = phone.run(PROGRAM)
    assert outcome.returncode == 0
    assert "runs again on nnapi-reference" in outcome.stderr

def test_rules_that_are_none(nnapi_faults):
    with pytest.raises(Exception, match="allowed are function="):
        nnapi_faults("nonsense").run(PROGRAM)
"""


def test_faults(tmp_path: Path) -> None:
    outcome = run(tmp_path, test_faults=FAULTS)
    assert outcome.returncode == 0, outcome.stdout
    assert len(ids(outcome)) == 3


def blocks(language: str) -> list[str]:
    pattern = rf"<!-- run by tests/phones/test_plugin.py -->\n```{language}\n(.*?)```"
    return re.findall(pattern, PAGE.read_text(), re.S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that looks like a checkout with a program."""
    (tmp_path / "build").mkdir()
    for name in ("include", "c_examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("lib", "c_examples"):
        (tmp_path / "build" / name).symlink_to(ROOT / "build" / name)
    return tmp_path


def test_the_tests_of_the_page(project: Path) -> None:
    conftest, tests = blocks("python")
    outcome = run(project, conftest=conftest, test_program=tests)
    assert outcome.returncode == 0, outcome.stdout
    assert len(ids(outcome)) == 4
