"""Captures in which anything may be anything, repeated, loaded and written as source.

    python -m tests.fuzz.captures --minutes 5 [--captures 100000] [--seed 7] [--only 1234]

Each capture has a seed: a base (capture_bases.py) and some changes (capture_changes.py). It is
used in every way (capture_uses.py): refused with one line, or repeated on the devices, loaded as a
model, written as C, whose words are looked at and which is compiled now and then, and written as
Python, which always is. That happens in a forked process, of which one that crashes or hangs costs
one capture; what is wrong is told of once, with the seed that shows it: `--only SEED` uses that one
here, with the traceback. --address has the library and what Python allocates looked at by
AddressSanitizer. The last line says what was done; the exit status is 0 when nothing was found.
"""

import argparse
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

from nnapi_shim import folders
from tests.fuzz.capture_bases import ROOT, Base, bases
from tests.fuzz.capture_changes import Changed
from tests.fuzz.capture_uses import use

OF_A_PROCESS = 2000
"""Captures that one process uses: what it leaves behind goes with it."""
HANGS_SECONDS = 30
_STATE = struct.Struct("<4Q")
"""Seed that is in use, how many were used, refused, compiled."""
_SANITIZED = "FUZZ_SANITIZED_LIBRARIES"
"""Variable for the folder of the libraries that AddressSanitizer looks at, in the child alone."""
SLOW_SHARE = 0.01
"""Of captures made from the computation that takes a while."""


class Captures:
    """The bases, and a folder for the one that is in use."""

    def __init__(self, folder: Path, compile_every: int) -> None:
        self.found = bases(folder)
        self._folder = folder
        self._compile_every = compile_every

    def _base(self, choose: Random) -> Base:
        if choose.random() < SLOW_SHARE:
            return self.found[-1]
        weights = [len(base.entries) + 2 for base in self.found[:-1]]
        return choose.choices(self.found[:-1], weights)[0]

    def use(self, seed: int) -> str:
        """What became of the capture of a seed."""
        choose = Random(seed)
        return self._use(Changed(self._base(choose), choose), self.compiles(seed))

    def use_base(self, base: Base) -> str:
        """What becomes of one that is not changed."""
        return self._use(Changed(base, None), False)

    def _use(self, changed: Changed, compiles: bool) -> str:
        path = self._folder / "capture.zip"
        with path.open("wb") as file:
            changed.file(file.fileno())
        return use(path, compiles)

    def compiles(self, seed: int) -> bool:
        """Whether the C source of a seed's capture is compiled."""
        return bool(self._compile_every) and seed % self._compile_every == 0


def _work(
    captures: Captures, state: mmap.mmap, messages: int, first: int, end: float, most: int
) -> None:
    """In the child: capture after capture, until the time is up."""
    _, used, refused, compiled = _STATE.unpack_from(state)
    for seed in range(first, first + min(OF_A_PROCESS, most - used)):
        _STATE.pack_into(state, 0, seed, used, refused, compiled)
        try:
            was_refused = captures.use(seed) == "refused"
        except BaseException as error:
            os.write(messages, f"{seed}\t{_kind(error)}\n".encode(errors="replace"))
            was_refused = False
        used, refused = used + 1, refused + was_refused
        compiled += captures.compiles(seed) and not was_refused
        _STATE.pack_into(state, 0, seed + 1, used, refused, compiled)
        if time.monotonic() >= end:
            break


def _kind(error: BaseException) -> str:
    """What tells one defect from another, in a line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "nnapi_shim" in f.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {where}: {' '.join(str(error).split())[:300]}"


def _ended(child: int, state: mmap.mmap) -> int | None:
    """The child's status; None for one that hung, and was ended."""
    seen, since = -1, time.monotonic()
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        (seed, *_) = _STATE.unpack_from(state)
        if seed != seen:
            seen, since = seed, time.monotonic()
        elif time.monotonic() - since > HANGS_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)


class Done(NamedTuple):
    """What was done. wrong: how often; found: the first seed for each kind of defect."""

    captures: int
    refused: int
    compiled: int
    wrong: int
    found: dict[str, int]


def run(captures: Captures, first: int, seconds: float, most: int) -> Done:
    """Use captures until the time is up or there were so many."""
    captures.use_base(captures.found[-1])  # what is imported now is so in all children
    end = time.monotonic() + seconds
    state = mmap.mmap(-1, mmap.PAGESIZE)
    kinds: dict[str, int] = {}
    times: Counter[str] = Counter()
    with tempfile.TemporaryFile("w+b") as messages:
        _STATE.pack_into(state, 0, first, 0, 0, 0)
        while True:
            seed, used, refused, compiled = _STATE.unpack_from(state)
            if time.monotonic() >= end or used >= most:
                break
            child = os.fork()
            if child == 0:
                try:
                    _work(captures, state, messages.fileno(), seed, end, most)
                finally:
                    os._exit(0)
            status = _ended(child, state)
            if status != 0:
                at, used, refused, compiled = _STATE.unpack_from(state)
                why = "hangs" if status is None else f"status {status}: a crash"
                os.write(messages.fileno(), f"{at}\t{why}\n".encode())
                _STATE.pack_into(state, 0, at + 1, used + 1, refused, compiled)
        messages.seek(0)
        for line in messages.read().decode(errors="replace").splitlines():
            shown, _, kind = line.partition("\t")
            # A kind that Wrong tells of begins with its own words; any other with where it was.
            short = ": ".join(kind.split(": ")[: 1 + kind.startswith("Wrong")])
            times[short] += 1
            if times[short] == 1:
                kinds[kind] = int(shown)
    return Done(used, refused, compiled, sum(times.values()), kinds)


def _under_address_sanitizer(options: list[str]) -> int:
    """The same with libraries, and an allocator of Python, that AddressSanitizer looks at."""
    from tests.memory.sanitizing import ADDRESS, Sanitized, reason_it_does_not_work

    if reason := reason_it_does_not_work(ADDRESS):
        print(f"left out: {reason}")
        return 0
    built = Sanitized(ADDRESS, ROOT / "build" / "sanitized" / "address")
    preloaded = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    settings = {"LD_PRELOAD": preloaded, "PYTHONMALLOC": "malloc", "NNAPI_SHIM_LOG": "silent"}
    settings |= ADDRESS.environment | {_SANITIZED: str(built.folder)}
    command = [sys.executable, "-m", "tests.fuzz.captures", *options]
    return subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False).returncode


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.captures", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--captures", type=int, default=1 << 60, help="at most so many")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--only", type=int, metavar="SEED", help="one capture, with its traceback")
    parser.add_argument("--compile-every", type=int, default=60, help="0: never")
    parser.add_argument("--address", action="store_true")
    options = parser.parse_args()
    if options.address:
        return _under_address_sanitizer([word for word in sys.argv[1:] if word != "--address"])
    os.environ["NNAPI_SHIM_LOG"] = "silent"
    if _SANITIZED in os.environ:
        sanitized = [os.environ[_SANITIZED], *folders.library_folders()]
        folders.library_folders = lambda: sanitized
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        captures = Captures(Path(folder), options.compile_every)
        if options.only is not None:
            print(captures.use(options.only))
            return 0
        done = run(captures, options.seed, 60 * options.minutes, options.captures)
    for kind, seed in done.found.items():
        print(f"{kind}\n    again: python -m tests.fuzz.captures --only {seed}")
    print(
        f"seed {options.seed}: {done.captures} captures: {done.refused} refused, "
        f"{done.captures - done.refused} used, {done.compiled} compiled; {done.wrong} went wrong "
        f"in {len(done.found)} ways"
    )
    return 1 if done.found else 0


if __name__ == "__main__":
    sys.exit(main())
