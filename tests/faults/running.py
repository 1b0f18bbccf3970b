"""Compiles the program and what is preloaded into it, and runs it."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
LIBRARIES = ROOT / "build" / "lib"

DEVICES = ("nnapi-cpu", "nnapi-reference")
KINDS = ("memory", "thread", "descriptor", "write")


def starts(device: str, kind: str) -> tuple[str, ...]:
    """How far the library has come when something fails. Python in its start, numpy in its import
    crash where single allocations fail; before both the library makes sure of memory instead
    (tests/abi/hostile/test_scarcity.py).
    """
    if kind != "memory":
        return "cold", "warm", "loaded"
    return ("loaded",) if device == "nnapi-reference" else ("warm", "loaded")


class Program(NamedTuple):
    """The compiled program and a folder for what it keeps."""

    path: Path
    folder: Path


class Counts(NamedTuple):
    """What the program says at its end, and the lines about defects."""

    calls: int
    faults: int
    computed: int
    refused: int
    defects: tuple[str, ...]


def compiled(folder: Path) -> Program:
    """The program, in a folder that has nothing else in it."""
    library, program = folder / "libfaults.so", folder / "program"
    command = ["cc", "-O1", "-g", "-Wall", "-Wextra"]
    subprocess.run(
        [*command, "-shared", "-fPIC", HERE / "faults.c", "-o", library, "-ldl"], check=True
    )
    # Linked first, it stands in front of the C library; no variable is needed for that.
    linked = [library, f"-L{LIBRARIES}", "-lneuralnetworks"]
    paths = [f"-Wl,-rpath,{folder}:{LIBRARIES}"]
    subprocess.run(
        [*command, f"-I{ROOT / 'include'}", HERE / "program.c", "-o", program, *linked, *paths],
        check=True,
    )
    return Program(program, folder)


def run(
    program: Program, device: str, kind: str, start: str, first: int, step: int, most: int
) -> Counts:
    """Let calls first, first + step, ... of a kind fail, one in each run."""
    cache, state = program.folder / "cache", program.folder / "state"
    for folder in (cache, state):
        folder.mkdir(mode=0o700, exist_ok=True)
    numbers = map(str, (first, step, most))
    done = subprocess.run(
        [program.path, device, kind, start, *numbers, cache],
        env={"NNAPI_SHIM_LOG": "silent", "XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    *defects, last = done.stdout.splitlines() or [""]
    result = re.fullmatch(
        r"calls (\d+) faults (\d+) computed (\d+) refused (\d+) defects (\d+)", last
    )
    if done.returncode or result is None:
        said = done.stdout + done.stderr
        raise AssertionError(f"{device} {kind} {start}: {done.returncode} {said}")
    names = [path.name for path in cache.iterdir()]
    left = [name for name in names if not re.fullmatch(r"nnapi_shim-[0-9a-f]{64}", name)]
    defects += [f"{device} {kind} {start}: left in the cache folder: {name}" for name in left]
    return Counts(*map(int, result.groups()[:4]), tuple(defects))
