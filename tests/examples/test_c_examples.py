"""The example programs: they print what they should, and the library says nothing beside it."""

import subprocess

import pytest

from tests.conformance.vectors import ROOT
from tests.waiting import HANGS_S

PROGRAMS = ROOT / "build" / "c_examples"
EXPECTED = sorted((ROOT / "c_examples").glob("*.expected"))


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda path: path.stem)
def test_what_is_printed(expected):
    program = PROGRAMS / expected.stem
    assert program.exists(), f"{program} is missing: run make"
    done = subprocess.run(
        [program],
        env={"LD_LIBRARY_PATH": str(ROOT / "build" / "lib")},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGS_S,
    )
    assert done.stdout == expected.read_text()
    assert "nnapi_shim" not in done.stderr


def test_every_example_has_one():
    sources = {path.stem for path in (ROOT / "c_examples").glob("*.c*")}
    assert sources == {path.stem for path in EXPECTED}
