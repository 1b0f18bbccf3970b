"""Carried states as TensorFlow Lite resource variables."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import ExportGraph, Tensor
from nnapi_shim.formats.tflite.exporting.cells import without_kept
from nnapi_shim.formats.tflite.exporting.subgraph import RESOURCE, Subgraph


def with_variables(builder: Any, graph: ExportGraph) -> None:
    """Replace carried inputs and outputs by resource variables.

    A subgraph that CALL_ONCE runs sets the initial values. Variables are read before all operators
    and assigned after them.
    """
    main = builder.subgraphs[0]
    main.inputs[:] = without_kept(main.inputs, graph)
    main.outputs[:] = without_kept(main.outputs, graph)
    if not graph.carried:
        return
    first: list[Emitted] = []
    reads: list[Emitted] = []
    writes: list[Emitted] = []
    gone: set[int] = set()

    def handle(name: str) -> tuple[Tensor, Emitted]:
        variable = Tensor(RESOURCE, (1,), name=f"{name}_variable")  # type: ignore[arg-type]
        options = {"Container": "", "SharedName": name}
        return variable, Emitted("VAR_HANDLE", [], [variable], options)

    for input_at, output_at, initial in graph.carried:
        state, result = graph.inputs[input_at], graph.outputs[output_at]
        gone |= {id(state), id(result)}
        own, created = handle(state.name)
        reads += [created, Emitted("READ_VARIABLE", [own], [state], {})]
        writes.append(Emitted("ASSIGN_VARIABLE", [own, result], [], {}))
        value = Tensor(state.type, state.dimensions, state.scale, state.zero_point)
        start = np.zeros(state.dimensions, DTYPES[state.type]) + state.zero_point
        value.value = np.asarray(start if initial is None else initial, DTYPES[state.type])
        own, created = handle(state.name)
        first += [created, Emitted("ASSIGN_VARIABLE", [own, value], [], {})]
    index = len(builder.subgraphs)
    builder.subgraphs.append(Subgraph("first_values", [], [], first))
    call_once = Emitted("CALL_ONCE", [], [], {"InitSubgraphIndex": index})
    main.operators[:] = [call_once, *reads, *main.operators, *writes]
    main.inputs[:] = [t for t in main.inputs if id(t) not in gone]
    main.outputs[:] = [t for t in main.outputs if id(t) not in gone]
