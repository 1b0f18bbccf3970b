"""Measures the devices of this machine, so that models are divided by times and not by guesses.

Every device computes the same small models (probes.py) in turns, by the calls by which steps of a
divided model run. A time is the median of several runs. Compilations that take seconds come before
(calibrate_compilations.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import combinations
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np

from nnapi_shim import address, log
from nnapi_shim.api.devices import Choice, chosen
from nnapi_shim.drivers.cpu.cache.folder import Untrusted
from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, Priority
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.calibration import UNIT, Calibration, Change, MeasuredDevice, Point
from nnapi_shim.runtime.execution_plan import ExecutionPlan, ExecutionStep
from nnapi_shim.runtime.slicing import sliced
from nnapi_shim.runtime.work_kinds import (
    CONVOLUTION,
    FLOAT16,
    FLOAT32,
    KINDS,
    QUANT8,
    RELAXED,
    amount_of,
)
from nnapi_shim.settings import ENGINES
from nnapi_shim.tools.calibrate_compilations import Compilations, Job, takes
from nnapi_shim.tools.latency import no_collection
from nnapi_shim.tools.probes import LAYERS, PROBES, probe_model, probe_models, tiny_model, types_of
from nnapi_shim.tools.report import Progress, Report, untold
from nnapi_shim.version import __version__

REFERENCE = "nnapi-reference"
"""Not measured unless it is named: it is slow on purpose, and gets nothing that another runs."""

ROUNDS = 3
"""Rounds in which all devices run in turns."""
_FEWEST, _MOST = 2, 1000
"""Runs of a device in a round."""
_RUNNING = 0.5
"""Share of the time for runs; the rest is for compilations."""
_ORDER = (FLOAT32, QUANT8, FLOAT16, RELAXED)
"""The types that more models have come first: there may be no time for the last ones."""
_LARGE_BYTES = 100_000
"""Arguments from which on the time to hand them over can be told from noise."""
_LEAST_SHARE = 0.25
_SHORTEST = 1e-9
_LOOP_TIMEOUT_NS = 15 * 10**9


@dataclass(frozen=True)
class Calibrated(Report):
    """A calibration. path: its file. problem: why it does not hold here, or "". seconds: what the
    measurements took; None if the calibration was read.
    """

    path: str
    calibration: Calibration
    problem: str
    seconds: float | None = None


def calibrate(
    devices: Choice | None = None, *, seconds: float = 45.0, progress: Progress = untold
) -> Calibrated:
    """Measure devices and keep the result for this user.

    devices: those to measure; None: all but nnapi-reference. nnapi-cpu is always measured, as the
    figures that other devices declare are relative to it. seconds: wall-clock time for all of it
    but slow compilations, which get twice as much; what then is not compiled is left out.

    Raises BAD_DATA if there is only nnapi-cpu, or if the result cannot be kept.
    """
    listed = {device.name: device for device in device_manager.devices()}
    wanted = [
        *([d for n, d in listed.items() if n != REFERENCE] if devices is None else chosen(devices))
    ]
    if UNIT not in listed:
        raise bad_data(
            f"{UNIT} is not listed; it is measured with all others", "tool.calibrate.unit"
        )
    if listed[UNIT] not in wanted:
        wanted.append(listed[UNIT])
    if len(wanted) < 2:
        raise bad_data(
            f"{UNIT} is the only device, so there is nothing to divide; {ENGINES.name}=all lists "
            "the devices of installed engines (docs/engines.md)",
            "tool.calibrate.one-device",
        )
    file.require_writable()
    began = perf_counter()
    made = _Measuring(wanted, seconds, progress).calibration()
    file.write(made)
    return Calibrated(file.path(), made, "", perf_counter() - began)


def shown() -> Calibrated:
    """The calibration that is kept. Raises BAD_DATA if there is none, or it is damaged."""
    try:
        found = file.read()
    except FileNotFoundError:
        raise bad_data(
            f"there is no calibration {file.path()}; `nnapi-shim calibrate` makes one",
            "tool.calibrate.none",
        ) from None
    except (file.DamagedError, Untrusted, OSError) as error:
        raise bad_data(
            f"the calibration {file.path()} is not used: {error}", "tool.calibrate.damaged"
        ) from None
    return Calibrated(file.path(), found, file.stale(found, device_manager.devices()))


def forget() -> str:
    """Remove the calibration that is kept; returns what was done. Raises BAD_DATA."""
    return f"{file.path()} is removed" if file.remove() else f"there is no {file.path()}"


class _Times(NamedTuple):
    """The times of the models of a probe on a device, in seconds."""

    small: float
    one: float
    large: float


class _Bound:
    """A model bound to arguments on a device, by the calls of a step of a divided model."""

    def __init__(
        self, device: IDevice, model: hal.Model, cache: hal.CacheHandles | None = None
    ) -> None:
        """Compile it and run it once; raises NnapiError if the device fails."""
        prepared = _prepared(device, model, cache)
        self._arguments = Arguments(model)
        self.execution: IExecution = prepared.createReusableExecution(
            self._arguments.request, False, _LOOP_TIMEOUT_NS
        )
        self.samples: list[float] = []
        self.execution.compute(None)

    @property
    def time(self) -> float:
        """The median time of a run, in seconds."""
        return median(self.samples)

    def run(self, seconds: float) -> None:
        """Run it for so long, and note the times."""
        compute = self.execution.compute
        compute(None)
        until = perf_counter() + seconds
        for number in range(_MOST):
            began = perf_counter()
            if number >= _FEWEST and began >= until:
                break
            compute(None)
            self.samples.append(perf_counter() - began)


def _median(bound: Sequence[_Bound], seconds: float) -> float:
    """The median time of a run of all of these, in a row."""
    samples: list[float] = []
    until = perf_counter() + seconds
    while len(samples) < _FEWEST or (perf_counter() < until and len(samples) < _MOST):
        began = perf_counter()
        for each in bound:
            each.execution.compute(None)
        samples.append(perf_counter() - began)
    return median(samples[1:])


def _prepared(
    device: IDevice,
    model: hal.Model,
    cache: hal.CacheHandles | None = None,
) -> IPreparedModel:
    preference = ExecutionPreference.FAST_SINGLE_ANSWER
    return device.prepareModel(model, preference, Priority.MEDIUM, None, cache)


def _bound(
    device: IDevice, models: Sequence[hal.Model], cache: hal.CacheHandles | None = None
) -> list[_Bound]:
    """Models on a device; empty if it does not run one of them."""
    try:
        if takes(device, models):
            return [_Bound(device, model, cache) for model in models]
    except NnapiError as error:
        log.write("debug", f"{device.name} does not run a model of the calibration: {error}")
    return []


class Arguments:
    """Memory for the inputs and outputs of a model, with random inputs."""

    def __init__(self, model: hal.Model) -> None:
        main, random = model.main, np.random.default_rng(0)
        self._blocks: list[address.Block] = []
        self.request = hal.Request(
            tuple([self._argument(main.operands[index], random) for index in main.input_indexes]),
            tuple([self._argument(main.operands[index], None) for index in main.output_indexes]),
        )

    def _argument(
        self, operand: hal.Operand, random: np.random.Generator | None
    ) -> hal.RequestArgument:
        length = hal.byte_size(operand)
        block = address.Block(length)
        self._blocks.append(block)
        if random is not None:
            size = ELEMENT_BYTES[operand.type]
            values = random.uniform(-1, 1, length // size)
            kinds = {1: np.int8, 2: np.float16, 4: np.float32}
            data = (values * 100 if size == 1 else values).astype(kinds[size]).tobytes()
            address.write(block.address, data)
        return hal.RequestArgument(block.address, length, operand.dimensions)


def _is_measured(device: IDevice, type: str) -> bool:
    """Whether a device may have times of its own: processors compute relaxed float32 as float32."""
    return type != RELAXED or device.type is not DeviceType.CPU


class _Measuring:
    """The measurements of a calibration."""

    def __init__(self, devices: Sequence[IDevice], seconds: float, progress: Progress) -> None:
        self._devices = devices
        self._progress = progress
        self._until = perf_counter() + seconds
        self._parts = [(kind, type) for type in _ORDER for kind in KINDS if type in types_of(kind)]
        self._done = 0
        self._compilations = Compilations(seconds)

    def calibration(self) -> Calibration:
        """Measure all of it."""
        with no_collection(), TemporaryDirectory(prefix="nnapi_shim-") as folder:
            calls = self._calls()
            self._compile_ahead(folder)
            step = max(_step(self._device(UNIT)) - calls[UNIT], 0.0)
            changes = [*self._changes()]
            times: dict[str, dict[str, dict[str, tuple[Point, Point]]]] = {
                device.name: {} for device in self._devices
            }
            rates: dict[str, dict[str, list[float]]] = {device.name: {} for device in self._devices}
            for kind, type in self._parts:
                self._tell(f"{kind}, {type}")
                models = [model.finished for model in probe_models(kind, type)]
                for name, measured in self._measured(models, kind, type).items():
                    points, rate = _evaluated(models, measured, calls[name])
                    times[name].setdefault(kind, {})[type] = points
                    if rate is not None:
                        rates[name].setdefault(type, []).append(rate)
            self._tell("")
        self._compilations.warn(self._devices)
        devices = [
            MeasuredDevice(
                device.name,
                device.version,
                getattr(device, "is_isolated", False),
                calls[device.name],
                {type: median(each) for type, each in rates[device.name].items()},
                times[device.name],
            )
            for device in self._devices
        ]
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return Calibration(
            __version__, file.processor_name(), count(), now, step, tuple(devices), tuple(changes)
        )

    def _device(self, name: str) -> IDevice:
        return next(device for device in self._devices if device.name == name)

    def _tell(self, what: str) -> None:
        self._show(what)
        self._done += 1

    def _show(self, what: str) -> None:
        self._progress(self._done, len(self._parts) + 2, what)

    def _slot(self, bound: int) -> float:
        """Seconds for a round of one model on one device, if this many are bound."""
        left = max(0.0, self._until - perf_counter())
        parts = len(self._parts) + 3 - self._done
        return _RUNNING * left / max(1, parts * bound * ROUNDS)

    def _calls(self) -> dict[str, float]:
        """The time of a call of each device; devices that cannot run an ADD are left out."""
        self._tell("calls")
        tiny = tiny_model().finished
        bound = {device.name: _bound(device, [tiny]) for device in self._devices}
        for name in [name for name, several in bound.items() if not several]:
            log.warning(f"{name} is left out of the calibration: it does not add two numbers")
            del bound[name]
        self._devices = [device for device in self._devices if device.name in bound]
        self._in_turns([each for several in bound.values() for each in several])
        return {name: each.time for name, (each,) in bound.items()}

    def _compile_ahead(self, folder: str) -> None:
        """Compile what takes long; that is no time of the calibration."""
        began = perf_counter()
        jobs = [
            Job(device.name, *part)
            for part in self._parts
            for device in self._devices
            if _is_measured(device, part[1])
        ]

        def tell(job: Job) -> None:
            self._show(f"compiling for {job.device}: {job.kind}, {job.type}")

        self._compilations.ahead(self._devices, jobs, folder, tell)
        self._until += perf_counter() - began

    def _changes(self) -> Iterator[Change]:
        """What changes between devices take: alternating runs, beside those of each alone."""
        self._tell("changes between devices")
        model = probe_model(CONVOLUTION, FLOAT32, PROBES[CONVOLUTION].large, LAYERS).finished
        bound = {
            device.name: self._compiled(device, [model], CONVOLUTION, FLOAT32)
            for device in self._devices
        }
        pairs = [*combinations([name for name, several in bound.items() if several], 2)]
        for one, other in pairs:
            (first,), (second,) = bound[one], bound[other]
            seconds = self._slot(3 * len(pairs)) * ROUNDS
            alone = [_median([each], seconds) for each in (first, second)]
            both = _median([first, second], seconds)
            yield Change(one, other, max(0.0, both - sum(alone)) / 2)

    def _measured(self, models: Sequence[hal.Model], kind: str, type: str) -> dict[str, _Times]:
        """The times of a probe, by device; without those that do not run it."""
        bound = {
            device.name: self._compiled(device, models, kind, type)
            for device in self._devices
            if _is_measured(device, type)
        }
        self._in_turns([each for several in bound.values() for each in several])
        return {
            name: _Times(*[each.time for each in several])
            for name, several in bound.items()
            if several
        }

    def _compiled(
        self, device: IDevice, models: Sequence[hal.Model], kind: str, type: str
    ) -> list[_Bound]:
        """As _bound, if there is time for it."""
        job = Job(device.name, kind, type)
        return self._compilations.made(job, lambda cache: _bound(device, models, cache))

    def _in_turns(self, bound: Sequence[_Bound]) -> None:
        seconds = self._slot(len(bound))
        for _ in range(ROUNDS):
            for each in bound:
                each.run(seconds)


def _evaluated(
    models: Sequence[hal.Model], times: _Times, call: float
) -> tuple[tuple[Point, Point], float | None]:
    """A small and a large operation, and the time to hand over a byte of the large one's arguments
    if they are large enough.
    """
    small, one, large = models
    rest = max(times.large - call, _SHORTEST) / LAYERS
    each = max((times.large - times.one) / (LAYERS - 1), _LEAST_SHARE * rest)
    small_each = min(max(times.small - call, _SHORTEST) / LAYERS, each)
    points = (
        Point(_amount(small) / LAYERS, small_each),
        Point((_amount(large) - _amount(one)) / (LAYERS - 1), each),
    )
    main = one.main
    handed = sum(
        hal.byte_size(main.operands[index]) for index in (*main.input_indexes, *main.output_indexes)
    )
    first = each * _amount(one) / points[1].amount
    is_told = handed >= _LARGE_BYTES
    return points, max(0.0, times.one - call - first) / handed if is_told else None


def _amount(model: hal.Model) -> float:
    """The work of all operations."""
    works = (amount_of(model, model.main, item) for item in model.main.operations)
    return sum(work.amount for work in works if work is not None)


def _step(device: IDevice) -> float:
    """The time of a step of a divided model, its execution included."""
    model = tiny_model(LAYERS).finished
    steps = []
    for part in sliced(model, [[position] for position in range(LAYERS)]):
        prepared = _prepared(device, part.model)
        steps.append(ExecutionStep(device, prepared, part.inputs, part.outputs, part.operands))
    arguments = Arguments(model)
    plan = ExecutionPlan(model, steps)
    execution = plan.createReusableExecution(arguments.request, False, _LOOP_TIMEOUT_NS)
    samples = []
    for _ in range(200):
        began = perf_counter()
        execution.compute(None)
        samples.append(perf_counter() - began)
    return median(samples) / LAYERS
