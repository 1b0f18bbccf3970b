"""Every fault fits its file of kernels, and a run finds one."""

from pathlib import Path

import pytest

from nnapi_shim.drivers.cpu import codegen, kernels
from tests.kernel_mutations.__main__ import NO_FAULT, outcome
from tests.kernel_mutations.mutations import FAMILIES

ROOT = Path(__file__).parents[2]
KERNELS, CODEGEN = Path(kernels.__file__).parent, Path(codegen.__file__).parent
TESTS = ROOT / "tests" / "drivers" / "cpu"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_fault_fits_its_file(family: str) -> None:
    for fault in FAMILIES[family].faults:
        helpers = [CODEGEN / f"{name}.py" for name in fault.helpers.split()]
        path, *between = helpers or [KERNELS / f"{family}.py"]
        assert all(each.exists() for each in between)
        source = path.read_text(encoding="utf-8")
        assert source.count(fault.old) == 1, fault
        assert fault.new != fault.old
    for name in FAMILIES[family].tests.split():
        assert (TESTS / f"test_{name}.py").exists()


def test_a_fault_is_found_by_a_test_that_passes_without_it() -> None:
    found = outcome("lookup", FAMILIES["lookup"].faults[0], str(ROOT))
    assert found.startswith("found: FAILED ")
    test = found.split()[2]
    assert outcome("lookup", NO_FAULT, str(ROOT), test) == "not found"
