"""Runs the stories and looks at what is left behind by them."""

import ctypes
import faulthandler
import gc
import itertools
import random
import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nnapi_shim import handles
from tests.fuzz.calls import BrokenError, Calls, Log
from tests.fuzz.recipes import catalogue
from tests.fuzz.resources import FILE_NAME, Resources
from tests.fuzz.single import Single
from tests.fuzz.steps import Steps

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = str(ROOT / "build" / "lib" / "libneuralnetworks.so")
HANG_SECONDS = 60
GROWTH_BYTES = 24 << 20
"""How much larger the process may be at the end than after the first tenth of the calls."""
MOST_BYTES = 6 << 30
"""Of addresses: a model may ask for more than there is, and has to be refused then."""
ROUNDS = 10
WEIGHTS = {
    "build": 10,
    "compile": 12,
    "execute": 30,
    "make_memory": 6,
    "describe_memory": 3,
    "use_fence": 2,
    "ask_support": 2,
    "free": 12,
    "single": 120,
}
COMPARED_WEIGHTS = WEIGHTS | {"run_changed": 100}
"""Where devices are compared: more that gets as far as them."""


class Held(NamedTuple):
    """What a process holds."""

    handles: int
    descriptors: int
    mappings: int
    bytes: int


def held() -> Held:
    """What this process holds now."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    (rss,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return Held(
        sum(len(table) for table in handles._tables.values()),
        len(list(Path("/proc/self/fd").iterdir())),
        Path("/proc/self/maps").read_text().count(FILE_NAME),
        int(rss) * 1024,
    )


class Watchdog:
    """Ends the process with the stacks of all threads when no call returns for a while."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        before = -1
        while not self._ended.wait(1):
            if self._calls.count != before:
                before = self._calls.count
                faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join()
        faulthandler.cancel_dump_traceback_later()


class Fuzz:
    """Calls the library until enough calls are made; raises BrokenError where it is."""

    def __init__(self, seed: int, threads: int, log: Log, trace: str | None = None) -> None:
        self._seed = seed
        self._threads = threads
        self.calls = Calls(LIBRARY, log, trace)
        self._resources = Resources(LIBRARY)
        self._steps = Steps(self.calls, self._resources, catalogue(seed))
        self._single = Single(self.calls, self._resources)
        weights = WEIGHTS if trace is None else COMPARED_WEIGHTS
        self._names, self._weights = list(weights), list(weights.values())
        self._errors: list[BaseException] = []

    def step(self, number: int) -> None:
        """One story; it is the same for the same number and the same objects."""
        rng = random.Random(self._seed * 1_000_003 + number)
        self.calls.step = number
        name = rng.choices(self._names, self._weights)[0]
        if name == "single":
            self._single.call(rng)
            return
        wrong = rng.choice((0.0, 0.0, 0.0, 0.02, 0.1))
        getattr(self._steps, name)(rng, wrong)

    def run(self, count: int, numbers: Iterable[int] | None = None) -> list[Held]:
        """Make `count` calls; what is held after each round.

        numbers: the stories to tell in place of all.
        """
        rng = random.Random(self._seed)
        watchdog = Watchdog(self.calls)
        measured = []
        try:
            self._steps.find_devices(rng)
            self._warm_up(rng)
            measured.append(held())
            source = iter(itertools.count() if numbers is None else numbers)
            rounds = ROUNDS if numbers is None else 1
            for number in range(rounds):
                self._round(source, count * (number + 1) // rounds)
                self._steps.free_all(rng)
                self._resources.settle()
                measured.append(held())
        finally:
            watchdog.end()
            self._resources.close()
        self._check(measured)
        return measured

    def _warm_up(self, rng: random.Random) -> None:
        """Let everything that stays for ever come: threads and descriptors of the library."""
        for _ in range(20):
            self._steps.build(rng, 0)
            self._steps.compile(rng, 0)
            self._steps.execute(rng, 0)
        self._steps.free_all(rng)
        self._resources.settle()

    def _round(self, source: Iterator[int], limit: int) -> None:
        lock = threading.Lock()

        def work() -> None:
            try:
                while self.calls.count < limit and not self._errors:
                    with lock:
                        number = next(source, None)
                    if number is None:
                        return
                    self.step(number)
            except BaseException as error:
                self._errors.append(error)

        if self._threads == 1:
            work()
        else:
            threads = [threading.Thread(target=work) for _ in range(self._threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if self._errors:
            raise self._errors[0]

    def _check(self, measured: list[Held]) -> None:
        first, last = measured[0], measured[-1]
        for what in ("handles", "descriptors", "mappings"):
            before, after = getattr(first, what), getattr(last, what)
            if after != before:
                raise BrokenError(f"{before} {what} at the start, {after} at the end")
        growth = last.bytes - measured[1].bytes
        if len(measured) > 2 and growth > GROWTH_BYTES:
            raise BrokenError(f"memory has grown by {growth >> 20} MiB since the first round")


def report(fuzz: Fuzz, measured: list[Held], seconds: float) -> None:
    """What was done, in some lines."""
    calls = fuzz.calls
    tried, succeeded = sum(calls.made.values()), sum(calls.succeeded.values())
    print(
        f"{tried} calls in {seconds:.1f} s ({tried / seconds:.0f} per second), "
        f"{100 * succeeded / tried:.0f}% succeeded, {len(calls.made)} functions"
    )
    sizes = " ".join(f"{one.bytes >> 20}" for one in measured)
    print(f"memory after each round, in MiB: {sizes}")
    print(f"handles {measured[-1].handles}, descriptors {measured[-1].descriptors}, all as before")


def run(
    seed: int,
    threads: int,
    count: int,
    log: str,
    numbers: list[int] | None,
    trace: str | None = None,
) -> int:
    """Run in this process; its exit status."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    sys.setswitchinterval(0.0005)
    fuzz = Fuzz(seed, threads, Log(log), trace)
    began = time.monotonic()
    try:
        measured = fuzz.run(count, numbers)
    except BrokenError as error:
        print(f"broken: {error}", file=sys.stderr)
        return 1
    report(fuzz, measured, time.monotonic() - began)
    return 0
