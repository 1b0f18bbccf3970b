"""No kernel reads or writes outside its operands: see guard_pages.py."""

import subprocess
import sys

import pytest

from nnapi_shim.operations import FAMILIES
from tests.conformance.vectors import ROOT

GUARD_PAGES = [sys.executable, "-m", "tests.drivers.cpu.guard_pages"]


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "resize" else ())
        for name in FAMILIES
        if name != "control_flow"
    ],
)
def test_nothing_outside_an_operand_is_touched(family):
    command = [*GUARD_PAGES, *FAMILIES[family].split()]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    lines = result.stdout.splitlines()
    assert result.returncode == 0, (lines[-1:], result.stderr[-2000:])
    assert lines[-1].startswith("done:")
    assert "computed" in lines[-1]


def test_a_touched_page_is_noticed():
    code = "\n".join(
        [
            "import ctypes",
            "from tests.drivers.cpu.guard_pages import Guarded",
            "memory = Guarded(b'12345', at_end=True)",
            "print(ctypes.string_at(memory.map(), 5), flush=True)",
            "ctypes.string_at(memory.map(), 6)",
        ]
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.stdout == "b'12345'\n"
    assert result.returncode < 0
