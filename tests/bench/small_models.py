"""Small trained models in Python, here and in LiteRT: a run with its arrays, and the first result.

NNAPI_SHIM_THREADS=1 python -m tests.bench.small_models    (one thread, as LiteRT has here)
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np

import nnapi_shim

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
SMALL_US = 100.0
"""Microseconds of a run in LiteRT below which a model is small."""
ROUNDS, ROUND_SECONDS = 60, 0.003
PROCESSES = 9
FIRST = ("hello_world_float", "kws_dscnn_int8", "ad01_float")
"""Models whose first result is measured."""

Call = Callable[[], Any]

OURS = """
import sys
import numpy as np
import nnapi_shim
compilation = nnapi_shim.Compilation(nnapi_shim.load(sys.argv[1]))
inputs = [np.zeros([size or 1 for size in i.dimensions], sys.argv[2]) for i in compilation.inputs]
compilation.run(*inputs)
"""
LITERT = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
for item in interpreter.get_input_details():
    interpreter.set_tensor(item["index"], np.zeros(item["shape"], sys.argv[2]))
interpreter.invoke()
[interpreter.get_tensor(item["index"]) for item in interpreter.get_output_details()]
"""


class Figures(NamedTuple):
    """Ours and LiteRT's: medians of rounds in turns, the least of them, and the ratios of both."""

    name: str
    ours: float
    litert: float
    ours_least: float
    litert_least: float

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return self.ours / self.litert

    @property
    def ratio_of_least(self) -> float:
        """Of the least; other programs on the machine disturb it less."""
        return self.ours_least / self.litert_least


def _litert(path: Path) -> tuple[Call, list[np.ndarray[Any, Any]]]:
    """A run by LiteRT: inputs set, invoked, outputs taken as new arrays; and its inputs."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    inputs = [np.zeros(item["shape"], item["dtype"]) for item in details]
    indexes = [item["index"] for item in details]
    outputs = [item["index"] for item in interpreter.get_output_details()]

    def call() -> list[Any]:
        for index, value in zip(indexes, inputs, strict=True):
            interpreter.set_tensor(index, value)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return call, inputs


def _microseconds(call: Call, runs: int) -> float:
    began = time.perf_counter_ns()
    for _ in range(runs):
        call()
    return (time.perf_counter_ns() - began) / runs / 1000


def _figures(
    name: str, ours: Callable[[], float], litert: Callable[[], float], rounds: int
) -> Figures:
    one, other = zip(*[(ours(), litert()) for _ in range(rounds)], strict=True)
    return Figures(name, median(one), median(other), min(one), min(other))


def runs() -> list[Figures]:
    """Microseconds of a run of each small model."""
    actual = []
    for path in sorted(MODELS.glob("*.tflite")):
        peer, inputs = _litert(path)
        peer()
        alone = min(_microseconds(peer, 5) for _ in range(3))
        if alone > SMALL_US:
            continue
        compilation = nnapi_shim.Compilation(nnapi_shim.load(path))
        if len(compilation.inputs) != len(inputs):  # states are inputs in LiteRT
            continue
        number = max(1, int(ROUND_SECONDS * 1e6 / alone))
        call = lambda run=compilation.run, inputs=inputs: run(*inputs)  # noqa: E731
        call()
        actual.append(
            _figures(
                path.stem,
                lambda call=call, number=number: _microseconds(call, number),
                lambda peer=peer, number=number: _microseconds(peer, number),
                ROUNDS,
            )
        )
    return actual


def _process_ms(script: str, path: Path, dtype: str) -> float:
    """Milliseconds of processor time of a process that prints nothing."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = os.fork()
    if not process:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os.execve(sys.executable, [sys.executable, "-c", script, str(path), dtype], environment)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{path.name}: a process failed with {os.waitstatus_to_exitcode(status)}")
    return 1000 * (used.ru_utime + used.ru_stime)


def first_results() -> list[Figures]:
    """Milliseconds of processor time of a process: imports, load, compile, one run."""
    actual = []
    for name in FIRST:
        path = MODELS / f"{name}.tflite"
        dtype = "int8" if name.endswith("int8") else "float32"
        actual.append(
            _figures(
                name,
                lambda path=path, dtype=dtype: _process_ms(OURS, path, dtype),
                lambda path=path, dtype=dtype: _process_ms(LITERT, path, dtype),
                PROCESSES,
            )
        )
    return actual


def main() -> None:
    """Print both tables."""
    if not MODELS.is_dir():
        print("small models beside LiteRT: ../shared/models is not here")
        return
    for title, unit, actual, bar in (
        ("a run in Python with its arrays, beside LiteRT's set, invoke, get", "us", runs(), 1.0),
        ("start of Python to the first result, processor time", "ms", first_results(), 2.0),
    ):
        print(title)
        print(f"  {'medians (least)':<24} {'nnapi_shim':>22} {'LiteRT':>22}  ratio (of least)")
        for item in actual:
            verdict = "ok" if item.ratio <= bar else "ABOVE THE BAR"
            print(
                f"  {item.name:<24} {item.ours:9.2f} ({item.ours_least:7.2f}) {unit}"
                f" {item.litert:10.2f} ({item.litert_least:7.2f}) {unit}"
                f"  {item.ratio:5.2f} ({item.ratio_of_least:.2f})  at most {bar:g}  {verdict}"
            )
        if actual:
            medians = geometric_mean(item.ratio for item in actual)
            least = geometric_mean(item.ratio_of_least for item in actual)
            print(f"  geometric means of {len(actual)}: {medians:.2f} ({least:.2f}) x LiteRT")


if __name__ == "__main__":
    main()
