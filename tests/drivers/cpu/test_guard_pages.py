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


def test_nothing_behind_short_rows_is_read():
    """Kernels for many rows at a time read bytes of the rows behind."""
    code = "\n".join(
        [
            "import numpy as np",
            "from tests.drivers.cpu.guard_pages import run",
            "from tests.operations.cases import USES, example",
            "from tests.single import i32",
            "for use in USES:",
            "    if use.operation.type.name in ('MEAN', 'REDUCE_MAX', 'REDUCE_ANY'):",
            "        for rows in (16, 40, 133):",
            "            for length in (1, 3, 13, 15):",
            "                plan = {'input': (rows, length), 'axes': i32([1])}",
            "                plan['keep_dims'] = False",
            "                sample = example(use, np.random.default_rng(1), plan=plan)",
            "                assert run(sample, False, True) == 'computed'",
        ]
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, (result.returncode, result.stderr[-2000:])


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
