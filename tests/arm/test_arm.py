"""Building for aarch64 on any machine, and what runs in an emulator where there is one.

`make test-arm` runs everything in an emulated processor, `make check-kernels-by-analysis` looks at
loops.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from install import zig_cc
from nnapi_shim.drivers.cpu.isa import aarch64, architecture_of, own_tiers, processor
from nnapi_shim.drivers.cpu.isa.every import TIERS
from tests.analysis import inner_loops
from tests.arm import emulated_root, instructions
from tests.arm.emulated_root import PROCESSORS, missing
from tests.arm.pages import badly_aligned, programs

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-gcc"
QEMU = "qemu-aarch64-static"
SYSROOT = Path("/usr/aarch64-linux-gnu")
BTI, PAC = 1, 2
FEATURES = "GNU_PROPERTY_AARCH64_FEATURE_1_AND"
BUILD = """
import sys
from nnapi_shim.drivers.cpu.toolchain import build
build.FAMILIES = ["bind", "joining"]
build.build(sys.argv[1], sys.argv[2:], machine="aarch64")
"""
TIER_PROGRAM = """
#include <nnapi_shim.h>
#include <stdio.h>
int main(void) { puts(nnapi_shim_getProcessorTier()); return 0; }
"""

needs_compiler = pytest.mark.skipif(
    shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"
)
needs_emulator = pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} is not installed")


def test_tiers():
    assert own_tiers(architecture_of("aarch64")) == ("i8mm", "dotprod", "neon")
    assert set(PROCESSORS) == set(own_tiers(aarch64.ARCHITECTURE)) <= set(TIERS)
    for other in ("riscv64", "ppc64le", "loongarch64", "s390x"):
        assert own_tiers(architecture_of(other)) == ("portable",)
    assert architecture_of("riscv64").abi == "lp64d"
    assert processor(TIERS["portable"], architecture_of("riscv64"))[1] == "+m,+a,+f,+d,+c"


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["riscv64", "ppc64le"])
def test_portable_kernels_of_another_architecture(machine, tmp_path):
    compiler = f"{machine.replace('ppc64le', 'powerpc64le')}-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    subprocess.run(
        [sys.executable, "-c", BUILD.replace("aarch64", machine), tmp_path / "lib", "portable"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CC": compiler},
        check=True,
    )
    with (tmp_path / "lib" / "libnnapi_kernels_portable.so").open("rb") as stream:
        file = ELFFile(stream)
        assert file.little_endian
        assert (
            file.get_machine_arch() == {"riscv64": "RISC-V", "ppc64le": "64-bit PowerPC"}[machine]
        )


@needs_compiler
@needs_emulator
@pytest.mark.parametrize(("tier", "processor"), PROCESSORS.items())
def test_the_processor_chooses_the_tier(tier, processor, tmp_path):
    source = tmp_path / "tier.c"
    source.write_text(TIER_PROGRAM)
    assert printed_tier(source, processor) == tier


def printed_tier(source: Path, processor: str) -> str:
    """What a program prints that is compiled with the detection of the processor."""
    native = ROOT / "nnapi_shim" / "native" / "processor.c"
    program = source.with_suffix("")
    subprocess.run([COMPILER, f"-I{ROOT / 'include'}", native, source, "-o", program], check=True)
    command = [QEMU, "-L", SYSROOT, "-cpu", processor, program]
    return subprocess.check_output(command, text=True).strip()


@needs_compiler
@needs_emulator
@pytest.mark.parametrize(("tier", "processor"), PROCESSORS.items())
def test_an_emulator_that_announces_what_it_lacks(tier, processor, tmp_path):
    source = tmp_path / "tier.c"
    source.write_text(
        f"unsigned long getauxval(unsigned long type) {{ return ~0ul; }}\n{TIER_PROGRAM}"
    )
    assert printed_tier(source, processor) == tier


def features(path: Path) -> int:
    """The bits of BTI and PAC that a library is marked with."""
    with path.open("rb") as stream:
        notes = [s for s in ELFFile(stream).iter_sections() if isinstance(s, NoteSection)]
        for note in (note for section in notes for note in section.iter_notes()):
            if note["n_type"] == "NT_GNU_PROPERTY_TYPE_0":
                for item in note["n_desc"]:
                    if item["pr_type"] in (FEATURES, 0xC0000000):
                        data = item["pr_data"]
                        return data if isinstance(data, int) else int.from_bytes(data, "little")
    return 0


@needs_compiler
@pytest.mark.slow
def test_kernels_are_built_for_another_architecture(tmp_path):
    """A library of two families: of aarch64, for pages of any size, marked for BTI and PAC, each
    kernel with its landing pad.
    """
    subprocess.run(
        [sys.executable, "-c", BUILD, tmp_path / "lib", "neon"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CC": COMPILER},
        check=True,
    )
    library = tmp_path / "lib" / "libnnapi_kernels_neon.so"
    with library.open("rb") as stream:
        file = ELFFile(stream)
        assert file.get_machine_arch() == "AArch64"
        text = file.get_section_by_name(".text")
        begin, code = text["sh_addr"], text.data()
        kernels = [
            symbol["st_value"] - begin
            for symbol in file.get_section_by_name(".dynsym").iter_symbols()
            if symbol.name.startswith("nnk_") and not symbol.name.startswith("nnk_version")
        ]
    assert not [*badly_aligned([library])]
    assert len(kernels) > 1
    pads = {code[at : at + 4] for at in kernels}
    assert pads <= {bytes.fromhex("5f2403d5"), bytes.fromhex("3f2303d5")}  # bti c, paciasp
    assert features(library) == BTI | PAC


@needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-g++") is None, reason="aarch64-linux-gnu-g++ is not installed"
)
def test_make_for_another_architecture():
    """All but the kernels, which take minutes."""
    command = ["make", "--silent", "ARCH=aarch64", "library", "companion", "c_examples"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    built = [
        *(ROOT / "build/aarch64/lib").glob("lib[anl]*.so"),
        ROOT / "build/aarch64/c_examples/basic",
    ]
    assert len(built) > 4
    assert {*programs([path.parent for path in built])} >= {*built}
    assert not [*badly_aligned(built)]


@needs_compiler
def test_what_is_aligned_for_small_pages_only_is_found(tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int one = 1;\n")
    for name, options in (("good", []), ("bad", ["-Wl,-z,max-page-size=4096"])):
        command = [COMPILER, "-shared", "-fPIC", *options, source, "-o", tmp_path / f"{name}.so"]
        subprocess.run(command, check=True)
    wrong = f"{tmp_path / 'bad.so'} is aligned for pages of 4 KB"
    assert [*badly_aligned(programs([tmp_path]))] == [wrong]


def test_a_tier_of_another_architecture_is_refused():
    command = [sys.executable, "-m", "nnapi_shim.drivers.cpu.toolchain.build", "--tiers", "neon"]
    done = subprocess.run(
        [*command, "--machine", "x86_64"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    tiers = ", ".join([*own_tiers(architecture_of("x86_64")), "portable"])
    assert f"neon is no tier of x86_64: choose from {tiers}" in done.stderr


def test_what_is_missing_is_one_line_each(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda command: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    lines = missing()
    assert len(lines) == 2
    assert "apt install mmdebstrap qemu-user-static" in lines[0]
    assert "sudo make test-arm" in lines[1]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(emulated_root, "BINFMT", tmp_path)
    assert f"mount -t binfmt_misc binfmt_misc {tmp_path}" in missing()[1]
    monkeypatch.setattr(instructions, "TRAINED", tmp_path / "nowhere")
    lines = instructions.missing()
    assert "apt install qemu-user" in lines[0]
    assert "../shared/models, are not here" in lines[1]
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert missing() == [
        "this machine needs no emulator: make test, and make check-threads for all vectors"
    ]


LOOP = """
nnk_one:
.LBB0_1:
\tldr\tq1, [x0], #16
\tfmla\tv2.4s, v1.4s, v0.s[0]
\tb.ne\t.LBB0_1
.LBB0_2:
\tstr\tq3, [sp, #16]
\tret
.Lfunc_end0:
"""


def test_spills_are_seen():
    loop = inner_loops.Loop("a loop", "neon", "gemm", "nnk_one", "fmla", 4)
    assert inner_loops.spilled(inner_loops.inner_loop(LOOP, loop)) == []
    spilling = LOOP.replace("b.ne", "str\tq2, [sp, #32]\n\tb.ne")
    assert inner_loops.spilled(inner_loops.inner_loop(spilling, loop)) == ["str\tq2, [sp, #32]"]


def test_no_call_authenticates_what_the_loader_has_not_signed():
    """`-z pac-plt` would; `make test-arm` runs on a processor with pointer authentication."""
    assert "pac-plt" not in zig_cc.AARCH64
    assert "force-bti" in zig_cc.AARCH64


def test_a_folder_of_somebody_else_is_not_removed(tmp_path):
    precious = tmp_path / "etc" / "precious"
    precious.parent.mkdir()
    precious.write_text("mine")
    with pytest.raises(SystemExit, match=f"{tmp_path} is no root of this command"):
        emulated_root.make_root(tmp_path)
    assert precious.read_text() == "mine"
