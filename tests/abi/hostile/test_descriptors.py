"""The library's descriptors do not get into the way of the program's."""

import subprocess
from pathlib import Path

from tests.emulation import is_emulated
from tests.waiting import HANGS_S

HERE = Path(__file__).parent


def test_a_program_without_standard_descriptors(compile_c, tmp_path):
    program = compile_c("closed_descriptors", "-D_GNU_SOURCE", source=HERE / "closed_descriptors.c")
    file = tmp_path / "weights"
    close = "close" if is_emulated() else ""  # QEMU leaves the program's own file open
    shell = f"exec '{program}' '{file}' {close} <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", shell], env={}, timeout=HANGS_S, check=False)
    assert done.returncode == 0, f"{program.name}.c, line {done.returncode}"
    assert b"UNEXPECTED_NULL" in file.read_bytes()


def test_memory_of_the_zero_device(compile_c, run_well):
    run_well(compile_c("zero_device", "-D_GNU_SOURCE", source=HERE / "zero_device.c"))
