"""Python source that builds a model with nnapi_shim; large constants go to an .npz file."""

import io
import keyword
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.output_file import Target
from nnapi_shim.formats.source.graphs import graphs_of, number_text, words
from nnapi_shim.formats.source.typed_calls import quoted, typed_call

INLINE = 16
"""Constants up to this number of elements are literals in the source."""
WIDTH = 100

HEAD = '''\
"""A model, written by nnapi_shim: create_model() builds it; as a program it runs the model."""

import sys
'''
MAIN = '''

def main() -> None:
    """Run the model once, on the files that are given (.npy, .npz, .json, .csv, .bin, pictures), or
    on random inputs.
    """
    for output in run(create_model(), sys.argv[1:]).outputs:
        print(f"{output.name}: {output.type}{list(output.dimensions)}")
        print(output.real)


if __name__ == "__main__":
    main()
'''
_RESERVED = ("model", "nnapi_shim", "np", "Path", "sys", "run", "main", "create_model", "CONSTANTS")


def constants_path(path: Path) -> Path:
    """The file of the large constants: `x.py.npz` for `x.py`, which no other file of arrays has."""
    return path.with_name(f"{path.name}.npz")


def export(model: Model, path: Path) -> dict[Target, bytes]:
    """The Python source of a finished model, and `x.py.npz` if it has large constants.

    Raises BAD_DATA for types and operations of extensions.
    """
    arrays: dict[str, Any] = {}
    graphs = graphs_of(model)
    parts = [
        _Function(graph, number, graphs, model if graph is model.graph else None, arrays).text()
        for number, graph in enumerate(graphs)
    ]
    head = [HEAD, "from pathlib import Path\n" if arrays else "", "\n"]
    head.append("import numpy as np\n\n" if arrays or "np." in "".join(parts) else "")
    head.append("import nnapi_shim\nfrom nnapi_shim.tools.run import run\n")
    files: dict[Target, bytes] = {}
    if arrays:
        beside = constants_path(path)
        head.append(
            f"\nwith np.load(Path(__file__).with_name({quoted(beside.name)})) as _file:\n"
            "    CONSTANTS = dict(_file)\n"
        )
        content = io.BytesIO()
        np.savez(content, **arrays)
        files[beside] = content.getvalue()
    files[path] = "".join([*head, *parts, MAIN]).encode()
    return files


class _Function:
    """The function that builds one graph; main: the model of the main graph."""

    def __init__(
        self,
        graph: GraphView,
        number: int,
        graphs: Sequence[GraphView],
        main: Model | None,
        arrays: dict[str, Any],
    ) -> None:
        self.graph = graph
        self.number = number
        self.graphs = graphs
        self.main = main
        self.arrays = arrays
        self.names: dict[int, str] = {}
        self.used = set(_RESERVED)

    def text(self) -> str:
        """The source of the function."""
        title = "create_model" if self.main else f"_graph_{self.number}"
        lines = ["", "", f"def {title}() -> nnapi_shim.Model:"]
        lines.append(f'    """{"The model, finished." if self.main else "A model within it."}"""')
        lines.append("    with nnapi_shim.Model() as model:")
        lines += [f"        {line}" for line in self._lines()]
        return "\n".join([*lines, "    return model", ""])

    def _lines(self) -> Iterator[str]:
        for operand in self.graph.input_operands:
            name = self._name(operand, "input")
            yield from _called(f"{name} = ", "model.input", _declaration(operand))
        for operation in self.graph.operations:
            yield from self._operation(operation)
        for operand in self.graph.output_operands:
            yield from self._constant(operand, "output")
        if self.main and self.main.finished.relax_computation_float32_to_float16:
            yield "model.relax_computation_float32_to_float16()"
        outputs = [self.names[operand.index] for operand in self.graph.output_operands]
        yield from _called("", "model.outputs", outputs)
        for state in self.main.carried if self.main else ():
            input_name = self.names[self.graph.input_operands[state.input].index]
            arguments = [input_name, self.names[self.graph.output_operands[state.output].index]]
            if state.initial is not None and np.any(state.initial):
                initial = np.asarray(state.initial)
                arguments.append(_array(initial, f"initial_{input_name}", self.arrays))
            yield from _called("", "model.carry", arguments)

    def _operation(self, operation: OperationView) -> Iterator[str]:
        """A call of a typed method, or of `add_operation` where no method does the same."""
        call = typed_call(operation)
        needed = operation.inputs if call is None else list(call.operands())
        roles = {
            operand.index: role
            for role, operand in zip(operation.roles, operation.inputs, strict=True)
        }
        for operand in needed:
            yield from self._constant(operand, roles[operand.index])
        for role, operand in zip(operation.output_roles, operation.outputs, strict=True):
            name = self._name(operand, role)
            if call is None:
                yield from _called(f"{name} = ", "model.add_operand", _declaration(operand))
        outputs = [self.names[operand.index] for operand in operation.outputs]
        if call is not None:
            is_single = call.returns_tuple and len(outputs) == 1
            target = f"({outputs[0]},) = " if is_single else f"{', '.join(outputs)} = "
            yield from _called(target, f"model.{call.method}", call.arguments(self.names))
            return
        inputs = [self.names[operand.index] for operand in operation.inputs]
        arguments = [quoted(operation.name), f"[{', '.join(inputs)}]", f"[{', '.join(outputs)}]"]
        yield from _called("", "model.add_operation", arguments)

    def _name(self, operand: OperandView, role: str) -> str:
        """A new variable: the last part of the operand's name, or its role."""
        last = operand.name.rpartition(";")[2].rpartition("/")[2]
        base = words(last) or words(operand.name) or words(role) or "operand"
        if base[0].isdigit():
            base = f"operand_{base}"
        name, number = base, 2
        while name in self.used or keyword.iskeyword(name) or name.startswith("_graph"):
            name, number = f"{base}_{number}", number + 1
        self.used.add(name)
        self.names[operand.index] = name
        return name

    def _constant(self, operand: OperandView, role: str) -> Iterator[str]:
        """The lines that add a constant, an omitted operand or a graph, at its first use."""
        if operand.index in self.names:
            return
        name, value = self._name(operand, role), operand.value
        prefix = "" if self.main else f"graph_{self.number}_"
        target = f"{name} = "
        if value is not None and operand.channel_quant is None:
            text = _array(value, f"{prefix}{name}", self.arrays)
            arguments = [text, quoted(operand.type.name), *_quantization(operand)]
            yield from _called(target, "model.constant", arguments)
        elif value is not None and operand.channel_quant is not None:
            scales, axis = operand.channel_quant
            scales_text = _array(
                np.asarray(scales, np.float32), f"{prefix}{name}_scales", self.arrays
            )
            arguments = [_array(value, f"{prefix}{name}", self.arrays), quoted(operand.type.name)]
            arguments += [f"scales={scales_text}", f"channel_dim={axis}"]
            yield from _called(target, "model.constant", [*arguments, *_name_argument(operand)])
        elif operand.subgraph is not None:
            at = self.graphs.index(operand.subgraph)
            yield from _called(target, "model.add_operand", _declaration(operand))
            yield f"model.set_operand_value_from_model({name}, _graph_{at}())"
        elif operand.is_omitted:
            yield from _called(target, "model.add_operand", _declaration(operand))
            yield f"model.set_operand_value({name}, None)"
        else:
            raise bad_data(
                f"operand {operand.index} has a type without known values",
                "export.source.value-type",
            )


def _called(target: str, function: str, arguments: Any) -> list[str]:
    """The lines of a call, one for each argument if it is long."""
    parts = list(arguments)
    line = f"{target}{function}({', '.join(parts)})"
    if len(line) + 8 <= WIDTH:
        return [line]
    return [f"{target}{function}(", *[f"    {part}," for part in parts], ")"]


def _declaration(operand: OperandView) -> list[str]:
    """Type, dimensions, quantization and name as arguments."""
    sizes = [str(list(operand.dimensions))] if operand.dimensions else []
    return [quoted(operand.type.name), *sizes, *_quantization(operand)]


def _quantization(operand: OperandView) -> list[str]:
    parts = []
    if operand.scale or operand.zero_point:
        parts.append(f"scale={number_text(operand.scale)}")
    if operand.zero_point:
        parts.append(f"zero_point={operand.zero_point}")
    return parts + _name_argument(operand)


def _name_argument(operand: OperandView) -> list[str]:
    return [f"name={quoted(operand.name)}"] if operand.name else []


def _array(value: Any, name: str, arrays: dict[str, Any]) -> str:
    """A constant as an expression: a literal if it is short, else an entry of the .npz file."""
    is_plain = value.dtype.kind in "iub" or (value.dtype == np.float32 and np.isfinite(value).all())
    if value.size > INLINE or not is_plain or value.size == 0:
        arrays[name] = value
        return f"CONSTANTS[{quoted(name)}]"
    if value.dtype == np.float32:
        shorter = np.vectorize(lambda item: float(str(item)), otypes=[float])
        return repr(shorter(value).tolist())
    return repr(value.tolist())
