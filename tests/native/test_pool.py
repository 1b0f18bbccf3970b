"""The threads that help runs, without Python: under ThreadSanitizer, where the compiler has it."""

import subprocess

import pytest

from tests.memory.sanitizing import NATIVE, POOL_SOURCES, ROOT, THREAD, reason_it_does_not_work
from tests.waiting import HANGS_S

SOURCES = [ROOT / "tests" / "native" / "pool.c", *POOL_SOURCES]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    flags = [] if reason_it_does_not_work(THREAD) else THREAD.all_flags.split()
    path = tmp_path_factory.mktemp("pool") / "pool"
    command = ["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra", *flags]
    command += [f"-I{ROOT / 'include'}", f"-I{NATIVE}", *map(str, SOURCES), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.mark.parametrize("what", ["beside", "fail", "forks", "unhelped"])
def test_the_pool(program, what):
    """Tiles run once and in order, failures are those of one thread, children go on."""
    environment = THREAD.environment | {"PATH": ""}
    command = [program, what, "10"]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
