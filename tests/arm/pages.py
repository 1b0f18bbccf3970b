"""Pages of 16 and 64 KB in the emulated root, which QEMU_PAGESIZE sets; how files are aligned.

What QEMU does then: the size is what programs ask for (sysconf, AT_PAGESZ), and new mappings begin
at and are rounded to such pages. It refuses neither mprotect and munmap of parts of a page nor
other offsets in a file, and files in /proc show pages of 4 KB. What lies behind the end of a file,
in the last page that is mapped of it, can be used, but not given to system calls (EFAULT), which
behind_the_end.c shows: the static variables of a library without debug symbols lie there. So copies
of all files are used that zeros at their ends make as long as their pages.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.arm.checkout import MADE, tests_with
from tests.arm.emulated_root import BUILD, CONFORMANCE, SITE, TRIPLET, enter, output, run
from tests.arm.installed import EXAMPLES, LIBRARIES, check_examples, run_vectors
from tests.arm.parts import Outcome, Setting, together

SIZES = (16 << 10, 64 << 10)
LARGEST_PAGE = max(SIZES)
SETTING = "QEMU_PAGESIZE"
PROBE = """
import ctypes, mmap, os, sys
size = int(sys.argv[1])
assert os.sysconf("SC_PAGESIZE") == mmap.PAGESIZE == size, mmap.PAGESIZE
for pages in [mmap.mmap(-1, 1) for _ in range(3)]:
    assert ctypes.addressof(ctypes.c_char.from_buffer(pages)) % size == 0
"""
GUARDED = "tests/drivers/cpu/test_guard_pages.py"
TESTS = (
    *("tests/abi/test_startup.py", "tests/abi/test_threads.py", "tests/abi/test_mixed.py"),
    *("tests/abi/test_hardware_buffer.py", "tests/abi/hostile/test_forks.py"),
    *("tests/abi/hostile/test_threads.py", "tests/native/test_pool.py"),
    *("tests/memory/test_huge_pages.py", "tests/runtime/test_memory_desc.py"),
    *("tests/drivers/cpu/test_mapped_weights.py", "tests/drivers/cpu/test_memory_planner.py"),
    *("tests/drivers/isolated/test_memory.py", "tests/drivers/cpu/test_cache.py"),
    "tests/abi/test_bad_input.py::test_rules[objects]",
    "tests/abi/test_bad_input.py::test_rules_on[memories-nnapi-cpu]",
    *(
        f"{GUARDED}::test_nothing_outside_an_operand_is_touched[{family}]"
        for family in ("joining", "padding", "softmax")
    ),
    f"{GUARDED}::test_a_touched_page_is_noticed",
)
"""Of start-up, forks, threads, memories, cached models and guard pages."""
QUICK = ("tests/abi/test_startup.py::test_fork", TESTS[-1])
VECTORS = (["--file", "V1_1/*"], "static,memory,cache")
"""Arguments of their runner, and the checks."""
SHOWS_A_DEFECT = "behind_the_end"
COPIES = BUILD / "pages"
"""The files that are used; INSIDE is where they are in the root."""
INSIDE = "/pages"


def check(setting: Setting) -> Outcome:
    """Whether everything is aligned for such pages, and works with them."""
    files = [*programs([setting.root / SITE, setting.root / "examples", MADE / "lib"])]
    wrong = [*badly_aligned(files)]
    aligned = f"{len(files)} files aligned for pages of 64 KB: {'; '.join(wrong) or 'ok'}"
    outcomes = [Outcome(bool(files) and not wrong, aligned)]
    copy_files(setting.root)
    for size in SIZES[-1:] if setting.is_quick else SIZES:
        outcomes.append(check_size(setting, size))
        print(outcomes[-1].text, flush=True)
    return together(outcomes)


def copy_files(root: Path) -> None:
    """Copies of the wheel's libraries, of the examples, and of what is built of the checkout; the
    program that shows the defect.
    """
    shutil.rmtree(COPIES, ignore_errors=True)
    folders = {"lib": root / SITE / "nnapi_shim/lib", "examples": root / "examples", "build": MADE}
    for name, folder in folders.items():
        shutil.copytree(folder, COPIES / name)
    for path in programs([COPIES]):
        os.truncate(path, -(-path.stat().st_size // LARGEST_PAGE) * LARGEST_PAGE)
    source = Path(__file__).with_name(f"{SHOWS_A_DEFECT}.c")
    run([f"{TRIPLET}-gcc", "-Wall", "-O1", source, "-o", COPIES / SHOWS_A_DEFECT])


def check_size(setting: Setting, size: int) -> Outcome:
    """Whether everything works with pages of a size; prints what QEMU does wrong."""
    page, title = {SETTING: str(size)}, f"pages of {size >> 10} KB"
    mounts = {INSIDE: COPIES}
    for command in (["python3", "-c", PROBE, str(size)], [f"{INSIDE}/{SHOWS_A_DEFECT}"]):
        code, printed = output(enter(setting.root, command, setting.tier, mounts, **page))
        if code:
            return Outcome(False, f"QEMU does not have {title}: {printed.strip()}")
    print(defect(size, printed), flush=True)
    mounts = {LIBRARIES: COPIES / "lib", EXAMPLES: COPIES / "examples"}
    outcomes = [
        check_examples(setting, mounts, **page),
        tests_with(setting, QUICK if setting.is_quick else TESTS, COPIES / "build", **page),
    ]
    if not setting.is_quick and CONFORMANCE.is_dir():
        arguments, checks = VECTORS
        outcomes.append(run_vectors(setting, "vectors", checks, arguments, mounts, **page))
    outcome = together(outcomes)
    return Outcome(outcome.passed, f"{title}: {outcome.text}")


def defect(size: int, refused: str) -> str:
    """A line for what the program has printed."""
    where = f"behind the end of a file in its last page, of {size >> 10} KB"
    if not refused.strip():
        return f"system calls take memory {where}"
    return (
        f"QEMU is at fault: system calls refuse memory (EFAULT) {where}, which Linux does not; "
        "copies of all libraries, which zeros make longer, are used"
    )


def programs(folders: Iterable[Path]) -> Iterator[Path]:
    """Libraries and programs for aarch64 in folders."""
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix != ".o":
            with path.open("rb") as stream:
                is_elf = stream.read(4) == b"\x7fELF"
                if is_elf and ELFFile(stream)["e_machine"] == "EM_AARCH64":
                    yield path


def badly_aligned(paths: Iterable[Path]) -> Iterator[str]:
    """What a kernel with pages of 64 KB does not load: segments that are not a multiple of them
    away from where they are in the file.
    """
    for path in paths:
        with path.open("rb") as stream:
            loaded = [
                part for part in ELFFile(stream).iter_segments() if part["p_type"] == "PT_LOAD"
            ]
            least = min(part["p_align"] for part in loaded)
            if least < LARGEST_PAGE:
                yield f"{path} is aligned for pages of {least >> 10} KB"
