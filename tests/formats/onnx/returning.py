"""Conformance vectors exported as .onnx and imported again.

    python -m tests.formats.onnx.returning [NAME ...] [--every N]

prints how many examples of each operation agree, are refused with a reason, or differ.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import nnapi_shim
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.onnx.model import loaded
from nnapi_shim.hal.enums import OperationType
from tests.conformance.vectors import Example
from tests.formats import exports, peers

DEVICE = "nnapi-cpu"


def run(data: bytes, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of an imported file."""
    import onnx

    names = [item.name for item in onnx.load_from_string(data).graph.input]
    shapes = {n: v.shape for n, v in zip(names, inputs, strict=True) if v.ndim and 0 not in v.shape}
    model = loaded(data, None, shapes)
    results = nnapi_shim.Compilation(model, devices=[DEVICE]).run(*map(np.atleast_1d, inputs))
    return list(results) if isinstance(results, tuple) else [results]


def compared(example: Example) -> exports.Outcome:
    """Export an example, import it, compute it, and compare."""
    try:
        content = peers.exported(exports.model_of(example), "onnx")
    except NnapiError as error:
        return exports.Outcome(example.name, "not exported", error.message)
    try:
        results = run(content, exports.arrays(example, "inputs"))
    except NnapiError as error:
        return exports.Outcome(example.name, "refused", error.message)
    return exports.Outcome(example.name, *exports._difference(example, results))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="operations; all by default")
    parser.add_argument("--every", type=int, default=1, help="take one in so many examples")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    expected = {OperationType[name] for name in arguments.names}
    chosen = [e for e in exports.suitable() if not expected or expected & set(e.entry["ops"])]
    chosen = chosen[:: arguments.every]
    outcomes = [compared(example) for example in chosen]
    exports.report(chosen, outcomes, arguments.verbose)
    sys.exit(any(outcome.what == "differs" for outcome in outcomes))


if __name__ == "__main__":
    main()
