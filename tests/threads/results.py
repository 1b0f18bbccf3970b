"""Results of models as digests, for several numbers of threads; one process is one tier.

python -m tests.threads.results [--seeds 0:200]   prints {model: {threads: digest}} as JSON
"""

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np

import nnapi_shim
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering import depthwise_tiles, gemm_blocking, winograd
from nnapi_shim.errors import NnapiError
from nnapi_shim.tools.inputs import made_up
from tests.random_models.comparison import sizes
from tests.random_models.generator import OPERATIONS, random_model
from tests.random_models.graph import assemble
from tests.random_models.running import run

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
RUNS = 3
"""Runs of a model, each from the states that the one before it left."""


def of_file(path: Path) -> str:
    """The digest of what all runs of a model file gave."""
    compilation = nnapi_shim.load(path).compile()
    inputs = made_up(compilation.inputs, 3)
    digest = hashlib.sha256()
    for _ in range(RUNS):
        results = compilation.run(*inputs)
        for result in results if isinstance(results, tuple) else (results,):
            digest.update(np.asarray(result).tobytes())
    return digest.hexdigest()


def of_seed(seed: int) -> str:
    """The digest of the outputs of a random model."""
    graph = random_model(seed, None, OPERATIONS, False)
    ends = graph.ends()
    arrays = run(CpuDevice(), assemble(graph, ends), sizes(graph, ends))
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def share_everything() -> None:
    """From now on a step has as many tiles as it can be cut into, be it ever so short."""
    for name in ("SERIAL_NS", "SERIAL_NS_FOR_MANY"):
        setattr(gemm_blocking, name, 0)
    for name in ("TILE_NS", "TILE_NS_FOR_MANY"):
        setattr(gemm_blocking, name, 1)
    for name in ("PRODUCTS_PER_TILE", "PRODUCTS_FOR_MANY", "TILE_PRODUCTS"):
        setattr(depthwise_tiles, name, 1)
    for module in (gemm_blocking, winograd):  # the second has taken the names of the first over
        module.SERIAL = 0
        module.STEPS_PER_TILE = module.STEPS_FOR_MANY = 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:200")
    parser.add_argument("--threads", default="1,2,5")
    options = parser.parse_args()
    first, _, end = options.seeds.partition(":")
    work = [(path.stem, of_file, path) for path in sorted(MODELS.glob("*.tflite"))]
    work += [(f"seed {seed}", of_seed, seed) for seed in range(int(first), int(end))]
    actual: dict[str, dict[str, str]] = {}
    for part in ("as it is", "shared"):
        if part == "shared":
            share_everything()
        for name, digest, source in work:
            row = actual[f"{name}, {part}"] = {}
            for threads in options.threads.split(","):
                os.environ["NNAPI_SHIM_THREADS"] = threads
                try:
                    row[threads] = digest(source)
                except (NnapiError, OSError) as error:
                    row[threads] = f"{type(error).__name__}: {error}"
    json.dump(actual, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
