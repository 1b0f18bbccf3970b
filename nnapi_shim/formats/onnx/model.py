"""Reads the bytes of an .onnx file as a model."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.onnx.file import NO_TENSOR, Argument, read
from nnapi_shim.formats.onnx.importing.model import Sizes, imported

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialModel

Shapes = Mapping[str, Sequence[int]]
"""Name of an input -> its sizes."""


def loaded(data: bytes, folder: str | None, shapes: Shapes | None = None) -> Model:
    """The model of a file; see `nnapi_shim.load`."""
    file = read(data, folder)
    return imported(file, sized(file.graph.inputs, shapes or {}))


def loaded_partially(
    data: bytes, folder: str | None, shapes: Shapes | None = None
) -> "PartialModel":
    """The model of a file in parts; see `nnapi_shim.load`."""
    from nnapi_shim.formats.onnx.partial import partial_model

    file = read(data, folder)
    tensors = [item for item in file.graph.inputs if not item.type.startswith(NO_TENSOR)]
    return partial_model(file, sized(tensors, shapes or {}, 0), folder)


def sized(inputs: Sequence[Argument], shapes: Shapes, least: int = 1) -> Sizes:
    """The dimensions of all inputs.

    Raises BAD_DATA for an unknown input, for another rank, for sizes that are not integers from
    `least`, and for open dimensions without a size.
    """
    known = {item.name: item for item in inputs}
    for name in shapes:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise bad_data(
                f"shapes: input {name!r} does not exist; the model has {listed}",
                "import.onnx.shapes.input",
            )
    return {name: _size(item, shapes, least) for name, item in known.items()}


def _size(item: Argument, shapes: Shapes, least: int) -> tuple[int, ...]:
    name = item.name
    if name in shapes:
        value = shapes[name]
        sizes = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not all(type(size) is int and least <= size < 2**31 for size in sizes):
            raise bad_data(
                f"shapes: input {name!r} is given {value!r}; sizes are integers from {least}",
                "import.onnx.shapes.sizes",
            )
        if item.shape is not None and len(sizes) != len(item.shape):
            raise bad_data(
                f"shapes: input {name!r} is given {list(sizes)}; in the file it has "
                f"{len(item.shape)} dimensions, {_shown(item)}",
                "import.onnx.shapes.rank",
            )
        return sizes
    if item.shape is None:
        raise bad_data(
            f"input {name!r} has no dimensions in the file; load(path, shapes={{{name!r}: (...)}}) "
            "states them",
            "import.onnx.shapes.open",
        )
    if not all(isinstance(size, int) and least <= size < 2**31 for size in item.shape):
        sizes = tuple(size if isinstance(size, int) else 1 for size in item.shape)
        joined = ",".join(map(str, sizes))
        raise bad_data(
            f"input {name!r} has the dimensions {_shown(item)}, of which not all are known sizes; "
            f"load(path, shapes={{{name!r}: {sizes}}}) states them, on the command line "
            f"FILE@{name}={joined}",
            "import.onnx.shapes.open",
        )
    return tuple(int(size) for size in item.shape)


def _shown(item: Argument) -> str:
    return "[" + ", ".join(str(size) or "?" for size in item.shape or ()) + "]"
