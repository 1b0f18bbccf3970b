"""The example programs: they print what they should, and the library says nothing beside it."""

import subprocess

import pytest

from tests.conformance.vectors import ROOT
from tests.waiting import HANGS_S

PROGRAMS = ROOT / "build" / "c_examples"
REFUSED = {"dynamic_shapes": 3}
"""Program -> the calls that it makes to be refused; each is a line on stderr."""
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
    assert done.stderr.count("nnapi_shim error: ") == REFUSED.get(expected.stem, 0)
    assert done.stderr.count("nnapi_shim") == REFUSED.get(expected.stem, 0)


def test_every_example_has_one():
    sources = {path.stem for path in (ROOT / "c_examples").glob("*.c*")}
    assert sources == {path.stem for path in EXPECTED}
