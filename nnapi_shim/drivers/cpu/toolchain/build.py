"""Compile all kernels ahead of time: one library per instruction-set tier, `libnnapi_kernels_*.so`.

Each family of kernels is an object file that is compiled again only when one of the files it
imports has changed, by workers: processes that compile for one tier, because what the emitters of
micro-kernels write depends on it, and take one family after another, longest first.
What is built here is what the JIT (jit.py) would compile; only numba's internals are different.

    python -m nnapi_shim.drivers.cpu.toolchain.build [--out build/lib] [--tiers best | TIER ...]
"""

import argparse
import ast
import errno
import hashlib
import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu import kernels
from nnapi_shim.drivers.cpu.isa import (
    DEFAULT_TIERS,
    NATIVE_TIERS,
    TIERS,
    platform_machine,
    processor,
)
from nnapi_shim.drivers.cpu.kernels import FAMILIES
from nnapi_shim.drivers.cpu.program.library import (
    SYMBOL_PREFIX,
    VERSION_SYMBOL,
    library_name,
    processor_tiers,
)
from nnapi_shim.drivers.cpu.toolchain.progress import Progress

PACKAGE = Path(__file__).parents[3]
HARDENING = PACKAGE / "native" / "flags"
COMPILERS = ("numba", "llvmlite")


def build(
    out: str | Path, tiers: Sequence[str] | None = None, objects: str | Path | None = None
) -> None:
    """Bring the kernel libraries in the folder `out` up to date.

    tiers: all of this architecture's own by default; "best" is the best that this processor runs.
    objects: folder of the object files, by default `kernels` beside `out`.
    Ends the program with one line where that cannot be done. What was compiled by then is kept.
    """
    out = Path(out)
    objects = Path(objects) if objects else out.parent / "kernels"
    tiers = (
        processor_tiers()[:1]
        if tiers and "best" in tiers
        else list(tiers or reversed(DEFAULT_TIERS))
    )
    began = time.monotonic()
    with _errors_as_messages(out):
        out.mkdir(parents=True, exist_ok=True)
        for tier in tiers:
            (objects / tier).mkdir(parents=True, exist_ok=True)
        digests = {family: _digest(family) for family in FAMILIES}
        jobs = [
            Job(tier, family, digests[family])
            for tier in tiers
            for family in sorted(FAMILIES, key=_weight, reverse=True)
            if not _is_current(family, digests[family], objects / tier)
        ]
        if jobs:
            _try_linker(objects)
            _compile_all(jobs, objects)
        linked = [_link_tier(objects / tier, out / library_name(tier)) for tier in tiers]
    if any(linked):
        print(f"kernels: {', '.join(tiers)} built in {time.monotonic() - began:.0f} s", flush=True)


@contextmanager
def _errors_as_messages(out: Path) -> Iterator[None]:
    """Turns errors of the machine into one line that says what to do."""
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


# Workers


WEIGHTS = {
    "activation": 4.4, "binary": 9.2, "comparison": 3.6, "conversion": 1.5, "depthwise": 4.0,
    "depthwise_quantized": 3.5,
    "detection": 3.4, "gemm": 5.6, "lstm": 3.0, "lstm_quantized": 2.7, "lookup": 1.6,
    "matmul": 2.0, "normalization": 2.7, "packing": 2.9, "pooling": 4.0, "proposal": 1.8,
    "reduction": 4.2, "resize": 2.2, "roi": 5.2, "rnn": 1.7, "sampling": 0.6, "selection": 1.8,
    "softmax": 2.8, "strided": 9.0, "topk": 2.0, "unary": 2.2,
    "winograd": 2.5,
}  # fmt: skip
"""Family -> seconds that it takes, roughly; tells what to begin with, and how much is left."""


def _weight(family: str) -> float:
    return WEIGHTS.get(family, 0.5)


class Job(NamedTuple):
    """A family to compile for a tier.

    digest: of its sources, taken before the worker that compiles it has started. A source that is
        edited later thus has another digest than the stamp, whether the worker imported it before
        or after the edit.
    """

    tier: str
    family: str
    digest: str


class _Worker:
    """A process that compiles families of a tier; one line in is a family and the digest of its
    sources, one line out its end.
    """

    def __init__(self, tier: str, folder: Path) -> None:
        cpu, features = processor(TIERS[tier])
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": cpu,
            "NUMBA_CPU_FEATURES": features,
            "NUMBA_DISABLE_JIT": "0",
            "NNAPI_SHIM_BUILD_TIER": tier,
            # All that was found here: with pip, requirements lie in folders of this build alone.
            "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)]),
        }
        self.tier, self.folder, self.family = tier, folder, ""
        self.process: Any = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.build", "--worker", tier, str(folder)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # it is the build that is interrupted, and ends its workers
        )

    def send(self, job: Job) -> None:
        self.family = job.family
        self.process.stdin.write(f"{job.family} {job.digest}\n")
        self.process.stdin.flush()

    def receive(self) -> None:
        """The end of its family; raises what went wrong there."""
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            by = " (was it killed for want of memory?)" if code == -signal.SIGKILL else ""
            raise SystemExit(
                f"kernels: {self.family} could not be compiled for tier {self.tier}: the compiler "
                f"ended with {code}{by}"
            )
        code, where = json.loads(answer)
        if code:
            raise OSError(code, os.strerror(code), where)

    def end(self) -> None:
        """Ends it, whatever it does; what it has half written goes."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        for half in self.folder.glob(f"*.{self.process.pid}"):
            half.unlink(missing_ok=True)


def _compile_all(jobs: list[Job], objects: Path) -> None:
    """Compile one family after the other, on all processors."""
    slots = min(len(os.sched_getaffinity(0)), len(jobs))
    progress = Progress("kernels", [_weight(job.family) for job in jobs], slots)
    waiting = list(jobs)
    workers: dict[Any, _Worker] = {}

    def next_job(idle: _Worker | None) -> None:
        if waiting:
            job = waiting.pop(0)
            if idle is None or idle.tier != job.tier:
                if idle is not None:
                    idle.end()
                idle = _Worker(job.tier, objects / job.tier)
            with suppress(BrokenPipeError):  # it has ended: take says so
                idle.send(job)
            workers[idle.process.stdout] = idle
            selector.register(idle.process.stdout, selectors.EVENT_READ)
        elif idle is not None:
            idle.end()

    with selectors.DefaultSelector() as selector, progress:
        try:
            for _ in range(slots):
                next_job(None)
            while workers:
                for key, _ in selector.select(timeout=0.5):
                    selector.unregister(key.fileobj)
                    worker = workers[key.fileobj]
                    worker.receive()
                    del workers[key.fileobj]
                    progress.done(_weight(worker.family), f"{worker.tier} {worker.family}")
                    next_job(worker)
                progress.show()
        finally:
            for worker in workers.values():
                worker.end()


def _link_tier(folder: Path, library: Path) -> bool:
    """Link a tier's objects if they are newer than the library; whether it was necessary."""
    objects = [folder / f"{family}.o" for family in FAMILIES]
    current = library.exists() and _linked(folder) == _parts()
    if current and all(o.stat().st_mtime <= library.stat().st_mtime for o in objects):
        return False
    _link(folder, library)
    return True


# What an object file depends on


def _sources(family: str) -> list[Path]:
    """The files of this device that a family of kernels imports, itself included."""
    paths: dict[str, Path] = {}
    todo = [f"{kernels.__name__}.{family}"]
    todo += [f"{__package__}.{file}" for file in ("kernel", "build", "compiling")]
    while todo:
        name = todo.pop()
        if name in paths or not name.startswith("nnapi_shim.drivers.cpu."):
            continue
        folder = PACKAGE.parent.joinpath(*name.split("."))
        path = next(filter(Path.exists, (folder.with_suffix(".py"), folder / "__init__.py")), None)
        if path is None or name == kernels.__name__:  # a name in a module; the list of families
            continue
        paths[name] = path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                todo.append(node.module)
                todo.extend(f"{node.module}.{item.name}" for item in node.names)
    return sorted(paths.values())


def _digest(family: str) -> str:
    digest = hashlib.sha256()
    for compiler in COMPILERS:
        digest.update(version(compiler).encode())
    for path in _sources(family):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_current(family: str, digest: str, folder: Path) -> bool:
    code, stamp = folder / f"{family}.o", folder / f"{family}.stamp"
    if not code.exists() or not stamp.exists():
        return False
    return stamp.read_text() == f"{digest} {code.stat().st_size}"


def _parts() -> list[str]:
    """What a library is linked from, and how."""
    return [
        VERSION_SYMBOL,
        *FAMILIES,
        *(Path(f[1:]).read_text() if f[0] == "@" else f for f in FLAGS),
    ]


def _linked(folder: Path) -> list[str]:
    stamp = folder / "linked.json"
    return json.loads(stamp.read_text()) if stamp.exists() else []


# In a worker


def _work(tier: str, folder: Path, lines: Iterable[str]) -> None:
    """Compile the family of each line; prints [0, ""] after each, or the number of an error and
    its file.
    """
    from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler

    compiler = FamilyCompiler(TIERS[tier])
    for family, digest in map(str.split, lines):
        try:
            code = compiler.object_code(family)
            _replace(folder / f"{family}.o", code)
            # Only now: without a stamp an object is not used.
            _replace(folder / f"{family}.stamp", f"{digest} {len(code)}".encode())
            answer = [0, ""]
        except OSError as error:
            answer = [error.errno or errno.EIO, str(error.filename or folder)]
        print(json.dumps(answer), flush=True)


# Linking


FLAGS = [
    "-shared",
    "-fPIC",
    "-O2",
    "-g0",
    "-nostdlib",
    "-Wl,-z,defs",
    "-Wl,--gc-sections",
    *(
        f"@{HARDENING / kind}{machine}"
        for kind in ("compile", "link", "library")
        for machine in ("", f"-{platform_machine()}")
        if Path(f"{HARDENING / kind}{machine}").exists()
    ),
]


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or "cc")


def _try_linker(folder: Path) -> None:
    """Link a tiny library, before the long part: says what is missing if that fails."""
    with tempfile.TemporaryDirectory(dir=folder) as where:
        _run_linker([], Path(where), Path(where, "tiny.so"))


def _run_linker(inputs: Sequence[str], folder: Path, library: Path) -> None:
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: {SYMBOL_PREFIX}*; local: *; }};\n")
    mark = folder / "version.c"
    mark.write_text(f"int {VERSION_SYMBOL}(void);\nint {VERSION_SYMBOL}(void) {{ return 0; }}\n")
    command = [*_compiler(), *FLAGS, f"-Wl,--version-script={exports}", "-o", str(library)]
    try:
        subprocess.run(
            [*command, *inputs, str(mark), "-lm", "-lc"], check=True, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise SystemExit(
            f"kernels: there is no C compiler {command[0]}; install one (Debian: apt install gcc "
            "libc6-dev), or name it with CC"
        ) from None
    except subprocess.CalledProcessError:
        if shutil.disk_usage(folder).free < 4 << 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(library)) from None
        raise SystemExit(
            f"kernels: {' '.join(_compiler())} could not link {library.name} (see above); it has "
            "to be a C compiler for this machine with its C library (Debian: apt install gcc "
            "libc6-dev)"
        ) from None


def _link(folder: Path, library: Path) -> None:
    """All objects into one library; fails on a symbol that neither libm nor libc has."""
    fresh = library.with_suffix(f".{os.getpid()}")
    try:
        _run_linker([str(folder / f"{family}.o") for family in FAMILIES], folder, fresh)
        fresh.replace(library)
    finally:
        fresh.unlink(missing_ok=True)
    _replace(folder / "linked.json", json.dumps(_parts()).encode())


def _replace(path: Path, data: bytes) -> None:
    """Write a file such that nobody ever sees half of it."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _end(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog=__spec__.name, description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/lib"), help="folder of libraries")
    parser.add_argument(
        "--tiers",
        nargs="*",
        choices=["best", *NATIVE_TIERS],
        help="default: all of this architecture's own; best: the best that this processor runs",
    )
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        tier, folder = options.worker
        _work(tier, Path(folder), sys.stdin)
    else:
        signal.signal(signal.SIGTERM, _end)
        build(options.out, options.tiers)


if __name__ == "__main__":
    main()
