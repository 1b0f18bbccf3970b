"""Compilations of a calibration: which come before it, and what there is no time for.

Devices that take seconds to compile a model compile all of them ahead, several together, on all
processors, while nothing is measured. Each device has a limit, then and beside the measurements.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns, perf_counter
from typing import NamedTuple, TypeVar

from nnapi_shim import log
from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.runtime.calibration import UNIT
from nnapi_shim.tools.probes import probe_models, tiny_model

_SHARE, _LEAST = 2.0, 10.0
"""For how many times the time of the calibration a device may compile, and the least seconds."""
_TOKEN = bytes(32)

Compiled = TypeVar("Compiled")


class Job(NamedTuple):
    """The models of a kind of work and a type, on a device."""

    device: str
    kind: str
    type: str


class Compilations:
    """What devices compile for a calibration of so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._most = max(_SHARE * seconds, _LEAST)
        self._caches: dict[str, hal.CacheHandles] = {}
        """Device that compiles slowly -> where it keeps what it has compiled."""
        self._seconds: dict[str, float] = {}
        """Device -> seconds for which it has compiled while devices were measured."""
        self._failed: set[Job] = set()
        self._left_out: set[Job] = set()
        """For which no time was left."""

    def ahead(
        self,
        devices: Sequence[IDevice],
        jobs: Sequence[Job],
        folder: str,
        tell: Callable[[Job], None],
    ) -> None:
        """Compile all models of devices that can compile several together, which compile slowly, on
        all processors; later compilations read what they have kept in the folder.
        """
        cache = hal.CacheHandles(folder, _TOKEN)
        end = perf_counter() + self._most
        end_ns = monotonic_ns() + int(self._most * 1e9)
        tiny = tiny_model().finished
        slow = {each.name: each for each in devices if _is_slow(each, tiny, cache, end_ns)}
        self._caches = dict.fromkeys(slow, cache)
        jobs = [job for job in jobs if job.device in slow]

        def compile(job: Job) -> None:
            device = slow[job.device]
            models = [model.finished for model in probe_models(job.kind, job.type)]
            try:
                if perf_counter() >= end:
                    self._left_out.add(job)
                elif takes(device, models):
                    _compile_together(device, models, cache, end_ns)
            except NnapiError as error:
                log.write(
                    "debug", f"{device.name} does not compile {job.kind}, {job.type}: {error}"
                )
                (self._failed if perf_counter() < end else self._left_out).add(job)

        pool = ThreadPoolExecutor(count())
        try:
            for job, _ in zip(jobs, pool.map(compile, jobs), strict=True):
                tell(job)
        finally:
            pool.shutdown(cancel_futures=True)

    def made(
        self, job: Job, compile: Callable[[hal.CacheHandles | None], list[Compiled]]
    ) -> list[Compiled]:
        """What `compile` gives with the cache of the device; empty if there is no time for it, or
        the job has failed.
        """
        took = self._seconds.get(job.device, 0.0)
        if took >= self._most and job.device != UNIT:
            self._left_out.add(job)
        if job in self._failed or job in self._left_out:
            return []
        began = perf_counter()
        result = compile(self._caches.get(job.device))
        self._seconds[job.device] = took + perf_counter() - began
        return result

    def warn(self, devices: Sequence[IDevice]) -> None:
        """Tell of what was left out."""
        for device in devices:
            jobs = [job for job in self._left_out if job.device == device.name]
            if jobs:
                log.warning(
                    f"{device.name} is measured without {len(jobs)} kinds and types of work, which "
                    f"it did not compile within {self._most:g} s; that is twice --seconds"
                )


def takes(device: IDevice, models: Sequence[hal.Model]) -> bool:
    """Whether a device supports all operations of these."""
    return all(all(device.getSupportedOperations(model)) for model in models)


def _compile_together(
    device: IDevice, models: Sequence[hal.Model], cache: hal.CacheHandles, end_ns: int
) -> bool:
    """Compile several models at once; False if the device cannot."""
    ask: Callable[..., bool] | None = getattr(device, "compileTogether", None)
    return ask is not None and ask(models, cache, end_ns)


def _is_slow(device: IDevice, tiny: hal.Model, cache: hal.CacheHandles, end_ns: int) -> bool:
    """Whether a device compiles several models at once: those do that take seconds for one."""
    try:
        return _compile_together(device, [tiny], cache, end_ns)
    except NnapiError:
        return False
