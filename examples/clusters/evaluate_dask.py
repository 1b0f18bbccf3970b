"""Evaluates a quantized model on a folder of pictures, on a cluster of Dask.

python evaluate_dask.py MODEL.tflite FOLDER LABELS.txt: FOLDER has a folder of pictures for each
class.
"""

import sys
from pathlib import Path

import dask.dataframe
import pandas
import pictures
from distributed import Client, LocalCluster

import nnapi_shim

WORKERS = 2


def main() -> None:
    """Read the arguments, and print what comes out."""
    path, folder, labels = map(Path, sys.argv[1:])
    evaluate(nnapi_shim.Predictor, path, folder, labels.read_text().splitlines())


def evaluate(predictor: type, path: Path, folder: Path, labels: list[str]) -> float:
    """The share of pictures whose class is the best one.

    predictor: nnapi_shim.Predictor; one is made here, and sent to the workers.
    """
    model = nnapi_shim.load(path)
    (image,), (scores,) = model.input_operands, model.output_operands
    _, height, width, _ = image.dimensions
    table = pandas.DataFrame(pictures.listed(folder))
    columns = {"path": object, "class": object}
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        rows = (
            dask.dataframe.from_pandas(table, chunksize=2)
            .map_partitions(
                pictures.read,
                size=(height, width),
                column=image.name,
                is_signed=image.type.name == "TENSOR_QUANT8_ASYMM_SIGNED",
                meta=columns | {image.name: object},
            )
            .map_partitions(predictor(model), meta=columns | {scores.name: object})
            .compute()
        )
    return pictures.report(rows.to_dict("records"), scores.name, labels)


if __name__ == "__main__":
    main()
