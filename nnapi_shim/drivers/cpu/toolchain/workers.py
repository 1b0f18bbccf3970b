"""Worker processes of a kernel build. Each compiles families for one tier, one after another.

The tier is fixed per process because emitters and numba read it from the environment.
"""

import errno
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.isa import platform_machine, processor
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.toolchain.objects import PACKAGE, write_object
from nnapi_shim.drivers.cpu.toolchain.progress import Progress


class Job(NamedTuple):
    """A family to compile for a tier.

    digest: of its sources, taken before the worker that compiles it has started. A source that is
        edited later thus has another digest than the stamp, whether the worker imported it before
        or after the edit.
    seconds: about how long it takes. machine: the architecture.
    """

    tier: str
    family: str
    digest: str
    seconds: float
    machine: str


class Worker:
    """A worker process, as the build sees it. A request is a line with a family and the digest of
    its sources; the answer is a line with an error number and a file.
    """

    def __init__(self, tier: str, folder: Path, machine: str = platform_machine()) -> None:
        cpu, features = processor(TIERS[tier])
        if machine != platform_machine():
            # numba's own code generator is that of this machine, and generates nothing here.
            cpu, features = "generic", ""
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": cpu,
            "NUMBA_CPU_FEATURES": features,
            "NUMBA_DISABLE_JIT": "0",
            "NNAPI_SHIM_BUILD_TIER": tier,
            "NNAPI_SHIM_BUILD_MACHINE": machine,
            # The build's own path: pip keeps build requirements in folders of this build alone.
            "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)]),
        }
        self.tier, self.folder = tier, folder
        self.job: Job | None = None
        self.process: Any = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.workers", tier, str(folder)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C interrupts the build alone, which ends its workers
        )

    def send(self, job: Job) -> None:
        """Start a job."""
        self.job = job
        self.process.stdin.write(f"{job.family} {job.digest}\n")
        self.process.stdin.flush()

    def receive(self) -> Job:
        """Wait for the end of the job and return it; raises the worker's error."""
        assert self.job is not None
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            by = " (was it killed for want of memory?)" if code == -signal.SIGKILL else ""
            raise SystemExit(
                f"kernels: {self.job.family} could not be compiled for tier {self.tier}: the "
                f"compiler ended with {code}{by}"
            )
        code, where = json.loads(answer)
        if code:
            raise OSError(code, os.strerror(code), where)
        return self.job

    def end(self) -> None:
        """Kill the process and delete the files that it has not completed."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        for incomplete in self.folder.glob(f"*.{self.process.pid}"):
            incomplete.unlink(missing_ok=True)


def compile_all(jobs: Sequence[Job], objects: Path) -> None:
    """Run the jobs in order, one worker per processor; objects: the parent of the tiers' folders.

    A worker gets the next job when it has ended one, and is replaced if the job has another tier.
    """
    slots = min(len(os.sched_getaffinity(0)), len(jobs))
    progress = Progress("kernels", [job.seconds for job in jobs], slots)
    waiting = list(jobs)
    workers: dict[Any, Worker] = {}

    def next_job(idle: Worker | None) -> None:
        if waiting:
            job = waiting.pop(0)
            if idle is None or idle.tier != job.tier:
                if idle is not None:
                    idle.end()
                idle = Worker(job.tier, objects / job.tier, job.machine)
            with suppress(BrokenPipeError):  # the process has ended: receive reports it
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
                    job = worker.receive()
                    del workers[key.fileobj]
                    progress.done(job.seconds, f"{job.tier} {job.family}")
                    next_job(worker)
                progress.show()
        finally:
            for worker in workers.values():
                worker.end()


def serve(tier: str, folder: Path, requests: Iterable[str]) -> None:
    """The worker's side: compile the family of each line and answer [0, ""], or [error number,
    file].
    """
    from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler

    compiler = FamilyCompiler(TIERS[tier])
    for family, digest in map(str.split, requests):
        try:
            write_object(family, digest, compiler.object_code(family), folder)
            answer = [0, ""]
        except OSError as error:
            answer = [error.errno or errno.EIO, str(error.filename or folder)]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), sys.stdin)
