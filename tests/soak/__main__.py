"""`python -m tests.soak --minutes N`: what looks for defects at random, each for some of the time.

races     executions whose inputs another thread writes to, on every tier
files     cached models, manifests and location files, changed
captures  captures that say what no program has done, a part of them under AddressSanitizer
faults    memory, threads, descriptors and writes of files that fail
calls     random calls of the C API, on one thread and on four
models    random models, with ordinary contents and with special ones
rewrites  models in which each pass of nnapi-cpu acts, with it and without it
forks     children of moments of the library's start
scarcity  programs with little memory left

Says what each does while it does it, what goes wrong at once, and at the end what was counted. The
exit status is 0 when nothing was found.
"""

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from nnapi_shim.drivers.cpu.program.library import processor_tiers

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"
HOSTILE = ROOT / "tests" / "abi" / "hostile"
GRACE_SECONDS = 300
"""What a command may take beyond its time; then it hangs."""


class Command(NamedTuple):
    """A command, what it sets in the environment, and how long it should take, in seconds."""

    words: list[str]
    settings: dict[str, str]
    seconds: float


class Part(NamedTuple):
    """commands: those for some seconds, one after another, or for ever. counted: what they count,
    as expressions whose group is a number in their output; all numbers found are added up.
    """

    share: float
    commands: Callable[[float], Iterator[Command]]
    counted: dict[str, str]


def _module(name: str, *options: object, **settings: str) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-m", name, *map(str, options)], settings


def races(seconds: float) -> Iterator[Command]:
    """Each tier for as long as the others."""
    tiers = processor_tiers()
    for tier in tiers:
        share = seconds / len(tiers)
        options = ("--minutes", share / 60)
        yield Command(*_module("tests.races", *options, NNAPI_SHIM_TIER=tier), share)


def files(seconds: float) -> Iterator[Command]:
    """One command."""
    yield Command(*_module("tests.fuzz.files", "--minutes", seconds / 60), seconds)


def captures(seconds: float) -> Iterator[Command]:
    """Most of the time as they are, then with AddressSanitizer; the second builds libraries."""
    for options, part in (((), 0.85), (("--address",), 0.15)):
        minutes = seconds * part / 60
        words, settings = _module("tests.fuzz.captures", "--minutes", minutes, *options)
        yield Command(words, settings, seconds * part)


def faults(seconds: float) -> Iterator[Command]:
    """One command."""
    yield Command(*_module("tests.faults", "--minutes", seconds / 60), seconds)


def calls(seconds: float) -> Iterator[Command]:
    """On one thread and on four, in turns."""
    for threads in cycle((1, 4)):
        yield Command(*_module("tests.fuzz", "--calls", 10_000, "--threads", threads), 60)


def models(seconds: float) -> Iterator[Command]:
    """With ordinary contents and with special ones, in turns."""
    for special in cycle(((), ("--special",))):
        first = random.randrange(1 << 40)
        seeds = f"{first}:{first + 200}"
        yield Command(*_module("tests.random_models", "--seeds", seeds, *special), 60)


def rewrites(seconds: float) -> Iterator[Command]:
    """Other models each time."""
    while True:
        first = random.randrange(1 << 40)
        options = ("--first", first, "--acted", 50)
        yield Command(*_module("tests.random_models.rewrites", *options), 60)


def _compiled(name: str) -> str:
    program = ROOT / "build" / "soak" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", f"-I{ROOT / 'include'}"]
    command += [str(HOSTILE / f"{name}.c"), "-o", str(program), f"-L{LIBRARIES}"]
    subprocess.run([*command, "-lneuralnetworks", f"-Wl,-rpath,{LIBRARIES}"], check=True)
    return str(program)


def forks(seconds: float) -> Iterator[Command]:
    """Other moments each time."""
    program = _compiled("forks")
    for device in cycle(("nnapi-cpu", "nnapi-reference")):
        step = str(random.randrange(100, 20_000))
        yield Command([program, device, "20", step], {"NNAPI_SHIM_LOG": "silent"}, 60)


def scarcity(seconds: float) -> Iterator[Command]:
    """From nothing to enough, in other steps each time."""
    program = _compiled("scarcity")
    for device, when, most in cycle(
        (
            ("nnapi-cpu", "start", 60),
            ("nnapi-reference", "memory", 400),
            ("nnapi-reference", "start", 400),
        )
    ):
        step = random.randrange(max(1, most // 20), most // 6)
        words = [program, device, when, str(step), str(most)]
        yield Command(words, {"NNAPI_SHIM_LOG": "silent"}, 60)


PARTS = {
    "races": Part(0.3, races, {"executions": r"(\d+) computed", "writes": r"(\d+) writes"}),
    "files": Part(0.15, files, {"files": r"(\d+) of (?:cache|sealed|manifest|location)"}),
    "captures": Part(
        0.3, captures, {"captures": r": (\d+) captures:", "compiled": r"(\d+) compiled"}
    ),
    "faults": Part(0.15, faults, {"faults": r"faults: (\d+)"}),
    "calls": Part(0.15, calls, {"calls": r"(\d+) calls in"}),
    "models": Part(0.1, models, {"models": r": (\d+) models,"}),
    "rewrites": Part(0.05, rewrites, {"rewritten": r"acted in (\d+) of"}),
    "forks": Part(0.05, forks, {"children": r"(\d+) of \d+"}),
    "scarcity": Part(0.05, scarcity, {"programs": r"(some of each)"}),
}


def run(command: Command, name: str) -> tuple[str, str]:
    """The output of a command, and what is wrong; "" if nothing is."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("NNAPI_", "DEBUG_NN"))}
    with tempfile.TemporaryFile("w+") as said:
        try:
            status = subprocess.run(
                command.words,
                env=settings | command.settings,
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                timeout=command.seconds + GRACE_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        said.seek(0)
        output = said.read()
    wrong = "hangs" if status is None else f"exit status {status}" if status else ""
    if name == "forks" and not wrong and re.search(r"^(\d+) of (?!\1$)", output, re.M):
        wrong = "a child hung or failed"
    if name == "scarcity" and re.search(r"^\d+ MiB: ", output, re.M):
        wrong = "a program was ended"
    return output, wrong


def soak(name: str, seconds: float) -> tuple[dict[str, int], int]:
    """Run a part; what was counted, and how often something was wrong."""
    part, counts, result = PARTS[name], dict.fromkeys(PARTS[name].counted, 0), 0
    end = time.monotonic() + seconds
    for command in part.commands(seconds):
        output, wrong = run(command, name)
        for what, expression in part.counted.items():
            for number in re.findall(expression, output):
                counts[what] += int(number) if number.isdigit() else 1
        if wrong:
            result += 1
            settings = "".join(f"{key}={value} " for key, value in command.settings.items())
            print(f"{name}: {wrong}: {settings}{shlex.join(command.words)}")
            print("\n".join(f"    {line}" for line in output.splitlines()[-30:]), flush=True)
        if time.monotonic() >= end:
            break
    return counts, result


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="some of them; all if none")
    arguments = parser.parse_args()
    names = arguments.parts or [*PARTS]
    whole = sum(PARTS[name].share for name in names)
    began, lines, result = time.monotonic(), [], 0
    for name in names:
        seconds = 60 * arguments.minutes * PARTS[name].share / whole
        print(f"{name}: {seconds:.0f} s", flush=True)
        part_began = time.monotonic()
        counts, wrong = soak(name, seconds)
        result += wrong
        messages = ", ".join(f"{number:,} {what}" for what, number in counts.items())
        lines.append(
            f"{name:9} {time.monotonic() - part_began:5.0f} s  "
            f"{messages}; {wrong or 'nothing'} found"
        )
    print("\n".join(lines))
    print(
        f"{(time.monotonic() - began) / 60:.1f} minutes, {result or 'nothing'} found",
    )
    return 1 if result else 0


if __name__ == "__main__":
    sys.exit(main())
