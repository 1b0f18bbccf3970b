"""Text and HTML representations of models: one line, a text table, an HTML table."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nnapi_shim.api.html import MOST_ROWS, Row, escaped, html_table
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.log import one_line
from nnapi_shim.units import count

_MOST_KINDS = 4
"""The most kinds of operations in a one-line summary."""


def operand_text(operand: OperandView) -> str:
    """A short form of an operand: a scalar's value, or index, name, type and dimensions."""
    if operand.is_omitted:
        return "omitted"
    if operand.subgraph is not None:
        return f"model of {count(len(operand.subgraph.operations), 'operation')}"
    if operand.is_scalar and operand.value is not None:
        return str(operand.value.item())
    name = f" '{operand.name}'" if operand.name else ""
    return one_line(f"{operand.index}{name} {operand}")


def _argument_text(operand: OperandView) -> str:
    """One line for an input or output."""
    return one_line(f"{operand.name or operand.index}: {operand}")


def _arguments(operands: Sequence[OperandView]) -> str:
    return ", ".join(map(_argument_text, operands)) or "nothing"


def signature(graph: GraphView) -> str:
    """`x: TENSOR_FLOAT32[1, 2] -> y: TENSOR_FLOAT32[1]`."""
    return f"{_arguments(graph.input_operands)} -> {_arguments(graph.output_operands)}"


def counts(graph: GraphView) -> str:
    """The numbers of operands and operations, and the most frequent kinds of operations."""
    kinds = Counter(item.name for item in graph.operations)
    shown = [f"{times} {name}" for name, times in kinds.most_common(_MOST_KINDS)]
    rest = len(kinds) - len(shown)
    if rest > 0:
        shown.append(count(rest, "other kind"))
    suffix = f" ({', '.join(shown)})" if shown else ""
    operands = count(len(graph.operands), "operand")
    return f"{operands}, {count(len(graph.operations), 'operation')}{suffix}"


def rows(graph: GraphView) -> Iterator[Row]:
    """Per operation: number, name, inputs with their roles, outputs."""
    for item in graph.operations:
        inputs = [
            f"{role} = {operand_text(operand)}"
            for role, operand in zip(item.roles, item.inputs, strict=True)
        ]
        outputs = [operand_text(operand) for operand in item.outputs]
        yield str(item.number), item.name, ", ".join(inputs), ", ".join(outputs)


_FRAME = "max-height: 480px; overflow: auto; background: #fff"

HEAD = ("#", "operation", "inputs", "outputs")


def text(title: str, graph: GraphView) -> str:
    """A table of text."""
    table = [HEAD, *rows(graph)]
    widths = [max(len(row[at]) for row in table) for at in range(2)]
    lines = [title, f"inputs:  {_arguments(graph.input_operands)}"]
    lines.append(f"outputs: {_arguments(graph.output_operands)}")
    for number, name, inputs, outputs in table:
        lines.append(f"{number:>{widths[0]}}  {name:<{widths[1]}}  {inputs} -> {outputs}")
    return "\n".join(lines)


def html(title: str, graph: GraphView, picture: str = "") -> str:
    """A picture, as SVG, and tables of operations and operands. Everything from the model is
    escaped.
    """
    table = list(rows(graph))
    operands = (
        (
            str(operand.index),
            operand.name,
            str(operand),
            operand.quantization,
            operand.lifetime.name,
        )
        for operand in graph.operands[:MOST_ROWS]
    )
    return "\n".join(
        [
            '<div class="nnapi-shim">',
            f"<p>{escaped(one_line(title))}<br>{escaped(signature(graph))}</p>",
            *([f'<div style="{_FRAME}">{picture}</div>'] if picture else []),
            f"<details{'' if picture else ' open'}><summary>Operations</summary>",
            *html_table(HEAD, table[:MOST_ROWS], len(table)),
            "</details>",
            "<details><summary>Operands</summary>",
            *html_table(
                ("#", "name", "type", "quantization", "lifetime"), operands, len(graph.operands)
            ),
            "</details>",
            "</div>",
        ]
    )
