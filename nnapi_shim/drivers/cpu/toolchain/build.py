"""Compile all kernels ahead of time: one library per instruction-set tier, `libnnapi_kernels_*.so`.

Each family of kernels is an object file (objects.py), compiled again only when one of the files
that it imports has changed. Worker processes compile families in parallel, longest first
(workers.py); the C compiler links them (linking.py). The JIT (jit.py) compiles the same kernels;
only numba's internals differ.

    python -m nnapi_shim.drivers.cpu.toolchain.build [--out build/lib] [--tiers usable | TIER ...]
"""

import argparse
import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nnapi_shim.drivers.cpu.isa import PORTABLE, architecture_of, own_tiers, platform_machine
from nnapi_shim.drivers.cpu.isa.every import ARCHITECTURES, TIERS
from nnapi_shim.drivers.cpu.kernels import FAMILIES
from nnapi_shim.drivers.cpu.program.library import library_name, processor_tiers
from nnapi_shim.drivers.cpu.toolchain.linking import link_tier, try_linker
from nnapi_shim.drivers.cpu.toolchain.load import slowdown
from nnapi_shim.drivers.cpu.toolchain.objects import digest_of, is_current
from nnapi_shim.drivers.cpu.toolchain.workers import Job, compile_all

SECONDS = {
    "activation": 4.4, "binary": 9.2, "comparison": 3.6, "conversion": 1.5, "depthwise": 4.0,
    "depthwise_quantized": 3.5,
    "detection": 3.4, "gemm": 5.6, "input_rows": 1.0,
    "lstm": 3.0, "lstm_quantized": 2.7, "lookup": 1.6,
    "matmul": 2.0, "normalization": 2.7, "packing": 2.9, "pooling": 4.0, "proposal": 1.8,
    "reduction": 4.2, "resize": 2.2, "roi": 5.2, "rnn": 1.7, "sampling": 0.6, "selection": 1.8,
    "softmax": 2.8, "strided": 9.0, "topk": 2.0, "unary": 2.2,
    "winograd": 2.5, "winograd_4x4": 2.5, "winograd_quantized": 2.5,
}  # fmt: skip
"""Family -> processor time, about: decides the order, and estimates how much time is left."""
SHORT = 0.5
"""Seconds of a family that is not in the table."""
OF_THIS_PROCESSOR = {"best", "usable"}


def build(
    out: str | Path,
    tiers: Sequence[str] | None = None,
    objects: str | Path | None = None,
    machine: str = "",
) -> None:
    """Bring the kernel libraries in the folder `out` up to date.

    tiers: all of this architecture's own by default; "usable" are those that this processor runs,
    "best" is the best of them.
    objects: folder of the object files, by default `kernels` beside `out`.
    machine: architecture to build for, by default this one.
    Ends the program with a message of one line on failure, and keeps the object files that are
    complete.
    """
    machine = machine or platform_machine()
    out = Path(out)
    objects = Path(objects) if objects else out.parent / "kernels"
    if tiers and not OF_THIS_PROCESSOR.isdisjoint(tiers):
        tiers = processor_tiers()[:1] if "best" in tiers else processor_tiers()
    tiers = list(tiers or reversed(own_tiers(architecture_of(machine))))
    began = time.monotonic()
    with _errors_as_messages(out):
        out.mkdir(parents=True, exist_ok=True)
        for tier in {*tiers, *(TIERS[tier].base or tier for tier in tiers)}:
            (objects / tier).mkdir(parents=True, exist_ok=True)
        if jobs := _outdated(tiers, objects, machine):
            try_linker(objects, machine)
            compile_all(jobs, objects)
        linked = [
            link_tier(
                {family: objects / TIERS[tier].compiled_for(family) for family in FAMILIES},
                objects / tier,
                out / library_name(tier),
                machine,
            )
            for tier in tiers
        ]
    if any(linked):
        print(f"kernels: {', '.join(tiers)} built in {time.monotonic() - began:.0f} s", flush=True)


def estimate(objects: Path, machine: str = "") -> float:
    """About how many seconds the kernels of all tiers take that `objects` lacks."""
    machine = machine or platform_machine()
    jobs = _outdated(own_tiers(architecture_of(machine)), objects, machine)
    return sum(job.seconds for job in jobs) / len(os.sched_getaffinity(0))


def _outdated(tiers: Sequence[str], objects: Path, machine: str) -> list[Job]:
    """Jobs for the object files that are missing or older than their sources."""
    digests = {family: digest_of(family) for family in FAMILIES}
    slower = slowdown(len(os.sched_getaffinity(0)))
    seconds = {family: SECONDS.get(family, SHORT) * slower for family in FAMILIES}
    longest_first = sorted(FAMILIES, key=seconds.__getitem__, reverse=True)
    objects_of = {
        (TIERS[tier].compiled_for(family), family): None
        for tier in tiers
        for family in longest_first
    }
    return [
        Job(tier, family, digests[family], seconds[family], machine)
        for tier, family in sorted(objects_of, key=lambda each: each[0])
        if not is_current(family, digests[family], objects / tier)
    ]


@contextmanager
def _errors_as_messages(out: Path) -> Iterator[None]:
    """Turns errors of the machine into one line with a remedy."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(
            "kernels: interrupted; what is compiled is kept, the same command goes on from there"
        ) from None
    except OSError as error:
        raise SystemExit(f"kernels: {_remedy(error, out)}") from None


def _remedy(error: OSError, out: Path) -> str:
    where = error.filename or out
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk of {where} is full; make room (100 MB are plenty) and start again"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return f"{where} cannot be written ({error.strerror}); choose another folder with --out"
    return f"{where}: {error.strerror}"


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog=__spec__.name, description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/lib"), help="folder of libraries")
    parser.add_argument(
        "--machine",
        default=platform_machine(),
        choices=[*dict.fromkeys((platform_machine(), *(each.machine for each in ARCHITECTURES)))],
        help="architecture to build for; default: this one",
    )
    parser.add_argument(
        "--tiers",
        nargs="*",
        choices=[*sorted(OF_THIS_PROCESSOR), *TIERS],
        help="default: all of this architecture's own; usable: those that this processor runs; "
        "best: the best of them",
    )
    options = parser.parse_args()
    allowed = [*own_tiers(architecture_of(options.machine)), PORTABLE]
    if options.machine == platform_machine():
        allowed.extend(sorted(OF_THIS_PROCESSOR))
    for tier in options.tiers or ():
        if tier not in allowed:
            parser.error(
                f"{tier} is no tier of {options.machine}: choose from {', '.join(allowed)}"
            )
    signal.signal(signal.SIGTERM, _interrupt)
    build(options.out, options.tiers, machine=options.machine)


if __name__ == "__main__":
    main()
