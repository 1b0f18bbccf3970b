"""`make bench-large`: large networks with random weights beside peers; weights above 2 GB.

    python -m tests.bench.suite.large [time compiling mapped]

time: of each network time per run, peak memory and the start to the first result, in all runtimes;
PEERS, THREADS, ROUNDS and MODELS choose, as in `make bench-models`.
compiling: processor time to compile a stack of transformer blocks, by the number of blocks.
mapped: a model whose weights, in a file, are more than 2 GB.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module

import numpy as np

import nnapi_shim
from nnapi_shim.pages import PROT_READ
from nnapi_shim.runtime.memory import FdMemory
from tests.bench import models
from tests.bench.models.network import Network
from tests.bench.suite import machine
from tests.bench.suite.__main__ import numbers, peers
from tests.bench.suite.contestants import contestants
from tests.bench.suite.figures import OURS, figures
from tests.bench.suite.race import race
from tests.bench.suite.worker import peak

BLOCKS = (2, 4, 8, 16)
LAYERS, WIDTH = 9, 8192
"""Of the model with mapped weights: 2.4 GB."""


def times() -> None:
    """Each network in all runtimes, as rows of a table."""
    threads, (rounds,) = numbers("THREADS", "1"), numbers("ROUNDS", "3")
    wanted = [part for part in os.environ.get("MODELS", "").split(",") if part]
    runtimes = [OURS, *peers()]
    about = machine.about(runtimes, "")
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    print(
        "| model | runtime | threads | ms per run | start to first result, s | processor s | MB |"
    )
    print("|---|---|---|---|---|---|---|")
    chosen = [f"{name}_float32" for name in models.LARGE if not wanted or name in wanted]
    for contestant in contestants(chosen, _tell):
        base = contestant.name.removesuffix("_float32")
        _check_parameters(base)
        actual = figures(contestant, race(contestant, threads, rounds, runtimes, base, _tell))
        for each in actual.times:
            print(
                f"| {base} | {each.runtime} | {each.threads} | {1e3 * each.minimum:.0f} "
                f"| {each.cold_wall:.2f} | {each.cold_cpu:.2f} | {each.peak / 1e6:.0f} |",
                flush=True,
            )
        for runtime, why in actual.failed.items():
            print(f"| {base} | {runtime} | does not run it: {why} | | | | |", flush=True)
        for near in actual.nearness:
            print(f"largest difference to {near.runtime}, {near.threads}: {near.largest}")


def _check_parameters(name: str) -> None:
    """As many as published, where a normalisation has two of each channel, and is one here."""
    module = import_module(f"tests.bench.models.{name}")
    counted = _Counting()
    module.build(counted)
    found = counted.parameters + counted.normalised
    if found != module.PARAMETERS:
        raise SystemExit(f"{name} has {found} parameters; expected are {module.PARAMETERS}")


class _Counting(Network):
    """A network with zeros, which take no memory until they are read."""

    def random(self, shape, deviation):
        return np.zeros(shape, np.float32)


def compiling() -> None:
    """Of stacks of transformer blocks with 7 million weights each."""
    module = import_module("tests.bench.models.transformer_100m")
    print("blocks of a transformer: processor ms to compile them, and per block")
    for count in BLOCKS:
        network = Network()
        model = network.finish(*module.build(network, blocks=count))
        began = time.process_time()
        model.compile("nnapi-cpu")
        used = 1e3 * (time.process_time() - began)
        print(f"  {count:>3} blocks {used:8.0f} {used / count:8.1f}", flush=True)


def mapped() -> None:
    """In a process of its own, whose memory is that of the model."""
    subprocess.run([sys.executable, "-m", "tests.bench.suite.large", "_mapped"], check=True)


def _mapped() -> None:
    """A stack of dense layers whose weights are in one file; layer n multiplies by n + 1."""
    count = WIDTH * WIDTH
    with tempfile.TemporaryFile() as file:
        file.truncate(4 * LAYERS * count)
        for layer in range(LAYERS):  # diagonal matrices: a page of each row is written
            factor = np.float32(layer + 1).tobytes()
            for row in range(WIDTH):
                os.pwrite(file.fileno(), factor, 4 * (layer * count + row * (WIDTH + 1)))
        memory = FdMemory(4 * LAYERS * count, PROT_READ, file.fileno(), 0)
        model = nnapi_shim.Model()
        x = model.input("TENSOR_FLOAT32", (1, WIDTH))
        bias = model.constant(np.zeros(WIDTH, np.float32))
        for layer in range(LAYERS):
            weights = model.add_operand("TENSOR_FLOAT32", (WIDTH, WIDTH))
            place = 4 * layer * count, 4 * count
            model.runtime.set_operand_value_from_memory(weights.index, memory, *place)
            x = model.fully_connected(x, weights, bias)
        model.outputs(x)
        model.finish()
        began = time.monotonic()
        compilation = model.compile("nnapi-cpu")
        compiled = time.monotonic() - began
        given = np.linspace(-1, 1, WIDTH, dtype=np.float32).reshape(1, WIDTH)
        began = time.monotonic()
        result = compilation.run(given)
        ran = time.monotonic() - began
    factor = float(np.prod(np.arange(1, LAYERS + 1)))
    np.testing.assert_allclose(result, given * factor, rtol=1e-6)
    print(
        f"{4e-9 * LAYERS * count:.2f} GB of weights in a file: compiled in {compiled:.1f} s, "
        f"run in {ran:.2f} s; peak {peak() / 1e9:.2f} GB"
    )


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


PARTS = {"time": times, "compiling": compiling, "mapped": mapped}


def main() -> None:
    """Do the parts that are named, by default all."""
    if sys.argv[1:] == ["_mapped"]:
        _mapped()
        return
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
