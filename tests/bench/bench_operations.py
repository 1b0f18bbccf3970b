"""`make bench-operations`: every operation and type on nnapi-cpu, one thread.

For a large and a small shape: time, GFLOP/s or GB/s, the share of the machine's copy bandwidth (of
as many bytes), and how many times faster it is than nnapi-reference and, where numpy has the same
operation for the same types, than numpy. All sides of a row are measured in turns in one run.

    python tests/bench/bench_operations.py [OPERATION ...]
"""

import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import Request, RequestArgument
from nnapi_shim.operations import registry
from tests.bench.numpy_operations import NUMPY
from tests.bench.operation_shapes import MOVES_DATA, SHAPES, bytes_moved, flops
from tests.operations.cases import Example, Use, example, uses
from tests.single import CONSTANT, INPUT, build, valued

SECONDS = 0.05
"""Time that each side of a row gets, about."""

SLOW = 0.2
"""Seconds of a call from which one is enough."""

BANDWIDTH_BAR = 0.5


class Prepared:
    """An example on a device, bound to arrays."""

    def __init__(self, device: Any, sample: Example) -> None:
        use = sample.use
        first_is = CONSTANT if use.names[0] in use.operation.values else INPUT
        constant = (
            use.operation.values or {"filter", "weights"} & {*use.names} or "LSTM" in str(use)
        )
        kinds = {"tensors_are": CONSTANT, "first_is": first_is} if constant else {}
        built = build(sample.use.operation.type, sample.inputs, sample.outputs, **kinds)
        prepared = device.prepareModel(
            built.model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
        )
        self.sources = [np.array(array) for array in built.inputs]
        graph = built.model.main
        shapes = sample.use.operation.shape(sample.op)
        if sample.use.operation.data_dependent:
            shapes = [tuple(size or 4096 for size in shape) for shape in shapes]
        self.outputs = [
            np.zeros(shape, STRUCT_CODES[graph.operands[index].type])
            for shape, index in zip(shapes, graph.output_indexes, strict=True)
        ]
        request = Request(
            tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in self.sources),
            tuple(
                RequestArgument(a.ctypes.data, a.nbytes, graph.operands[index].dimensions)
                for a, index in zip(self.outputs, graph.output_indexes, strict=True)
            ),
        )
        self.execution = prepared.createReusableExecution(request, False, 10**10)

    def __call__(self) -> None:
        """One run."""
        self.execution.compute(None)


def timed(action: Callable[[], Any]) -> Iterator[float]:
    """Seconds of one call, again and again; short calls are measured in groups."""
    began = time.perf_counter()
    action()
    once = time.perf_counter() - began
    while once > SLOW:
        yield once
    calls = max(1, int(0.002 / max(once, 1e-7)))
    while True:
        action()  # the side before has filled the caches with its own
        began = time.perf_counter()
        for _ in range(calls):
            action()
        yield (time.perf_counter() - began) / calls


def measured(actions: list[Callable[[], Any]]) -> list[float]:
    """Median seconds of each action, taken in turns."""
    clocks = [timed(action) for action in actions]
    times: list[list[float]] = [[next(clock)] for clock in clocks]
    began = time.perf_counter()
    while time.perf_counter() - began < SECONDS * len(actions) and len(times[0]) < 50:
        for clock, result in zip(clocks, times, strict=True):
            if sum(result) < 2 * SECONDS:  # slow sides get fewer turns
                result.append(next(clock))
    return [median(result) for result in times]


def copying(length: int) -> Callable[[], Any]:
    """A copy that reads and writes `length` bytes together."""
    source, target = np.zeros(max(1, length // 2), np.uint8), np.ones(max(1, length // 2), np.uint8)
    return lambda: np.copyto(target, source)


def row(use: Use, large: bool) -> tuple[str, bool]:
    """One line of the table, and whether it holds what it has to."""
    name = use.operation.type.name
    sample = example(use, np.random.default_rng(1), plan=SHAPES[name](use, large))
    ours, theirs = Prepared(CpuDevice(), sample), Prepared(ReferenceDevice(), sample)
    ours()
    length = bytes_moved(sample, ours.outputs)
    actions: list[Callable[[], Any]] = [ours, theirs, copying(int(length))]
    with_numpy = NUMPY.get(name)
    arrays = {n: valued(v).array for n, v in zip(use.names, sample.inputs, strict=True)}
    is_plain = use.variant.split("_")[0] in ("f32", "i32", "bool8", "b8")
    if with_numpy is not None and is_plain:
        arrays["inputs"] = [
            v.array for n, v in zip(use.names, sample.inputs, strict=True) if n == "inputs"
        ]
        actions.append(lambda: with_numpy(arrays))
    with np.errstate(all="ignore"):
        result = measured(actions)
    work = flops(sample)
    rate = (
        f"{work / result[0] / 1e9:8.2f} GFLOP/s"
        if work
        else f"{length / result[0] / 1e9:8.2f} GB/s"
    )
    share = result[2] / result[0]
    versus = result[3] / result[0] if len(result) > 3 else None
    slow = (versus is not None and versus < 1 and large) or result[1] < result[0]
    narrow = large and name in MOVES_DATA and share < BANDWIDTH_BAR and use.variant != "f16"
    marks = ("  SLOWER THAN NUMPY" if slow else "") + ("  BELOW HALF OF COPY" if narrow else "")
    text = (
        f"{name:<28} {use.variant:<10} {'large' if large else 'small'}  "
        f"{result[0] * 1e6:>10.1f} us "
        f"{rate:>17} {share:>6.2f} copy {result[1] / result[0]:>8.1f} x reference "
        + (f"{versus:>7.1f} x numpy" if versus is not None else "")
        + marks
    )
    return text, not marks


def main() -> None:
    """Print the table of the operations named, or of all."""
    expected = set(sys.argv[1:])
    seen: set[tuple[str, str]] = set()
    rows = held = 0
    for use in (use for declaration in registry() for use in uses(declaration, range(2, 3))):
        name = use.operation.type.name
        key = (name, f"{use.variant}{use.inputs[:1]}{use.outputs[:1]}")
        if key in seen or (expected and name not in expected):
            continue
        seen.add(key)
        for large in (True, False):
            try:
                text, good = row(use, large)
            except NnapiError as error:
                text, good = f"{use}: {error}", name == "DIV"
            print(text, flush=True)
            rows, held = rows + 1, held + good
    print(f"{rows} rows, {held} at or above their bars")


if __name__ == "__main__":
    main()
