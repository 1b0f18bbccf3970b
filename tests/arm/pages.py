"""Pages of 16 and 64 KB in the emulated root, which QEMU_PAGESIZE sets; how files are aligned.

What QEMU does then: the size is what programs ask for (sysconf, AT_PAGESZ), and new mappings begin
at and are rounded to such pages. It refuses neither mprotect and munmap of parts of a page nor
other offsets in a file, and files in /proc show pages of 4 KB. What lies behind the
end of a file, in the last page that is mapped of it, can be used, but not given to system calls
(EFAULT): the static variables of a library without debug symbols lie there. So the wheel's library
does not start with pages of 64 KB in QEMU, and that of the checkout is used, which is longer.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.arm.checkout import MADE, PROJECT, PYTEST, inside, succeeds
from tests.arm.emulated_root import CONFORMANCE, SITE, VECTORS, enter, output

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
THE_DEVICE = {"DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"}
RUN_VECTORS = (
    *(f"{VECTORS}/run.py", "--lib", f"{PROJECT}/build/lib/libneuralnetworks.so", "--fail-list"),
    *("--timeout", "600", "-j", "2", "--file", "V1_1/*", "--checks", "static,memory,cache"),
)


def check(root: Path, tier: str, quick: bool) -> bool:
    """Whether everything is aligned for such pages, and works with them."""
    files = [*programs([root / SITE, root / "examples", MADE / "lib"])]
    wrong = [*badly_aligned(files)]
    print(f"{len(files)} files aligned for pages of 64 KB: {'; '.join(wrong) or 'ok'}", flush=True)
    good = bool(files) and not wrong
    for size in SIZES[-1:] if quick else SIZES:
        settings = {SETTING: str(size)}
        code, printed = output(enter(root, ["python3", "-c", PROBE, str(size)], tier, **settings))
        if code:
            print(f"QEMU does not have pages of {size >> 10} KB: {printed}", flush=True)
            return False
        passed = succeeds(inside(root, tier, [*PYTEST, *(QUICK if quick else TESTS)], **settings))
        if not quick and CONFORMANCE.is_dir():
            passed &= succeeds(inside(root, tier, RUN_VECTORS, **settings, **THE_DEVICE))
        print(f"{tier}: pages of {size >> 10} KB: {'ok' if passed else 'FAILED'}", flush=True)
        good &= passed
    return good


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
