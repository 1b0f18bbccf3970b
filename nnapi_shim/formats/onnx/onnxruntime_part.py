"""A part of a graph that ONNX Runtime runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.importing.parts import Part
from nnapi_shim.formats.onnx.cut import RANK
from nnapi_shim.formats.onnx.file import Argument
from nnapi_shim.formats.onnx.schema import DTYPES

FOLDER = "session.model_external_initializers_file_folder_path"
"""The option with the folder of constants in other files."""


def onnxruntime() -> Any:
    """The package onnxruntime. Raises ImportError with what to install."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            "operators that NNAPI cannot express need ONNX Runtime; "
            f"`{install_command('bench', 'onnxruntime')}`",
            name="onnxruntime",
        ) from error
    return onnxruntime


def errors() -> tuple[type[Exception], ...]:
    """The exceptions of ONNX Runtime."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    classes = [item for item in vars(state).values() if isinstance(item, type)]
    own = [item for item in classes if issubclass(item, Exception)]
    return (RuntimeError, TypeError, ValueError, *own)


@contextmanager
def _refusing(first: str) -> Iterator[None]:
    """Turn errors of ONNX Runtime into BAD_DATA. first: the first operator of the part."""
    try:
        yield
    except errors() as error:
        message = " ".join(str(error).split())
        raise bad_data(
            f"ONNX Runtime refuses {first} or what follows it: {message}",
            "import.onnx.onnxruntime-refuses",
        ) from None


def session(content: bytes, folder: str | None, first: str, *, is_run: bool = True) -> Any:
    """A session of a file. folder: that of constants in other files. is_run: False for a session
    that is only asked for types.
    """
    package = onnxruntime()
    options = package.SessionOptions()
    options.log_severity_level = 4
    # Its threads would take the processors from other parts while they wait.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if folder is not None:
        options.add_session_config_entry(FOLDER, folder)
    if not is_run:
        options.intra_op_num_threads = 1
        options.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
    with _refusing(first):
        return package.InferenceSession(
            content, options, providers=["CPUExecutionProvider"], enable_fallback=0
        )


def output_types(opened: Any) -> dict[str, Argument]:
    """The outputs of a session by name. Sizes that are not known are ""; the shape is None where
    the rank may be unknown.
    """
    result = {}
    for item in opened.get_outputs():
        type = item.type
        if type.startswith("tensor("):
            type = type[len("tensor(") : -1].upper()
        shape = tuple(size if isinstance(size, int) else "" for size in item.shape)
        result[item.name] = Argument(item.name, type, shape or None)
    return result


def scalars(opened: Any, names: Iterable[str]) -> set[str]:
    """The values of rank 0, of those whose dimensions are outputs (`Cutter.cut`, ranks_of)."""
    shapes = {item.name: item.shape for item in opened.get_outputs()}
    return {name for name in names if shapes.get(RANK + name) == [0]}


class OnnxruntimePart:
    """A part that ONNX Runtime runs.

    inputs: with the type and, for rank 0, the dimensions that the part was cut for.
    """

    devices: tuple[str, ...] = ("ONNX Runtime",)

    def __init__(
        self, content: bytes, folder: str | None, part: Part, inputs: Sequence[Argument]
    ) -> None:
        operator = part.operators[0]
        self._first = f"operator {operator.number} {operator.name}"
        self._part = part
        self._inputs = tuple(inputs)
        self._session = session(content, folder, self._first)

    def run(self, values: dict[Any, Any]) -> None:
        """Compute the outputs of the part from `values`."""
        feeds = {item.name: fed(item, values) for item in self._inputs}
        with _refusing(self._first):
            results = self._session.run(list(self._part.outputs), feeds)
        values.update(zip(self._part.outputs, results, strict=True))

    def reset(self) -> None:
        """ONNX models have no states."""


def fed(item: Argument, values: Mapping[Any, Any]) -> Any:
    """A value as ONNX Runtime takes it."""
    value = values[item.name]
    array = converted(item, value)
    return array.reshape(()) if item.shape == () and array.size == 1 else array


def converted(item: Argument, value: Any) -> Any:
    """A value as an array of its type in the file; raises BAD_DATA. Sequences, optional values and
    texts stay as they are.
    """
    dtype = DTYPES.get(item.type)
    if dtype is None:
        return np.asarray(value) if item.type == "STRING" else value
    try:
        array = np.asarray(value)
        result = array.astype(dtype, copy=False)
        is_same = result.dtype.kind not in "iu" or bool((result == array).all())
    except (TypeError, ValueError, OverflowError):
        is_same = False
    if not is_same:
        raise bad_data(
            f"{item.name[:80]!r} is {item.type}, and the value is not",
            "import.onnx.onnxruntime-value",
        )
    return result
