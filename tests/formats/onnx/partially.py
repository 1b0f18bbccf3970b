"""Cases that are refused whole, run in parts and compared with ONNX Runtime."""

from typing import Any

import numpy as np
import onnxruntime

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.partial import PartialModel
from nnapi_shim.formats.onnx.model import loaded_partially
from nnapi_shim.formats.onnx.onnxruntime_part import errors


def partial(data: bytes, inputs: dict[str, Any], folder: str | None = None) -> PartialModel:
    """A file in parts, with the sizes of some inputs."""
    arrays = {name: v for name, v in inputs.items() if isinstance(v, np.ndarray)}
    return loaded_partially(data, folder, {name: v.shape for name, v in arrays.items()})


def run_partially(data: bytes, inputs: dict[str, Any], device: str) -> tuple[list[Any], bool]:
    """The outputs, and whether any part is a model. Raises BAD_DATA for what is refused in parts,
    too.
    """
    model = partial(data, inputs)
    results = model.compile(device).run(*inputs.values())
    results = list(results) if isinstance(results, tuple) else [results]
    return results, any(part.model is not None for part in model.parts)


def peer(data: bytes, inputs: dict[str, Any]) -> list[Any] | None:
    """The outputs of ONNX Runtime for the whole file; None if it does not run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return list(session.run(None, inputs))
    except errors():
        return None


def compared(results: list[Any], expected: list[Any], bound: float, relative: float) -> str:
    """How outputs differ; "" if they do not. Sequences are compared by their elements."""
    if len(results) != len(expected):
        return f"{len(results)} values, expected {len(expected)}"
    for result, value in zip(results, expected, strict=True):
        if isinstance(result, list) or isinstance(value, list):
            actual = compared(list(result), list(value), bound, relative)
        elif result is None or value is None:
            actual = "" if result is value else "one value is None"
        else:
            actual = _array_difference(np.atleast_1d(result), np.atleast_1d(value), bound, relative)
        if actual:
            return actual
    return ""


def _array_difference(a: Any, e: Any, bound: float, relative: float) -> str:
    if a.shape != e.shape:
        return f"shape {a.shape}, expected {e.shape}"
    if e.dtype.kind == "V":  # a type that numpy lacks, which ONNX Runtime returns as its bits
        e = e.view(a.dtype)
    if a.dtype.kind not in "fiub" or e.dtype.kind not in "fiub":
        return "" if a.astype(e.dtype).tolist() == e.tolist() else "other elements"
    a, e = (item.astype(np.float64).reshape(-1) for item in (a, e))
    with np.errstate(invalid="ignore"):
        near = np.abs(a - e) <= bound + relative * np.abs(e)
    wrong = ~((a == e) | near | (np.isnan(a) & np.isnan(e)))
    if not wrong.any():
        return ""
    first = int(np.flatnonzero(wrong)[0])
    return f"[{first}] is {a[first]:g}, expected {e[first]:g}; {int(wrong.sum())} of {wrong.size}"


def outcome_partially(
    data: bytes,
    inputs: dict[str, Any],
    device: str,
    bound: float,
    relative: float,
    documented: list[Any] | None = None,
) -> tuple[str, str]:
    """What became of a file in parts: split (has models; as in ONNX Runtime), peer (ONNX Runtime
    runs all), unknown (ONNX Runtime does not run the whole file), refused, or wrong; and why.

    documented: outputs to compare with where ONNX Runtime does not run the whole file.
    """
    expected = peer(data, inputs)
    try:
        results, has_model = run_partially(data, inputs, device)
    except NnapiError as error:
        return "unknown" if expected is None else "refused", str(error)
    problem = compared(results, expected or documented or [], bound, relative)
    return ("wrong", problem) if problem else ("split" if has_model else "peer", "")
