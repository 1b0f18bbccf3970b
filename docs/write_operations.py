"""Writes operations.md, the reference of all operations, from their declarations.

Rules are described by the docstrings of the functions that check them.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.operations import family, registry
from nnapi_shim.operations.declare import Form, Operands, Operation
from nnapi_shim.tools.rule_texts import sentence

HEAD = """# Operations

This page lists every operation with its types, its operands, and the uses that are refused.
`make docs` writes it from the declarations in `nnapi_shim/operations/`; do not edit it.

Every operation runs on both devices: *nnapi-cpu* has a compiled kernel for each of its types, and
*nnapi-reference* computes the formula in numpy. *Level* is the NNAPI feature level that introduced
a type or a form of an operation.

- *Types*: each row is one accepted combination of operand types. Short names: {short}.
- *Forms*: the accepted lists of operands, in order. An operand with a type in the list has that
  type in every row; `name...` stands for one or more operands.
- *Refused when added*: `addOperation` or `finish` returns `BAD_DATA` unless these conditions hold,
  if it can check them already.
- *Refused when run*: a computation returns `OP_FAILED` unless these conditions hold, in some
  operations `BAD_DATA`. It also fails for indices, boxes and scores that violate the
  description of the operation.

"""

TITLES = {
    "binary": "Arithmetic",
    "unary": "Functions of one tensor",
    "activation": "Activation functions",
    "softmax": "Softmax functions",
    "matmul": "Matrix products",
    "convolution": "Convolutions",
    "pooling": "Pooling",
    "normalization": "Normalization",
    "reduction": "Reductions",
    "comparison": "Comparisons",
    "logical": "Logic",
    "selection": "Selection",
    "lookup": "Lookups",
    "slicing": "Slices",
    "joining": "Concatenation and tiles",
    "padding": "Paddings",
    "reshape": "Shapes",
    "rearrange": "Order of elements",
    "resize": "Sizes of images",
    "conversion": "Conversions of types",
    "control_flow": "Control flow",
    "lstm": "LSTM networks",
    "lstm_quantized": "Quantized LSTM networks",
    "rnn": "Recurrent networks",
    "roi": "Regions of interest",
    "detection": "Object detection",
    "proposal": "Proposals of boxes",
    "sampling": "Random samples",
}
"""Family -> its heading, in the order of the page."""

SHORT = {
    OperandType.TENSOR_FLOAT32: "f32",
    OperandType.TENSOR_FLOAT16: "f16",
    OperandType.TENSOR_INT32: "i32",
    OperandType.TENSOR_QUANT8_ASYMM: "qu8",
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
    OperandType.TENSOR_QUANT8_SYMM: "qsym8",
    OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL: "qc8",
    OperandType.TENSOR_QUANT16_ASYMM: "q16",
    OperandType.TENSOR_QUANT16_SYMM: "qsym16",
    OperandType.TENSOR_BOOL8: "bool8",
}


def main() -> None:
    """Write operations.md."""
    Path(__file__).with_name("operations.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    short = ", ".join(f"`{name}` {type.name}" for type, name in SHORT.items())
    yield HEAD.format(short=short)
    declarations = registry()
    yield f"{len(declarations)} operations, by family:\n\n| family | operations |\n|---|---|\n"
    members = {name: [o for o in declarations if family(o.type) == name] for name in TITLES}
    for name, title in TITLES.items():
        links = ", ".join(f"[{o.type.name}](#{o.type.name.lower()})" for o in members[name])
        yield f"| [{title}](#{title.lower().replace(' ', '-')}) | {links} |\n"
    for name, title in TITLES.items():
        yield f"\n## {title}\n"
        for declaration in members[name]:
            yield from _operation(declaration)


def _operation(declaration: Operation) -> Iterator[str]:
    type = declaration.type
    yield f"\n### {type.name}\n\n{_prose(declaration.doc)}\n\n"
    yield f"Code {int(type)}."
    yield f" {_devices(declaration)}\n\n"
    yield from _types(declaration)
    yield "Forms:\n\n"
    for accepted in declaration.forms:
        yield f"- {_form(declaration, accepted)}\n"
    yield "\n"
    if declaration.defaults:
        defaults = ", ".join(f"`{name}` {value}" for name, value in declaration.defaults.items())
        yield f"Values of inputs that a form leaves out: {defaults}.\n\n"
    if declaration.omittable:
        yield f"May be omitted: {_names(sorted(declaration.omittable))}.\n\n"
    if declaration.values:
        yield f"Inputs whose values decide the shape: {_names(declaration.values)}.\n\n"
    yield f"Output dimensions: {_prose(sentence(declaration.shape))}"
    yield " Empty tensors are accepted.\n" if declaration.allow_zero_sized else "\n"
    yield f"Output scale and zero point: {_prose(sentence(declaration.quantization))}\n"
    for title, functions in (
        ("Refused when added, unless", declaration.rules),
        ("Refused when run, unless", declaration.checks),
    ):
        if functions:
            yield f"\n{title}:\n\n"
            yield from (f"- {_prose(sentence(function))}\n" for function in functions)


def _prose(text: str) -> str:
    """Text whose products are not taken for emphasis."""
    parts = text.split("`")
    parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def _devices(declaration: Operation) -> str:
    name = declaration.type.name.lower()
    if not declaration.types:
        return "Runs on nnapi-cpu and nnapi-reference."
    registries = {
        "nnapi-cpu": (
            f"nnapi_shim.drivers.cpu.lowering.{family(declaration.type)}",
            f"lower_{name}",
        ),
        "nnapi-reference": (f"nnapi_shim.drivers.reference.{family(declaration.type)}", name),
    }
    devices = [
        device
        for device, (module, function) in registries.items()
        if hasattr(import_module(module), function)
    ]
    return f"Runs on {' and '.join(devices)}."


def _types(declaration: Operation) -> Iterator[str]:
    if not declaration.types:
        yield "Types: those of the models that it refers to.\n\n"
        return
    columns = (*declaration.input_columns, *declaration.output_names)
    yield f"| level | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}\n"
    for level, *types in sorted(declaration.types.values(), key=lambda row: row[0]):
        yield f"| {level} | {' | '.join(_type(type) for type in types)} |\n"
    yield "\n"


def _type(type: OperandType) -> str:
    return SHORT.get(type, type.name)


def _form(declaration: Operation, accepted: Form) -> str:
    text = f"`{_operands(accepted.inputs)} -> {_operands(declaration.outputs_of(accepted))}`"
    return text if accepted.since == 1 else f"{text}, level {accepted.since}"


def _operands(operands: Operands) -> str:
    return " ".join(
        name
        + ("..." if name == operands.repeated else "")
        + ("" if type is None else f":{_type(type)}")
        for name, type in zip(operands.names, operands.types, strict=True)
    )


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    main()
