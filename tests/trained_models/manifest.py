"""The trained models that lie beside the repository: files, inputs, what others made of them.

`shared/models/README.md` describes the folder and says how near a right run comes.
"""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi_shim
from nnapi_shim import Model

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "models"
WHY_SKIPPED = "the trained models, ../shared/models, are not here"


class Case(NamedTuple):
    """Inputs, and the outputs of LiteRT with its optimised and with its reference kernels."""

    inputs: list[Array]
    optimised: list[Array]
    reference: list[Array]


class Trained(NamedTuple):
    """A model: imported, what the manifest says of it, its cases."""

    name: str
    model: Model
    entry: dict[str, Any]
    cases: list[Case]

    @property
    def bounds(self) -> list[float]:
        """Per output, the largest difference between the two kinds of kernels of LiteRT."""
        return list(self.entry["max_abs_diff_opt_vs_ref"])


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Name -> what the manifest says; none where the folder is not there."""
    path = FOLDER / "manifest.json"
    listed = json.loads(path.read_text())["models"] if path.exists() else []
    return {entry["name"]: entry for entry in listed}


def android(name: str) -> dict[str, Any]:
    """What Android's reference gave behind the delegate, against the optimised kernels."""
    return dict(entries()[name]["aosp_reference_via_tflite_delegate"])


@cache
def trained(name: str) -> Trained:
    """A model with its cases."""
    entry = entries()[name]
    model = nnapi_shim.load(FOLDER / entry["file"])
    inputs, outputs = len(entry["inputs"]), len(entry["outputs"])
    with np.load(FOLDER / entry["npz"]) as arrays:

        def values(kind: str, case: int, count: int) -> list[Array]:
            keys = (f"{kind}{case}_{index}" for index in range(count))
            return [arrays[key] for key in keys if key in arrays]

        cases = [
            Case(
                values("in", case, inputs),
                values("opt", case, outputs),
                values("ref", case, outputs),
            )
            for case in range(entry["cases"])
        ]
    assert all(len(case.optimised) == outputs for case in cases)
    return Trained(name, model, entry, cases)


def key_points() -> Array:
    """Rows of y and x: those that the publishers of MoveNet give for its picture."""
    path = FOLDER / "movenet_single_pose_lightning_ptq_reference.csv"
    with path.open(newline="") as file:
        rows = [(row["keypoint_y"], row["keypoint_x"]) for row in csv.DictReader(file)]
    return np.array(rows, np.float64)
