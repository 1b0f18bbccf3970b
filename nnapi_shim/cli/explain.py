"""`nnapi-shim explain`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import FAST, Devices, Force, Preference, names
from nnapi_shim.cli.output import (
    AsJson,
    present,
    shortened,
    spans,
    write,
    write_table,
)
from nnapi_shim.cli.unused import is_operation
from nnapi_shim.units import count, duration, size

if TYPE_CHECKING:
    from nnapi_shim.tools.explanation import Explanation
    from nnapi_shim.tools.operand_info import OperandInfo
    from nnapi_shim.tools.operation_info import Described

What = Annotated[
    str,
    typer.Argument(
        metavar="MODEL|OPERATION",
        help="A .tflite or .onnx file, a capture, a Python file or `module:attribute` with a "
        "model; or the name of an operation, such as CONV_2D.",
    ),
]


def explain(
    what: What,
    devices: Devices = None,
    preference: Preference = FAST,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """Show which device runs each operation of a model, and why; or describe an operation.

    Examples: nnapi-shim explain mobilenet.tflite --device npu,nnapi-cpu

    nnapi-shim explain CONV_2D
    """
    from nnapi_shim.tools.operation_info import described

    if is_operation(what):
        present(described(what), as_json, force, _show_operation)
        return
    from nnapi_shim.tools.explain import explain as find

    present(find(what, names(devices), preference=preference), as_json, force, _show)


def _show(explanation: "Explanation") -> None:
    steps = count(len(explanation.steps), "step")
    operations = count(len(explanation.operations), "operation")
    write(f"{operations}, {steps}: {explanation.decision}")
    if explanation.problem:
        write(f"cannot be compiled: {explanation.problem}")
    if explanation.fallback:
        write(f"fallback if a device that is not built in fails: {explanation.fallback}")
    for name, reason in explanation.left_out.items():
        write(f"{name} is excluded: {reason}")
    for note in explanation.notes:
        write(f"from the file: {note}")
    write()
    write_table(
        (">#", "operation", "output", ">level", "runs on", "why"),
        [
            (
                item.number,
                item.name,
                ", ".join(map(_operand, item.outputs)),
                item.level,
                item.device or "nothing",
                item.why,
            )
            for item in explanation.operations
        ],
    )
    if explanation.divisions:
        _show_divisions(explanation)
    for name in explanation.devices:
        _list(f"not on {name}", _not_on(name, explanation))
    _list("passes of nnapi-cpu", (f"{item.what} ({item.name})" for item in explanation.passes))
    _list("newer than feature level 1", _newer(explanation))
    if len(explanation.steps) > 1:
        _show_steps(explanation)


def _show_divisions(explanation: "Explanation") -> None:
    """The estimated times of divisions."""
    write()
    write_table(
        ("division", "devices", ">estimated", ">computing", ">calls", ">handing over"),
        [
            (
                item.what,
                _in_order(item.devices),
                *map(duration, (item.seconds, item.computing, item.calls, item.handing_over)),
            )
            for item in explanation.divisions
        ],
    )


def _in_order(devices: Sequence[str]) -> str:
    """The devices of steps; of many the first ones."""
    shown = ", ".join(devices[:_MOST_STEPS])
    more = len(devices) - _MOST_STEPS
    return f"{shown} and {count(more, 'more step')}" if more > 0 else shown


_MOST_STEPS = 4


def _list(title: str, lines: Iterable[str]) -> None:
    """Lines under a title, if there are any."""
    for number, line in enumerate(lines):
        if not number:
            write(f"\n{title}:")
        write(f"  {line}")


def _not_on(device: str, explanation: "Explanation") -> Iterator[str]:
    """Why operations do not run on a device, grouped by reason."""
    groups: dict[tuple[str, ...], list[int]] = {}
    kinds: dict[tuple[str, ...], list[str]] = {}
    for item in explanation.operations:
        for verdict in item.verdicts:
            if verdict.device == device and not verdict.is_chosen:
                key = tuple(why.text for why in verdict.reasons)
                groups.setdefault(key, []).append(item.number)
                kinds.setdefault(key, []).append(item.name)
    for key, numbers in groups.items():
        yield f"{spans(numbers)} ({', '.join(dict.fromkeys(kinds[key]))}): {'; '.join(key)}"


def _newer(explanation: "Explanation") -> Iterator[str]:
    """Why operations need a level above 1: the first reason of a kind, and how many more."""
    groups: dict[str, list[int]] = {}
    for item in explanation.operations:
        kinds: dict[tuple[str, int | None], list[str]] = {}
        for why in item.newer:
            kinds.setdefault((why.rule, why.level), []).append(why.text)
        for (_, level), texts in kinds.items():
            more = f" and {len(texts) - 1} more like it" if len(texts) > 1 else ""
            text = f"{item.name}: {texts[0]}{more} (level {level})"
            groups.setdefault(text, []).append(item.number)
    for text, numbers in groups.items():
        yield f"{spans(numbers)} {text}"


def _show_steps(explanation: "Explanation") -> None:
    write()
    write_table(
        (">step", "device", ">operations", "which", ">handed in"),
        [
            (
                step.number,
                step.device,
                len(step.operations),
                spans(step.operations),
                size(step.bytes_in),
            )
            for step in explanation.steps
        ],
    )
    write()
    hand_overs = count(len(explanation.hand_overs), "hand-over")
    write(f"{hand_overs}, {size(explanation.handed_over_bytes)} in each run:")
    write()
    write_table(
        (">from", "device", ">to", "device", "operand", ">bytes"),
        [
            (
                item.from_step,
                item.from_device,
                item.to_step,
                item.to_device,
                f"{shortened(item.operand.name) or item.operand.index} {_operand(item.operand)}",
                size(item.operand.bytes),
            )
            for item in explanation.hand_overs
        ],
    )


def _operand(operand: "OperandInfo") -> str:
    sizes = ",".join(str(n) if n else "?" for n in operand.dimensions)
    return f"{operand.type}[{sizes}]" if operand.type.startswith("TENSOR") else operand.type


def _show_operation(description: "Described") -> None:
    write(f"{description.name} (code {description.code}, feature level {description.level})")
    write(description.formula)
    if description.types:
        write()
        columns = list(description.types[0].types)
        write_table(
            (">level", *columns),
            [(row.level, *[row.types[name].name for name in columns]) for row in description.types],
        )
    write()
    write("inputs -> outputs:")
    for form in description.forms:
        write(f"  level {form.level}: {' '.join(form.inputs)} -> {' '.join(form.outputs)}")
    if description.defaults:
        defaults = ", ".join(f"{name} {value}" for name, value in description.defaults.items())
        write(f"defaults of omitted inputs: {defaults}")
    if description.omittable:
        write(f"may be omitted: {', '.join(description.omittable)}")
    if description.deciding:
        write(f"decide the shape by their contents: {', '.join(description.deciding)}")
    empty = "; empty tensors are accepted" if description.takes_empty_tensors else ""
    write(f"output dimensions: {description.output_dimensions.rstrip('.')}{empty}")
    write(f"output scale and zero point: {description.output_quantization.rstrip('.')}")
    for title, sentences in (
        ("BAD_DATA when it is added, unless", description.rules),
        ("OP_FAILED when it is run, unless", description.checks),
    ):
        _list(title, (f"- {text}" for text in sentences))
