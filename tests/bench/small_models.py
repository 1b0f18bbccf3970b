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
ROUNDS, ROUND_SECONDS = 15, 0.02
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
    """The median of ours and of LiteRT's rounds, in turns, and of the ratios of each turn."""

    name: str
    ours: float
    litert: float
    ratio: float


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


def _figures(name: str, ours: Callable[[], float], litert: Callable[[], float]) -> Figures:
    pairs = [(ours(), litert()) for _ in range(ROUNDS)]
    ratio = median(one / other for one, other in pairs)
    return Figures(name, median(p[0] for p in pairs), median(p[1] for p in pairs), ratio)


def runs() -> list[Figures]:
    """Microseconds of a run of each small model."""
    found = []
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
        found.append(
            _figures(
                path.stem,
                lambda call=call, number=number: _microseconds(call, number),
                lambda peer=peer, number=number: _microseconds(peer, number),
            )
        )
    return found


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
    found = []
    for name in FIRST:
        path = MODELS / f"{name}.tflite"
        dtype = "int8" if name.endswith("int8") else "float32"
        found.append(
            _figures(
                name,
                lambda path=path, dtype=dtype: _process_ms(OURS, path, dtype),
                lambda path=path, dtype=dtype: _process_ms(LITERT, path, dtype),
            )
        )
    return found


def main() -> None:
    """Print both tables."""
    if not MODELS.is_dir():
        print("small models beside LiteRT: ../shared/models is not here")
        return
    for title, unit, found, bar in (
        ("a run in Python with its arrays, beside LiteRT's set, invoke, get", "us", runs(), 1.0),
        ("start of Python to the first result, processor time", "ms", first_results(), 2.0),
    ):
        print(title)
        for name, ours, litert, ratio in found:
            verdict = "ok" if ratio <= bar else "ABOVE THE BAR"
            print(
                f"  {name:<28} {ours:9.2f} {unit}  LiteRT {litert:9.2f} {unit}  {ratio:5.2f} x"
                f"  (at most {bar:g})  {verdict}"
            )
        if found:
            mean = geometric_mean(item.ratio for item in found)
            print(f"  geometric mean of {len(found)}: {mean:.2f} x LiteRT")


if __name__ == "__main__":
    main()
