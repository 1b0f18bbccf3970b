"""A file with some of the operators of a graph: what LiteRT is given of a model.

Tensors and buffers keep their numbers.
"""

from collections.abc import Container, Sequence
from typing import Any

from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.file import File, Operator


def litert() -> Any:
    """The package that runs files. Raises ImportError with what to install."""
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise ImportError(
            "what NNAPI cannot express needs LiteRT; `pip install ai-edge-litert`"
        ) from error
    return interpreter


def cut(
    file: File,
    graph: int,
    operators: Sequence[Operator],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> bytes:
    """A file whose first graph has these operators of a graph, these inputs and outputs."""
    litert()
    import flatbuffers
    from ai_edge_litert import schema_py_generated as generated

    model = generated.ModelT.InitFromPackedBuf(file.data)
    graphs = model.subgraphs
    chosen = graphs[graph]
    chosen.operators = [chosen.operators[operator.number] for operator in operators]
    for item, operator in zip(chosen.operators, operators, strict=True):
        if operator.custom is not None and item.largeCustomOptionsOffset > 1:
            item.customOptions = list(operator.custom)  # behind the flatbuffer, as buffers may be
            item.largeCustomOptionsOffset = item.largeCustomOptionsSize = 0
    chosen.inputs, chosen.outputs = list(inputs), list(outputs)
    if len(graphs) == 1:
        used = {index for operator in operators for index in operator.inputs if index is not None}
        used |= {at for index in used for at in _scales(chosen.tensors[index])}
        _drop_unused(model, {chosen.tensors[index].buffer for index in used})
    for buffer in model.buffers:
        if buffer.offset > 1:  # behind the flatbuffer, which the new file has nothing
            buffer.data = file.data[buffer.offset : buffer.offset + buffer.size]
            buffer.offset = buffer.size = 0
    # The first graph is what is run; operators refer to others by their numbers.
    graphs[0], graphs[graph] = graphs[graph], graphs[0]
    model.signatureDefs = model.metadata = model.metadataBuffer = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=schema.IDENTIFIER)
    return bytes(builder.Output())


def _scales(tensor: Any) -> list[int]:
    """Tensors that hold the scales and zero points of a tensor's blocks."""
    details = getattr(tensor.quantization, "details", None)
    indexes = [getattr(details, name, -1) for name in ("scales", "zeroPoints")]
    return [index for index in indexes if index >= 0]


def _drop_unused(model: Any, used: Container[int]) -> None:
    """Take the contents from buffers that no operator reads."""
    for number, buffer in enumerate(model.buffers):
        if number not in used:
            buffer.data, buffer.offset, buffer.size = None, 0, 0
