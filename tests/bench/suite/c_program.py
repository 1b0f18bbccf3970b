"""A C program from its start to the first result of a trained model, by default MobileNet v2, which
`Model.save` has written as source, in an empty environment.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import nnapi_shim
from nnapi_shim.api.view import GraphView
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from tests.bench.suite.contestants import MADE, ROOT, TRAINED

MODEL = "mobilenet_v2_224_quant"
LIBRARIES = ROOT / "build" / "lib"
OTHER = 15e6
"""Bytes that a process has in memory whatever its model is."""


@dataclass(frozen=True)
class Start:
    """Seconds, bytes; the least of all starts. needed: by weights, and where most of what lies
    between operations is alive.
    """

    wall: float
    cpu: float
    peak: int
    needed: int

    @property
    def allowed(self) -> float:
        """Bytes that the process may take."""
        return 1.5 * self.needed + OTHER


def start(rounds: int, name: str = MODEL, inputs: Sequence[Any] | None = None) -> Start | None:
    """Start that of a trained model so many times; None where the model or a compiler is not
    there. inputs: all of the model, or None for the first of its file.
    """
    if not (TRAINED / f"{name}.tflite").exists():
        return None
    model = nnapi_shim.load(TRAINED / f"{name}.tflite")
    try:
        program = _compiled(model)
    except OSError:
        return None
    if inputs is None:
        with np.load(TRAINED / f"{name}.npz") as cases:
            inputs = [cases["in0_0"]]
    files = [MADE / f"input_{at}.bin" for at in range(len(inputs))]
    for array, file in zip(inputs, files, strict=True):
        array.tofile(file)
    actual = [_once([str(program), *map(str, files)]) for _ in range(rounds)]
    wall, cpu, peak = (min(values) for values in zip(*actual, strict=True))
    return Start(wall, cpu, int(peak), _needed(model.graph))


def _compiled(model: nnapi_shim.Model) -> Path:
    MADE.mkdir(parents=True, exist_ok=True)
    source, program = MADE / "program.c", MADE / "program"
    model.save(source, overwrite=True)
    options = ["-DNNAPI_MAIN", f"-I{ROOT / 'include'}", f"-L{LIBRARIES}", "-lneuralnetworks"]
    subprocess.run(["cc", str(source), "-o", str(program), *options], check=True)
    return program


_WATCHED = """
import os, sys, time
began = time.monotonic()
quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], dict(os.environ), file_actions=quiet)
_, status, used = os.wait4(process, 0)
print(time.monotonic() - began, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process that starts another: one that is forked begins with the memory of its parent."""


def _once(command: list[str]) -> tuple[float, ...]:
    environment = {"LD_LIBRARY_PATH": str(LIBRARIES), "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"}
    watched = [sys.executable, "-I", "-S", "-c", _WATCHED, *command]
    messages = subprocess.run(watched, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(float, messages.stdout.split()))


def _needed(graph: GraphView) -> int:
    """Bytes of constants, and the largest sum of what lies between operations at one of them."""
    constants, between = 0, {}
    for operand in graph.operands:
        if operand.value is not None:
            constants += operand.value.nbytes
        elif operand.producer is not None and operand.consumers:
            last = max(item.number for item in operand.consumers)
            size = prod(operand.dimensions) * ELEMENT_BYTES[operand.type]
            between[operand.producer.number, last, operand.index] = size
    alive = [
        sum(size for (first, last, _), size in between.items() if first <= item.number <= last)
        for item in graph.operations
    ]
    return constants + max(alive, default=0)
