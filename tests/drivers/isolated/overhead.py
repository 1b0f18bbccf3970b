"""What an execution in a process of its own takes beyond one in the program.

    python -m tests.drivers.isolated.overhead [DEVICE of an engine] [--rounds N]

Without a device it takes that of misbehaving.py. In each round, both compute the same request, in
memory of descriptors (so that nothing is copied) and in other memory, in turns. "packets alone" is
the kernel's part: a packet to another process and back.
"""

import argparse
import os
import socket
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from nnapi_shim.drivers.adoption import ENGINE, MANIFEST, Found
from nnapi_shim.drivers.isolated.device import loaded
from nnapi_shim.drivers.isolated.sources import found
from nnapi_shim.hal.types import Request, RequestArgument
from tests.drivers.isolated.conftest import NAME, X, manifest, prepared
from tests.drivers.isolated.test_memory import memory

RUNS = 20


def packets():
    """A function that sends a packet to another process and waits for one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        while theirs.recv(100):
            theirs.send(b"S")
        os._exit(0)
    theirs.close()

    def there_and_back():
        ours.send(b"C" * 17)
        ours.recv(100)

    return there_and_back


def execution(device, copied):
    """A function that computes a request, bound once. copied: in memory without descriptors."""
    if copied:
        source, target = np.array(X), np.zeros(2, np.float32)
        kept, addresses = (source, target), (source.ctypes.data, target.ctypes.data)
    else:
        kept = memory(8, X.tobytes()), memory(8)
        addresses = (kept[0].map(), kept[1].map_for_output())
    arguments = [(RequestArgument(address, 8, (2,)),) for address in addresses]
    made = prepared(device).createReusableExecution(Request(*arguments), False, 0)

    def compute():
        assert kept
        made.compute(None)

    return compute


def source_of(device, folder):
    """Where a process finds the device: an engine, or the manifest of the one for tests."""
    if device:
        return device, (ENGINE, device.partition("-")[0])
    return NAME, (MANIFEST, str(manifest(Path(folder))))


def here(name, source):
    """The device in this process."""
    (entry,) = [each for each in found(source) if each.name == name]
    assert isinstance(entry, Found)
    return entry.load()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default="")
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        name, source = source_of(arguments.device, folder)
        inside, apart = here(name, source), loaded(name, source)
        ways = {
            "in the program": execution(inside, copied=False),
            "in its process": execution(apart, copied=False),
            "in its process, copied": execution(apart, copied=True),
            "packets alone": packets(),
        }
        times = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, compute in ways.items():
                started = time.perf_counter_ns()
                for _ in range(RUNS):
                    compute()
                times[way].append((time.perf_counter_ns() - started) / RUNS / 1000)
        for way, each in times.items():
            low, base = min(each), min(times["in the program"])
            middle = statistics.median(each)
            print(f"{name} {way}: least {low:.1f} us, {low - base:+.1f}; median {middle:.1f}")


if __name__ == "__main__":
    main()
