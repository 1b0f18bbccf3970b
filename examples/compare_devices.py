"""Compares a device with nnapi-reference: small models of one operation each, on both.

    NNAPI_SHIM_DRIVERS=examples/drivers .venv/bin/python examples/compare_devices.py example-plain

Prints the largest difference of each operation that the device runs. Add to MODELS what yours
knows.
"""

import sys

import numpy as np

import nnapi_shim
from nnapi_shim import FuseCode

NONE = FuseCode.NONE
MODELS = {
    "ADD": lambda x: [x, np.full((1, 4), 0.5, np.float32), NONE],
    "MUL": lambda x: [x, np.full((1, 4), 0.5, np.float32), NONE],
    "SUB": lambda x: [x, np.full((1, 4), 0.5, np.float32), NONE],
    "FLOOR": lambda x: [x],
    "RELU": lambda x: [x],
    "TANH": lambda x: [x],
    "LOGISTIC": lambda x: [x],
    "SOFTMAX": lambda x: [x, 1.0],
    "RESHAPE": lambda x: [x, [4, 3]],
    "FULLY_CONNECTED": lambda x: [
        x,
        np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4),
        np.ones(2, np.float32),
        NONE,
    ],
}
"""Name of an operation -> its inputs, from an input of the model with dimensions [3, 4]."""


def main(device: str) -> None:
    """Compare, operation by operation."""
    values = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    for name, inputs in MODELS.items():
        with nnapi_shim.Model() as model:
            x = model.input("TENSOR_FLOAT32", [3, 4])
            model.outputs(model.operation(name, inputs(x)))
        if not all(model.supported_operations(device)):
            print(f"{name}: not supported")
            continue
        got, wanted = (
            nnapi_shim.Compilation(model, where).run(values)
            for where in (device, "nnapi-reference")
        )
        print(f"{name}: largest difference {np.abs(got - wanted).max():.2g}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the name of a device, such as nnapi-cpu")
    try:
        main(sys.argv[1])
    except nnapi_shim.NnapiError as error:
        sys.exit(str(error))
