"""Where the functions of hardware buffers come from: whatever the program has loaded.

The rules for such memory are in rules/hardware_buffers.py.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = f"-I{ROOT / 'include' / 'companion'}"
OWN = ROOT / "nnapi_shim" / "native" / "companion" / "hardware_buffer.c"
SOURCE = Path(__file__).with_name("hardware_buffer.c")
LIBRARIES = ("libnativewindow.so", "libandroid.so")
QUIET = {"NNAPI_SHIM_LOG": "silent"}
"""It also gives what is no buffer."""


@pytest.mark.parametrize("name", LIBRARIES)
def test_linked(compile_c, run_well, library, name):
    program = f"linked_with_{name}"
    run_well(compile_c(program, INCLUDE, library.parent / name, source=SOURCE), env=QUIET)


@pytest.mark.parametrize("name", LIBRARIES)
def test_opened(compile_c, run_well, library, name):
    """For the program alone, and closed while the memory is still in use."""
    program = compile_c("opened", INCLUDE, "-DOPENED", "-ldl", source=SOURCE)
    run_well(program, library.parent / name, env=QUIET)


def test_of_the_program(compile_c, run_well):
    """A program may bring its own, which has nothing to do with the companion libraries."""
    program = compile_c("own", INCLUDE, "-D_GNU_SOURCE", "-rdynamic", OWN, source=SOURCE)
    run_well(program, env=QUIET)
