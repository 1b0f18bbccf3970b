"""Writes the typed methods of Model, nnapi_shim/api/methods/, from the declarations of operations.

A class per family, with signatures and docstrings; api/calling.py implements the methods.
`make library`, an editable installation and the build of a wheel (hatch_build.py) run this.
"""

import keyword
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.api.calling import PADS, PAIRS
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations import FAMILIES, family, registry
from nnapi_shim.operations.declare import Operation
from nnapi_shim.tools.rule_texts import sentence

T = OperandType
TARGET = Path(__file__).parent / "nnapi_shim" / "api" / "methods"
WIDTH = 100
MANY = 8
"""Needed inputs, from which on they are given by name."""

DEFAULTS: dict[str, str] = {
    "activation": '"NONE"',
    "beta": "1.0",
    **dict.fromkeys(("stride", "dilation"), "1"),
    **dict.fromkeys(("keep_dims", "adj_x", "adj_y", "time_major", "merge_outputs"), "False"),
    **dict.fromkeys(("cell_clip", "proj_clip", "projection_clip"), "0.0"),
    **dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), "0"),
}
"""Defaults of methods, where the specification has none: what leaves the result as it is."""

NOT_HERE = {("LOCAL_RESPONSE_NORMALIZATION", "beta")}
"""(operation, input) of the same name that means something else."""

SAYS = {
    "activation": "applied to the result",
    "padding": "a scheme, or zeros in front and behind: (left, right, top, bottom)",
    "stride": "(width, height), or one number for both",
    "dilation": "(width, height), or one number for both",
    "filter": "size of the window: (width, height), or one number for both",
    "nchw": "whether channels precede height and width",
    "cell activation": "that of the cell",
    "output_count": "how many outputs; None for as few as there can be",
    "num_splits": "number of outputs",
}

FREE = ("declared", "declared_or", "box_parameters")
"""What says that a program decides the scale and zero point of some output."""

SCALAR_HINTS = {T.INT32: "Int", T.UINT32: "Int", T.BOOL: "Bool", T.MODEL: "WholeModel"}


class Parameter(NamedTuple):
    """A parameter of a method: its name, type and default (None: needed), and its documentation."""

    name: str
    hint: str
    default: str | None
    text: str


def write(folder: Path = TARGET) -> None:
    """Make a folder hold these modules and no others; a file that is right is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = files()
    for path in folder.glob("*.py"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def files() -> dict[str, str]:
    """Name -> text of each file: a single one, which is imported faster than one per family."""
    return {"__init__.py": "\n".join(_module()) + "\n"}


def _module() -> Iterator[str]:
    bodies = {name: "\n".join(_family(name)) for name in FAMILIES}
    text = "\n".join(bodies.values())
    yield '"""The typed methods of Model; build_methods.py writes them from the declarations."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield "from collections.abc import Sequence"
    yield ""
    hints = ("Activation", "Bool", "CellActivation", "Float", "Given", "Int", "Pair", "Padding")
    hints += ("Sizes", "Type")
    words = set(text.replace('"', " ").translate(str.maketrans("[](),|=:", " " * 8)).split())
    yield "from nnapi_shim.api.base_model import WholeModel"
    yield "from nnapi_shim.api.calling import Calling, Output"
    yield "from nnapi_shim.api.operand import Operand"
    yield "from nnapi_shim.api.types import ("
    yield from (f"    {hint}," for hint in sorted(words.intersection(hints)))
    yield ")"
    yield "from nnapi_shim.api.view import OperandView"
    yield "from nnapi_shim.hal.enums import OperationType"
    yield "\n"
    for name in sorted(FAMILIES):
        yield bodies[name]
        yield "\n"
    yield "class Methods("
    yield from (f"    {_class(name)}," for name in FAMILIES)
    yield "):"
    yield '    """Every operation as a method."""'


def _class(name: str) -> str:
    return "".join(word.title() for word in name.split("_")) + "Methods"


def _family(name: str) -> Iterator[str]:
    """The class of a family."""
    declarations = [d for d in registry() if family(d.type) == name]
    yield f"class {_class(name)}(Calling):"
    yield f'    """{", ".join(d.type.name for d in declarations)[: WIDTH - 12]}."""'
    for declaration in declarations:
        yield from _method(declaration)


def method_name(declaration: Operation) -> str:
    """What the method of an operation is called."""
    name = declaration.type.name.lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def parameters(declaration: Operation) -> tuple[list[Parameter], list[Parameter]]:
    """The parameters of a method: those that may be given by position, those by name."""
    names: dict[str, OperandType | None] = {}
    repeated = {accepted.inputs.repeated for accepted in declaration.forms}
    for accepted in sorted(declaration.forms, key=lambda form: -len(form.inputs.names)):
        for name, type in zip(accepted.inputs.names, accepted.inputs.types, strict=True):
            names.setdefault(name, type)
    by_name: dict[str, Parameter] = {}
    for name, type in names.items():
        short = _short(name, names)
        if short not in by_name:
            by_name[short] = _parameter(declaration, short, name, type, repeated)
    needed = [
        p for p in by_name.values() if p.default is None and p.name not in ("padding", "filter")
    ]
    needed += [p for p in by_name.values() if p.name == "filter" and p.hint == "Given"]
    order = [p.name for p in by_name.values()]
    needed.sort(key=lambda p: order.index(p.name))
    if len(needed) > MANY:
        needed = needed[:1]
    last = max(order.index(p.name) for p in needed)
    for p in list(by_name.values())[last + 1 :]:  # what may be omitted at the end
        if p.name in declaration.omittable and len(order) <= MANY:
            needed.append(p)
    others = [p for p in by_name.values() if p not in needed]
    return needed, others


def _short(name: str, names: Any) -> str:
    """The parameter of an input."""
    if name in PADS:
        return "padding"
    for pair in PAIRS:
        if name in (f"{pair}_width", f"{pair}_height") and f"{pair}_width" in names:
            return pair
    return name


def _parameter(
    declaration: Operation, short: str, name: str, type: OperandType | None, repeated: set[str]
) -> Parameter:
    default = None
    if (declaration.type.name, short) not in NOT_HERE:
        default = DEFAULTS.get(short)
    if name in declaration.defaults and short not in ("padding", "stride", "dilation"):
        default = repr(declaration.defaults[name])
    if default is None and short == name != "padding" and not _is_everywhere(declaration, name):
        default = "None"
    if name in declaration.omittable:
        default = "()" if name in repeated else "None"
    if short == "padding":
        return Parameter(short, "Padding", None, SAYS[short])
    if short != name:
        return Parameter(short, "Pair", default, SAYS[short])
    text = SAYS.get(short, "") if type is not None else ""
    kinds = _kinds(declaration, name, type)
    if short == "activation":
        if "LSTM" in declaration.type.name:
            return Parameter(short, "CellActivation", '"TANH"', SAYS["cell activation"])
        return Parameter(short, "Activation", default, text)
    if name in repeated:
        hint = "Sequence[Given]"
    elif short == "num_splits":
        hint = "int"
    elif type is not None:
        hint = SCALAR_HINTS.get(type, "Given")
    else:
        hint = "Float" if _is_real(declaration, name) else "Given"
    if default == "None":
        hint += " | None"
    text = ", ".join(part for part in (kinds, text) if part)
    if name in declaration.products:
        factors = " and ".join(declaration.products[name])
        text += f"; an integer array gets the product of the scales of {factors}"
    return Parameter(short, hint, default, text)


def _is_everywhere(declaration: Operation, name: str) -> bool:
    """Whether all forms of an operation have an input."""
    return all(name in accepted.inputs.names for accepted in declaration.forms)


def _rows(declaration: Operation, name: str) -> dict[OperandType, int]:
    """The types of an operand and the level since which it can have them."""
    levels: dict[OperandType, int] = {}
    for row in declaration.types.values():
        type = declaration.row_types(row).get(name)
        if type is not None:
            levels[type] = min(levels.get(type, row[0]), row[0])
    return levels


def _is_real(declaration: Operation, name: str) -> bool:
    kinds = set(_rows(declaration, name))
    return bool(kinds) and kinds <= {T.FLOAT32, T.FLOAT16}


def _kinds(declaration: Operation, name: str, type: OperandType | None) -> str:
    """What an operand may be, in words."""
    if type is not None:
        return type.name
    first = min((row[0] for row in declaration.types.values()), default=1)
    rows = _rows(declaration, name)
    return ", ".join(
        kind.name + (f" (level {level})" if level > first else "") for kind, level in rows.items()
    )


def _outputs(declaration: Operation) -> tuple[tuple[str, ...], bool]:
    """Names of the outputs, and whether there may be other numbers of them."""
    ways = [declaration.outputs_of(accepted) for accepted in declaration.forms]
    longest = max(ways, key=lambda way: len(way.names))
    return longest.names, any(way.repeated or way != longest for way in ways)


def _is_free(declaration: Operation) -> bool:
    """Whether a program says the scale and zero point of outputs."""
    which = declaration.quantization.__qualname__.partition(".")[0]
    rows = [declaration.row_types(row) for row in declaration.types.values()]
    types = {row.get(name) for row in rows for name in declaration.output_names}
    return which in FREE and not types.isdisjoint(QUANTIZED_RANGE)


def _has_choice(declaration: Operation) -> bool:
    """Whether the same inputs may have outputs of several types."""
    outputs_of: dict[Any, set[Any]] = {}
    for accepted in declaration.forms:
        for (inputs, outputs), _ in declaration.uses(len(accepted.inputs.names)):
            outputs_of.setdefault(inputs, set()).add(outputs[:1])
    return any(len(outputs) > 1 for outputs in outputs_of.values())


def _method(declaration: Operation) -> Iterator[str]:
    """A method, line by line."""
    needed, others = parameters(declaration)
    outputs, is_several = _outputs(declaration)
    has_count = is_several and declaration.type.name not in ("SPLIT", "IF")
    is_free, has_choice = _is_free(declaration), _has_choice(declaration)
    yield ""
    yield f"    def {method_name(declaration)}("
    for first, listed in (("self", needed), ("*", others)):
        yield f"        {first},"
        for p in listed:
            yield f"        {p.name}: {p.hint}" + ("," if p.default is None else f" = {p.default},")
    if has_count:
        yield "        output_count: int | None = None,"
    if has_choice:
        yield "        output: Type | None = None,"
    yield "        dimensions: Sizes = None,"
    if is_free:
        yield "        scale: float | None = None,"
        yield "        zero_point: int = 0,"
        yield "        like: Operand | OperandView | None = None,"
    several = is_several or len(outputs) > 1
    yield '        name: str | Sequence[str] = "",' if several else '        name: str = "",'
    if is_several:
        result = "tuple[Operand, ...]"
    else:
        result = f"tuple[{', '.join(['Operand'] * len(outputs))}]" if several else "Operand"
    yield f"    ) -> {result}:"
    yield from _docstring(declaration, [*needed, *others], has_count, is_free, has_choice)
    arguments = [f'                "{p.name}": {p.name},' for p in (*needed, *others)]
    wanted = ["dimensions", "name"]
    if is_free:
        wanted += ["scale", "zero_point", "like"]
    if has_choice:
        wanted.append("type=output")
    count = "output_count" if has_count else "None"
    if declaration.type.name == "SPLIT":
        count = "num_splits"
    head = "return " if is_several or not several else f"{', '.join(outputs)} = "
    yield f"        {head}self.{'_several' if several else '_one'}("
    yield f"            OperationType.{declaration.type.name},"
    yield "            {"
    yield from arguments
    yield "            },"
    yield f"            Output({', '.join(wanted)}),"
    if several:
        yield f"            {count},"
    yield "        )"
    if several and not is_several:
        yield f"        return {', '.join(outputs)}"


def _docstring(
    declaration: Operation,
    listed: list[Parameter],
    has_count: bool,
    is_free: bool,
    has_choice: bool,
) -> Iterator[str]:
    level = min(
        max(accepted.since, min((row[0] for row in declaration.types.values()), default=1))
        for accepted in declaration.forms
    )
    yield f'        """The operation {declaration.type.name}.'
    yield ""
    yield from _wrapped(declaration.doc, 8, 8)
    yield ""
    for p in listed:
        if p.text:
            yield from _wrapped(f"{p.name}: {p.text}.", 8, 12)
    if has_count:
        yield from _wrapped(f"output_count: {SAYS['output_count']}.", 8, 12)
    if has_choice:
        yield from _wrapped("output: the type of the output, if the operation has a choice.", 8, 12)
    yield from _wrapped("dimensions: those of the output, if more is known than follows.", 8, 12)
    if is_free:
        text = "scale, zero_point: those of a quantized output. like: an operand that has the same."
        yield from _wrapped(text, 8, 12)
    names, _ = _outputs(declaration)
    outputs = []
    for name in names:
        kinds = _kinds(declaration, name, None)
        outputs.append(f"{name} ({kinds})" if kinds else name)
    yield ""
    yield from _wrapped(
        f"Returns {'; '.join(outputs)}. {_of_shape(sentence(declaration.shape))}", 8, 8
    )
    if is_free or any(type in QUANTIZED_RANGE for n in names for type in _rows(declaration, n)):
        text = sentence(declaration.quantization)
        yield from _wrapped(f"Scale and zero point: {text[:1].lower()}{text[1:]}", 8, 8)
    more = any(accepted.since > level for accepted in declaration.forms)
    yield f"        Since feature level {level}{'; longer forms need more' if more else ''}."
    yield ""
    yield "        Raises NnapiError: BAD_DATA for operands of other types."
    for title, functions in (
        ("BAD_DATA, unless", declaration.rules),
        ("OP_FAILED, also of runs, unless", declaration.checks),
    ):
        if functions:
            yield f"\n        {title}:\n"
        for function in functions:
            yield from _wrapped(f"- {sentence(function)}", 8, 10)
    yield '        """'


def _of_shape(sentence: str) -> str:
    return f"Dimensions: {sentence[:1].lower()}{sentence[1:]}"


def _wrapped(text: str, first: int, later: int) -> list[str]:
    text = text.replace("\\", "\\\\")
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * later,
        break_on_hyphens=False,
        break_long_words=False,
    )


if __name__ == "__main__":
    write()
