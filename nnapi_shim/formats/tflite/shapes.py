"""Input dimensions that the caller of `load` gives, in place of those of the file."""

from collections.abc import Mapping, Sequence

from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.file import FileGraph
from nnapi_shim.formats.tflite.importing.model import Names

Shapes = Mapping[str, Sequence[int]]
"""Name of an input -> its sizes."""


def shaped(graph: FileGraph, names: Names, shapes: Shapes) -> FileGraph:
    """The graph with these input dimensions; those of other tensors are inferred.

    Raises BAD_DATA for an unknown input, for another rank, and for sizes that are not integers from
    1.
    """
    called = {names.inputs.get(i) or graph.tensors[i].name: i for i in graph.inputs}
    tensors = list(graph.tensors)
    for name, sizes in shapes.items():
        if name not in called:
            known = ", ".join(map(repr, called)) or "none"
            raise bad_data(
                f"shapes: input {name!r} does not exist; the model has {known}",
                "import.tflite.shapes.input",
            )
        tensor = tensors[called[name]]
        requested = tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)
        if not all(type(size) is int and 0 < size < 2**31 for size in requested):
            raise bad_data(
                f"shapes: input {name!r} is given {sizes!r}; sizes are integers from 1",
                "import.tflite.shapes.sizes",
            )
        if len(requested) != len(tensor.shape):
            raise bad_data(
                f"shapes: input {name!r} is given {list(requested)}; in the file it has "
                f"{len(tensor.shape)} dimensions, {list(tensor.dimensions)} with 0 if unknown",
                "import.tflite.shapes.rank",
            )
        tensors[tensor.number] = tensor._replace(shape=requested, dimensions=requested)
    return graph._replace(tensors=tuple(tensors))
