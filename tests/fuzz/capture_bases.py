"""Captures to be changed: short ones, which together have every function of the vocabulary.

They are cut out of the capture of tests/memory/every_function.c: for each function a call that went
well, or any, and those in front of it that it needs. Two more are of programs that tests/capture
has, and one of a computation that goes on for some 50 ms after it was started.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.recording import container
from nnapi_shim.recording.vocabulary import PARAMETERS

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"
TESTS = ROOT / "tests"

Entry = dict[str, Any]


class Base(NamedTuple):
    """A capture as lists and dicts: its manifest, its lines, its arrays by name.

    text: manifest and lines as JSON, of which copies are made quickly. handles: what may be one.
    """

    name: str
    manifest: dict[str, Any]
    entries: list[Entry]
    arrays: dict[str, bytes]
    text: tuple[str, str]
    handles: list[str]


def _made(name: str, manifest: Any, entries: list[Entry], arrays: dict[str, bytes]) -> Base:
    text = json.dumps(manifest), json.dumps(entries)
    actual = re.findall(r'"([a-z ]+ [0-9]+|0x[0-9a-f]+)"', text[1])
    return Base(name, manifest, entries, arrays, text, sorted(set(actual)))


def bases(folder: Path) -> list[Base]:
    """All of them; the programs are compiled and run in this folder."""
    whole = _of(folder, "every_function", ["memory/every_function"], "nnapi-cpu", "1")
    actual = {name: _cut(whole, name) for name in PARAMETERS}
    unique = {tuple(e["call"] for e in base.entries): base for base in actual.values() if base}
    memory = _of(folder, "memory", ["capture/program"], "memory")
    plain = _of(folder, "plain", ["capture/program"])
    return [*unique.values(), memory, plain, _slow(folder)]


def covered(actual: list[Base]) -> set[str]:
    """The functions that are called."""
    return {entry["function"] for base in actual for entry in base.entries if "function" in entry}


def _of(folder: Path, name: str, sources: list[str], *arguments: str) -> Base:
    """What a C program of the tests is captured as."""
    program, file = folder / name, folder / f"{name}.zip"
    command = ["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-Wl,--no-as-needed"]
    command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'companion'}"]
    command += [f"-I{TESTS / 'abi'}", *(str(TESTS / f"{source}.c") for source in sources)]
    command += ["-o", str(program), f"-L{LIBRARIES}", "-lneuralnetworks", "-lnativewindow", "-lm"]
    subprocess.run(command, check=True)
    _captured([str(program), *arguments], file)
    return _base(name, file)


def _slow(folder: Path) -> Base:
    """A computation that is started, waited for and freed."""
    file = folder / "slow.zip"
    _captured([sys.executable, "-m", "tests.fuzz.slow"], file)
    return _base("slow", file)


def _captured(command: list[str], file: Path) -> None:
    settings = {"LD_LIBRARY_PATH": str(LIBRARIES), "NNAPI_SHIM_CAPTURE": str(file)}
    settings |= {"PATH": os.environ["PATH"], "NNAPI_SHIM_LOG": "silent"}
    subprocess.run(command, env=settings, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _base(name: str, file: Path) -> Base:
    from nnapi_shim.recording.members import members_of

    members = members_of(str(file), file.read_bytes())
    lines = [
        json.loads(line)
        for part in sorted(members)
        if part.startswith("calls-")
        for line in bytes(members[part]).splitlines()
    ]
    arrays = {part: bytes(data) for part, data in members.items() if part.startswith("arrays/")}
    return _made(name, json.loads(bytes(members[container.MANIFEST])), lines, arrays)


def _handles(value: Any) -> set[str]:
    """All texts that may be handles."""
    if isinstance(value, dict):
        return {name for item in value.values() for name in _handles(item)}
    if isinstance(value, list):
        return {name for item in value for name in _handles(item)}
    return {value} if isinstance(value, str) and value[-1:].isdigit() and " " in value else set()


def _cut(whole: Base, function: str) -> Base | None:
    """A call of a function and those that it needs; None where there is none."""
    calls: dict[int, list[Entry]] = {}
    for entry in whole.entries:
        calls.setdefault(entry["call"], []).append(entry)
    numbers = [n for n, lines in calls.items() if lines[0]["function"] == function]
    well = [n for n in numbers if calls[n][-1].get("result") in (0, None)]
    if not numbers:
        return None
    cuts = [_needed(calls, number) for number in (well or numbers)[:20]]
    kept = min(cuts, key=len)
    names = json.dumps([line for number in sorted(kept) for line in calls[number]])
    arrays = {name: data for name, data in whole.arrays.items() if name in names}
    lines = [line for number in sorted(kept) for line in calls[number]]
    return _made(function, whole.manifest, lines, arrays)


def _needed(calls: dict[int, list[Entry]], last: int) -> set[int]:
    kept, waiting = {last}, [last]
    while waiting:
        lines = calls[waiting.pop()]
        expected = {name for line in lines for name in _handles(line.get("arguments"))}
        for number, others in calls.items():
            name = others[0]["function"]
            if number >= last or number in kept or name.endswith("_free"):
                continue
            made = _handles([line.get("results") for line in others])
            own = next(iter(others[0]["arguments"].values()), None)
            if others[-1].get("result") == 0 and (made & expected or own in expected):
                kept.add(number)
                waiting.append(number)
    return kept
