"""Evaluates a quantized model on a folder of pictures, on a cluster of Ray.

python evaluate_ray.py MODEL.tflite FOLDER LABELS.txt: FOLDER has a folder of pictures for each
class.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # a local cluster, for this process alone

import pictures
import ray

import nnapi_shim

WORKERS = 2


def main() -> None:
    """Read the arguments, and print what comes out."""
    path, folder, labels = map(Path, sys.argv[1:])
    evaluate(nnapi_shim.Predictor, path, folder, labels.read_text().splitlines())


def evaluate(predictor: type, path: Path, folder: Path, labels: list[str]) -> float:
    """The share of pictures whose class is the best one.

    predictor: nnapi_shim.Predictor, of which each worker makes one.
    """
    model = nnapi_shim.load(path)
    (image,), (scores,) = model.input_operands, model.output_operands
    _, height, width, _ = image.dimensions
    is_signed = image.type.name == "TENSOR_QUANT8_ASYMM_SIGNED"
    read = partial(pictures.read, size=(height, width), column=image.name, is_signed=is_signed)
    # Ray's own steps need a processor in addition to those of the workers.
    ray.init(num_cpus=WORKERS + 2, include_dashboard=False, log_to_driver=False)
    try:
        rows = (
            ray.data.from_items(pictures.listed(folder))
            .map_batches(read)
            .map_batches(predictor, fn_constructor_args=(model,), batch_size=2, concurrency=WORKERS)
            .take_all()
        )
    finally:
        ray.shutdown()
    return pictures.report(rows, scores.name, labels)


if __name__ == "__main__":
    main()
