"""Reads the bytes of a .tflite file as a model."""

from typing import TYPE_CHECKING

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.tflite.file import File, FileGraph, read
from nnapi_shim.formats.tflite.importing.model import Names, imported
from nnapi_shim.formats.tflite.shapes import Shapes, shaped

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialModel


def loaded(
    data: bytes, signature: str | None, partial: bool, shapes: Shapes | None = None
) -> "Model | PartialModel":
    """The model of a signature; see `nnapi_shim.load`."""
    file = read(data)
    graph, names = chosen(file, signature)
    if shapes:
        graph = shaped(graph, names, shapes)
    if not partial:
        return imported(file, graph, names)
    from nnapi_shim.formats.tflite.partial import partial_model

    return partial_model(file, graph, names)


def chosen(file: File, signature: str | None) -> tuple[FileGraph, Names]:
    """The graph of a signature and the names of its inputs and outputs.

    None: the first signature, or the first graph if the file has no signatures.
    """
    by_key = {item.key: item for item in file.signatures}
    if signature is None:
        if not by_key:
            return file.graphs[0], Names()
        entry = next(iter(by_key.values()))
    elif signature in by_key:
        entry = by_key[signature]
    else:
        known = ", ".join(map(repr, by_key)) or "none"
        raise bad_data(
            f"signature {signature!r} does not exist; the file has {known}",
            "import.tflite.signature.name",
        )
    return file.graphs[entry.graph], Names(entry.inputs, entry.outputs)
