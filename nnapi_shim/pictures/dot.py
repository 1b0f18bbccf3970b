"""A model in the language of Graphviz."""

from collections.abc import Iterator

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.log import one_line
from nnapi_shim.pictures import wording
from nnapi_shim.pictures.shades import WHITE, Shades
from nnapi_shim.pictures.svg import DEEPEST


def dot(model: Model, shades: Shades | None = None, title: str = "") -> str:
    """The text of a .dot file of a finished model. Raises BAD_STATE for an unfinished one."""
    model.runtime.require_finished()
    return "\n".join(
        [
            "digraph {",
            f"  label={_quoted(title or 'Model')}; labelloc=t; fontname=sans;",
            '  node [shape=box, style="filled,rounded", fontname=sans, fontsize=10];',
            "  edge [fontname=sans, fontsize=8];",
            *_graph(model.graph, "", shades, 0),
            "}",
            "",
        ]
    )


def _graph(graph: GraphView, path: str, shades: Shades | None, depth: int) -> Iterator[str]:
    """Nodes and edges of a graph; the graphs within it are clusters."""
    writers: dict[int, str] = {}
    for kind, operands in (("input", graph.input_operands), ("output", graph.output_operands)):
        for at, operand in enumerate(operands):
            node = f"{path}{kind}{at}"
            label = f"{kind} {wording.short(operand)}\n{wording.typed(operand)}"
            yield f'  {_quoted(node)} [label={_quoted(label)}, shape=oval, fillcolor="#eceff3"];'
            if kind == "input":
                writers[operand.index] = node
    for view in graph.operations:
        node = f"{path}{view.number}"
        writers |= {operand.index: node for operand in view.outputs}
        yield f"  {_quoted(node)} [{_attributes(view, shades)}];"
        for role, inner in wording.subgraphs(view):
            if depth < DEEPEST:
                yield f"  subgraph {_quoted(f'cluster_{node}/{role}')} {{"
                yield f"  label={_quoted(f'{view.number} {view.name}: {role}')};"
                yield from _graph(inner, f"{node}/{role}/", None, depth + 1)
                yield "  }"
    for view in graph.operations:
        for operand in view.inputs:
            if operand.index in writers:
                yield _edge(writers[operand.index], f"{path}{view.number}", operand)
    for at, operand in enumerate(graph.output_operands):
        if operand.index in writers:
            yield _edge(writers[operand.index], f"{path}output{at}", operand)


def _attributes(view: OperationView, shades: Shades | None) -> str:
    lines = [f"{view.number} {view.name}", *wording.parameters(view)]
    if shades and shades.text(view.number):
        lines.append(shades.text(view.number))
    colour = shades.colour(view.number) if shades else WHITE
    label, tooltip = _quoted("\n".join(lines)), _quoted(wording.tooltip(view))
    return f'label={label}, tooltip={tooltip}, fillcolor="{colour}"'


def _edge(source: str, target: str, operand: OperandView) -> str:
    return f"  {_quoted(source)} -> {_quoted(target)} [label={_quoted(wording.typed(operand))}];"


def _quoted(text: str) -> str:
    r"""A string of the language; line breaks become `\n`."""
    lines = [one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\n".join(lines) + '"'
