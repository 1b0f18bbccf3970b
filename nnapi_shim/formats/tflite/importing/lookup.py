"""Table lookups and hash projections."""

import numpy as np

from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.hal.enums import OperandType as T

DENSE = 2
_KINDS = {1: 3}
"""SPARSE: 1 in TensorFlow Lite, 3 in NNAPI, whose 1 is the deprecated form without offsets."""


def embedding(graph: Importing, operator: Operator) -> None:
    """EMBEDDING_LOOKUP; a quantized table with a float32 output is dequantized at import."""
    lookups, values = operator.inputs
    type = graph.parameters(graph.tensor(operator.outputs[0]))[0]
    table_type = graph.tensor(values).type
    if type is T.TENSOR_FLOAT32 and table_type not in ("FLOAT32", "INT8", "UINT8", "INT4"):
        raise reason(
            f"a float output of a table of {table_type}", "import.tflite.embedding-lookup.type"
        )
    table = graph.reals(values) if type is T.TENSOR_FLOAT32 else graph.operand(values)
    graph.add("EMBEDDING_LOOKUP", [graph.operand(lookups), table], operator)


def hashtable(graph: Importing, operator: Operator) -> None:
    """HASHTABLE_LOOKUP; the hits are bytes without a scale."""
    output, hits = graph.several("HASHTABLE_LOOKUP", graph.operands(operator.inputs))
    graph.give(operator, output, 0)
    graph.give(operator, hits, 1)


def lsh(graph: Importing, operator: Operator) -> None:
    """LSH_PROJECTION; omitted weights are 1."""
    weight = graph.optional(operator, 2)
    hash_, data = graph.operands(operator.inputs[:2])
    kind = int(operator.options.get("Type", 0))
    if weight is None and kind == DENSE:
        ones = graph.room.filled(data.dimensions[:1] or (1,), 1, np.float32, "its weights")
        weight = graph.model.constant(ones)
    graph.add("LSH_PROJECTION", [hash_, data, weight, _KINDS.get(kind, kind)], operator)


LOWERINGS: dict[str, Lowering] = {
    "EMBEDDING_LOOKUP": embedding,
    "HASHTABLE_LOOKUP": hashtable,
    "LSH_PROJECTION": lsh,
}
