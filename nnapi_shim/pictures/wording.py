"""Texts for operands and operations in pictures: short ones for boxes, full ones for tooltips."""

from collections.abc import Iterator, Mapping

from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.hal.enums import FuseCode, OperandType, PaddingCode
from nnapi_shim.log import one_line

CODES = {"activation": FuseCode, "padding": PaddingCode}
"""Role of a scalar input -> the enum of its values."""

TIMES = "\u00d7"
"""Separator of sizes."""

_SHOWN = 8
"""Largest number of elements of a constant that is written out."""


def dimensions(operand: OperandView) -> str:
    """Sizes separated by TIMES; ? for an unknown one; "" for a scalar."""
    if operand.is_scalar:
        return ""
    return TIMES.join(str(size or "?") for size in operand.dimensions) or "?"


def type_name(operand: OperandView) -> str:
    """The type without TENSOR_, such as FLOAT32; a number for an extension type."""
    kind = operand.type
    return kind.name.removeprefix("TENSOR_") if isinstance(kind, OperandType) else f"{int(kind):#x}"


def typed(operand: OperandView) -> str:
    """Dimensions and type, such as 10 FLOAT32."""
    return f"{dimensions(operand)} {type_name(operand)}".lstrip()


def called(operand: OperandView) -> str:
    """The name of an operand, or its index if it has none."""
    return one_line(operand.name) or f"operand {operand.index}"


def short(operand: OperandView) -> str:
    """A short name: the last of several names, and of that the last part of a path."""
    name = called(operand)
    last = name.rpartition(";")[2] or name
    parts = [part for part in last.split("/") if part]
    return parts[-1] if parts else name


def quantization(operand: OperandView) -> Mapping[str, str]:
    """Name -> text of the quantization parameters; empty if not quantized."""
    channels = operand.channel_quant
    if channels is not None and len(channels.scales):
        low, high = min(channels.scales), max(channels.scales)
        return {
            "scales": f"{len(channels.scales)} from {low:.6g} to {high:.6g}",
            "channel_dim": str(channels.channel_dim),
        }
    if not operand.scale:
        return {}
    fields = {"scale": f"{operand.scale:.9g}"}
    if operand.type != OperandType.TENSOR_INT32:  # it has none
        fields["zero_point"] = str(operand.zero_point)
    return fields


def value(operand: OperandView, role: str = "") -> str:
    """A short text of a constant: a scalar, a few elements, or a range. "" for other operands.

    role: its role in the operation; for roles in CODES the text is the enum name.
    """
    array = operand.value
    if array is None:
        return ""
    if array.ndim == 0 and role in CODES and int(array) in set(CODES[role]):
        return CODES[role](int(array)).name
    if array.size > _SHOWN:
        return f"{array.size} elements from {array.min():.6g} to {array.max():.6g}"
    elements = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in array.ravel().tolist()]
    return elements[0] if array.ndim == 0 else f"[{', '.join(elements)}]"


def parameters(operation: OperationView) -> Iterator[str]:
    """The constants among the inputs: dimensions of tensors, values of scalars.

    Omitted inputs and default values are left out. Width and height of a parameter are joined.
    """
    match = operation.match
    defaults = match.operation.defaults if match else {}
    texts: dict[str, str] = {}
    for role, operand in zip(operation.roles, operation.inputs, strict=True):
        if not operand.is_constant or operand.subgraph is not None:
            continue
        if operand.is_scalar:
            array = operand.value
            if role in defaults and array is not None and array.item() == defaults[role]:
                continue
            if role == "activation" and value(operand, role) == FuseCode.NONE.name:
                continue
            texts[role] = value(operand, role)
        else:
            short = operand.value is not None and operand.value.size <= 4
            texts[role] = value(operand) if short else dimensions(operand)
    for role, text in texts.items():
        whole, _, side = role.rpartition("_")
        if side == "height" and f"{whole}_width" in texts:
            continue
        if side == "width" and f"{whole}_height" in texts:
            yield f"{whole} {text}{TIMES}{texts[f'{whole}_height']}"
        else:
            yield text if role in CODES and not text.isdigit() else f"{role} {text}"


def operand_details(operand: OperandView, role: str = "") -> Iterator[str]:
    """The details of an operand, part by part."""
    yield called(operand)
    if operand.is_omitted:
        yield "omitted"
        return
    yield typed(operand)
    for name, text in quantization(operand).items():
        yield f"{name} {text}"
    if text := value(operand, role):
        yield f"= {text}"


def tooltip(operation: OperationView) -> str:
    """The full text of an operation, one operand per line."""
    lines = [f"{operation.name} (operation {operation.number})"]
    for roles, operands in (
        (operation.roles, operation.inputs),
        (operation.output_roles, operation.outputs),
    ):
        lines += [
            f"{role}: {', '.join(operand_details(operand, role))}"
            for role, operand in zip(roles, operands, strict=True)
        ]
    return "\n".join(lines)


def subgraphs(operation: OperationView) -> Iterator[tuple[str, GraphView]]:
    """The graphs that IF and WHILE refer to, as then, else, condition and body."""
    for role, operand in zip(operation.roles, operation.inputs, strict=True):
        if operand.subgraph is not None:
            yield role.partition("_")[0], operand.subgraph
