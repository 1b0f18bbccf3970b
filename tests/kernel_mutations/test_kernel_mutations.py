"""Every fault fits its file of kernels, and a run finds one."""

from pathlib import Path

import pytest

from nnapi_shim.drivers.cpu import kernels
from tests.kernel_mutations.__main__ import NO_FAULT, outcome
from tests.kernel_mutations.mutations import FAMILIES

ROOT = Path(__file__).parents[2]
KERNELS = Path(kernels.__file__).parent
TESTS = ROOT / "tests" / "drivers" / "cpu"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_fault_fits_its_file(family: str) -> None:
    source = (KERNELS / f"{family}.py").read_text(encoding="utf-8")
    for fault in FAMILIES[family].faults:
        assert source.count(fault.old) == 1, fault
        assert fault.new != fault.old
    for name in FAMILIES[family].tests.split():
        assert (TESTS / f"test_{name}.py").exists()


def test_a_fault_is_found() -> None:
    assert outcome("lookup", FAMILIES["lookup"].faults[0], str(ROOT)).startswith("found: FAILED")


def test_kernels_without_a_fault_pass() -> None:
    assert outcome("lookup", NO_FAULT, str(ROOT)) == "not found"
