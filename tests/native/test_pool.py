"""The threads that help runs, without Python: under ThreadSanitizer, where the compiler has it."""

import os
import subprocess

import pytest

from tests.memory.sanitizing import NATIVE, POOL_SOURCES, ROOT, THREAD, reason_it_does_not_work
from tests.waiting import HANGS_S

SOURCES = [ROOT / "tests" / "native" / "pool.c", *POOL_SOURCES]


def compiled(folder, *more):
    flags = [] if reason_it_does_not_work(THREAD) else THREAD.all_flags.split()
    path = folder / "pool"
    command = ["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra", *flags]
    command += [f"-I{ROOT / 'include'}", f"-I{NATIVE}", *more, *map(str, SOURCES), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("pool"))


def succeeds(*command):
    environment = THREAD.environment | {"PATH": ""}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("what", ["beside", "fail", "forks", "unhelped"])
def test_the_pool(program, what):
    """Tiles run once and in order, failures are those of one thread, children go on."""
    succeeds(program, what, "10")


@pytest.mark.parametrize("source", ["capacity", "list"])
def test_workers_on_slow_processors_leave_the_last_tiles(tmp_path, source):
    """As the kernel tells of them: the capacity of each, or a list of those of half the speed."""
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        pytest.skip("one processor")
    fast, slow = processors
    if source == "capacity":
        for processor in os.sched_getaffinity(0):
            (tmp_path / f"cpu{processor}").write_text("800\n")
        (tmp_path / f"cpu{slow}").write_text("200\n")
    (tmp_path / "slow").write_text(f"{slow}-{slow},4000-5000\n")
    program = compiled(
        tmp_path,
        f'-DNN_CAPACITY_FILE="{tmp_path}/cpu%d"',
        f'-DNN_SLOW_FILE="{tmp_path}/slow"',
    )
    succeeds(program, "hybrid", "5", str(fast), str(slow), "4" if source == "capacity" else "2")
