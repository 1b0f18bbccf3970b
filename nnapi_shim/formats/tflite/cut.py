"""Writes a .tflite file with some operators of a graph, for LiteRT.

Tensors and buffers keep their indices.
"""

from collections.abc import Container, Sequence
from typing import Any

from nnapi_shim.extras import install_command
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.file import File, Operator


def litert() -> Any:
    """The package of LiteRT. Raises ImportError with what to install."""
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise ImportError(
            "operators that NNAPI cannot express need LiteRT; "
            f"`{install_command('bench', 'ai-edge-litert')}`",
            name="ai_edge_litert",
        ) from error
    return interpreter


def cut(
    file: File,
    graph: int,
    operators: Sequence[Operator],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> bytes:
    """A file whose main graph has the given operators, inputs and outputs."""
    litert()
    import flatbuffers
    from ai_edge_litert import schema_py_generated as generated

    model = generated.ModelT.InitFromPackedBuf(file.data)
    graphs = model.subgraphs
    chosen = graphs[graph]
    chosen.operators = [chosen.operators[operator.number] for operator in operators]
    for item, operator in zip(chosen.operators, operators, strict=True):
        if operator.custom is not None and item.largeCustomOptionsOffset > 1:
            item.customOptions = list(operator.custom)  # stored after the flatbuffer
            item.largeCustomOptionsOffset = item.largeCustomOptionsSize = 0
    chosen.inputs, chosen.outputs = list(inputs), list(outputs)
    if len(graphs) == 1:
        used = {index for operator in operators for index in operator.inputs if index is not None}
        used |= {at for index in used for at in _scales(chosen.tensors[index])}
        _drop_unused(model, {chosen.tensors[index].buffer for index in used})
    for buffer in model.buffers:
        if buffer.offset > 1:  # stored after the flatbuffer, where the new file has no data
            buffer.data = file.data[buffer.offset : buffer.offset + buffer.size]
            buffer.offset = buffer.size = 0
    # LiteRT runs the first graph; operators refer to other graphs by index.
    graphs[0], graphs[graph] = graphs[graph], graphs[0]
    model.signatureDefs = model.metadata = model.metadataBuffer = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=schema.IDENTIFIER)
    return bytes(builder.Output())


def _scales(tensor: Any) -> list[int]:
    """The tensors with the scales and zero points of a tensor's blocks."""
    details = getattr(tensor.quantization, "details", None)
    indexes = [getattr(details, name, -1) for name in ("scales", "zeroPoints")]
    return [index for index in indexes if index >= 0]


def _drop_unused(model: Any, used: Container[int]) -> None:
    """Clear the buffers that no operator reads."""
    for number, buffer in enumerate(model.buffers):
        if number not in used:
            buffer.data, buffer.offset, buffer.size = None, 0, 0
