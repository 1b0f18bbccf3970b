"""A model as one HTML page: zoom, search, operands of each operation, a choice of colours."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.log import one_line
from nnapi_shim.pictures import wording
from nnapi_shim.pictures.shades import Shades
from nnapi_shim.pictures.svg import DEEPEST, svg
from nnapi_shim.units import count

_TEMPLATE = Path(__file__).with_name("page.html")


def page(
    model: Model, all_shades: Sequence[Shades] = (), title: str = "", first: str | None = None
) -> str:
    """The text of a self-contained HTML file of a finished model.

    all_shades: the colours to choose from; first: the name of those that the page begins with, ""
    for none, by default the first. Raises as `svg`.
    """
    shown = all_shades[0].name if first is None and all_shades else first or ""
    picture = svg(model, None, title, others=all_shades)
    name = one_line(title) or "Model"
    data = {
        "title": name,
        "facts": count(len(model.operations), "operation"),
        "first": shown,
        "operations": dict(_operations(model.graph, "", 0)),
        "colours": [_colours(shades, model) for shades in all_shades],
    }
    values = {"TITLE": escape(name), "SVG": picture, "DATA": _embedded(data)}
    template = _TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], template)


def _embedded(data: Any) -> str:
    """JSON that cannot end the script element around it."""
    return json.dumps(data).replace("<", "\\u003c")


def _colours(shades: Shades, model: Model) -> dict[str, Any]:
    numbers = [view.number for view in model.operations]
    return {
        "name": shades.name,
        "title": shades.title,
        "fills": {str(number): shades.colour(number) for number in numbers},
        "texts": {str(number): shades.text(number) for number in numbers if shades.text(number)},
    }


def _operations(graph: GraphView, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Path and facts of each operation of a graph and of those within it."""
    writers: dict[int, str] = {}
    readers: dict[int, list[str]] = {}
    for view in graph.operations:
        for operand in view.outputs:
            writers[operand.index] = f"{path}{view.number}"
        for operand in view.inputs:
            readers.setdefault(operand.index, []).append(f"{path}{view.number}")
    for view in graph.operations:
        operands = [
            _operand(
                operand, role, True, [writers[operand.index]] if operand.index in writers else []
            )
            for role, operand in zip(view.roles, view.inputs, strict=True)
        ]
        operands += [
            _operand(operand, role, False, list(dict.fromkeys(readers.get(operand.index, ()))))
            for role, operand in zip(view.output_roles, view.outputs, strict=True)
        ]
        names = [item["name"] for item in operands]
        yield (
            f"{path}{view.number}",
            {
                "title": f"{view.number} {view.name}",
                "search": one_line(" ".join([str(view.number), view.name, *names])).lower(),
                "operands": operands,
            },
        )
        yield from _inside(view, path, depth)


def _inside(view: OperationView, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth < DEEPEST:
        for role, graph in wording.subgraphs(view):
            yield from _operations(graph, f"{path}{view.number}/{role}/", depth + 1)


def _operand(operand: OperandView, role: str, is_input: bool, others: list[str]) -> dict[str, Any]:
    name, *lines = map(one_line, wording.operand_details(operand, role))
    return {
        "role": role,
        "name": name,
        "short": wording.short(operand),
        "lines": [name, *lines] if wording.short(operand) != name else lines,
        "isInput": is_input,
        "others": others,
    }
