"""Python source that builds a model with nnapi_shim; large constants go to an .npz file."""

import io
import keyword
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.output_file import Target
from nnapi_shim.formats.source.graphs import (
    graphs_of,
    number_text,
    operations_as_added,
    words,
)

INLINE = 16
"""Constants up to this number of elements are literals in the source."""

HEAD = '''\
"""A model, written by nnapi_shim: create_model() builds it."""
'''


def export(model: Model, path: Path) -> dict[Target, bytes]:
    """The Python source of a finished model, and model.npz if it has large constants.

    Raises BAD_DATA for types and operations of extensions.
    """
    arrays: dict[str, Any] = {}
    graphs = graphs_of(model)
    parts = [
        _function(graph, number, graphs, model if graph is model.graph else None, arrays)
        for number, graph in enumerate(graphs)
    ]
    head = [HEAD, "\n", "from pathlib import Path\n\n" if arrays else ""]
    head.append("import numpy as np\n\n" if arrays or "np." in "".join(parts) else "")
    head.append("import nnapi_shim\n")
    if arrays:
        head.append(
            f'\nwith np.load(Path(__file__).with_name("{_text(path.stem)}.npz")) as _file:\n'
            "    CONSTANTS = dict(_file)\n"
        )
    files: dict[Target, bytes] = {}
    if arrays:
        content = io.BytesIO()
        np.savez(content, **arrays)
        files[path.with_suffix(".npz")] = content.getvalue()
    files[path] = "".join([*head, *parts]).encode()
    return files


def _text(value: str) -> str:
    """The text escaped for a string between double quotes."""
    quoted = repr(value)
    return quoted[1:-1].replace('"', '\\"') if quoted[0] == "'" else quoted[1:-1]


def _function(
    graph: GraphView,
    number: int,
    graphs: Sequence[GraphView],
    main: Model | None,
    arrays: dict[str, Any],
) -> str:
    """The function that builds one graph."""
    names = _names(graph)
    title = "create_model" if main else f"_graph_{number}"
    lines = ["", "", f"def {title}() -> nnapi_shim.Model:"]
    lines.append(f'    """{"The model, finished." if main else "A model within it."}"""')
    lines.append("    model = nnapi_shim.Model()")
    for operand in graph.operands:
        lines += _operand(operand, names, number, graphs, arrays)
    for operation in operations_as_added(graph):
        inputs, outputs = (
            _listed(operands, names) for operands in (operation.inputs, operation.outputs)
        )
        lines.append(f'    model.add_operation("{operation.name}", {inputs}, {outputs})')
    inputs, outputs = (
        _listed(operands, names) for operands in (graph.input_operands, graph.output_operands)
    )
    if main and main.finished.relax_computation_float32_to_float16:
        lines.append("    model.relax_computation_float32_to_float16()")
    lines.append(f"    model.identify_inputs_and_outputs({inputs}, {outputs})")
    for state in main.carried if main else ():
        input_name = names[graph.input_operands[state.input].index]
        output = names[graph.output_operands[state.output].index]
        value = ""
        if state.initial is not None and np.any(state.initial):
            value = f", {_array(np.asarray(state.initial), f'initial_{input_name}', arrays)}"
        lines.append(f"    model.carry({input_name}, {output}{value})")
    lines += ["    model.finish()", "    return model", ""]
    return "\n".join(lines)


def _names(graph: GraphView) -> dict[int, str]:
    """A variable name for each operand: its own name, or the role of its first use."""
    variables: dict[int, str] = {}
    used = {"model", "nnapi_shim", "np", "Path", "CONSTANTS"}
    roles: dict[int, str] = {}
    for operation in graph.operations:
        for list, names in (
            (operation.inputs, operation.roles),
            (operation.outputs, operation.output_roles),
        ):
            for operand, role in zip(list, names, strict=True):
                roles.setdefault(operand.index, words(role))
    for operand in graph.operands:
        base = words(operand.name) or roles.get(operand.index) or "operand"
        if base[0].isdigit():
            base = f"operand_{base}"
        name = base
        if name in used or keyword.iskeyword(name):
            name = f"{base}_{operand.index}"
        while name in used:
            name += "_"
        used.add(name)
        variables[operand.index] = name
    return variables


def _listed(operands: Sequence[OperandView], names: dict[int, str]) -> str:
    return f"[{', '.join(names[operand.index] for operand in operands)}]"


def _operand(
    operand: OperandView,
    names: dict[int, str],
    number: int,
    graphs: Sequence[GraphView],
    arrays: dict[str, Any],
) -> list[str]:
    """The lines that add an operand and set its value."""
    name, value = names[operand.index], operand.value
    more = ""
    if operand.scale or operand.zero_point:
        more += f", scale={number_text(operand.scale)}"
    if operand.zero_point:
        more += f", zero_point={operand.zero_point}"
    if operand.name:
        more += f', name="{_text(operand.name)}"'
    if value is not None and operand.channel_quant is None:
        text = _array(value, f"graph_{number}_{name}" if number < len(graphs) - 1 else name, arrays)
        return [f'    {name} = model.constant({text}, "{operand.type.name}"{more})']
    sizes = "" if not operand.dimensions else f", {list(operand.dimensions)}"
    lines = [f'    {name} = model.add_operand("{operand.type.name}"{sizes}{more})']
    if operand.channel_quant is not None:
        scales, axis = operand.channel_quant
        text = _array(np.asarray(scales, np.float32), f"{name}_scales_{number}", arrays)
        lines.append(f"    model.set_operand_symm_per_channel_quant_params({name}, {axis}, {text})")
        if value is not None:
            text = _array(value, f"{name}_{number}", arrays)
            lines.append(f"    model.set_operand_value({name}, {text})")
    elif operand.subgraph is not None:
        at = graphs.index(operand.subgraph)
        lines.append(f"    model.set_operand_value_from_model({name}, _graph_{at}())")
    elif operand.is_constant:
        raise bad_data(
            f"operand {operand.index} has a type without known values",
            "export.source.value-type",
        )
    if operand.is_omitted:
        lines.append(f"    model.set_operand_value({name}, None)")
    return lines


def _array(value: Any, name: str, arrays: dict[str, Any]) -> str:
    """A constant as an expression: a literal if it is short, else an entry of the .npz file."""
    is_plain = value.dtype.kind in "iub" or (value.dtype == np.float32 and np.isfinite(value).all())
    if value.size > INLINE or not is_plain or value.size == 0:
        arrays[name] = value
        return f'CONSTANTS["{name}"]'
    if value.dtype == np.float32:
        shorter = np.vectorize(lambda item: float(str(item)), otypes=[float])
        listed = shorter(value).tolist()
    else:
        listed = value.tolist()
    return repr(listed)
