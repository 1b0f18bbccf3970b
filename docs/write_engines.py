"""Writes the table of engines.md from those of the export and of what engines get wrong.

The text above the table is the page's own.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nnapi_shim.drivers.engines.declined import Declined
from nnapi_shim.drivers.engines.declined_by_iree import DECLINED as BY_IREE
from nnapi_shim.drivers.engines.declined_by_litert import DECLINED as BY_LITERT
from nnapi_shim.drivers.engines.declined_by_onnxruntime import DECLINED as BY_ONNXRUNTIME
from nnapi_shim.drivers.engines.declined_by_openvino import DECLINED as BY_OPENVINO
from nnapi_shim.formats.onnx.exporting.table import RULES as TO_ONNX
from nnapi_shim.formats.tflite.exporting.table import RULES as TO_TFLITE
from nnapi_shim.operations import registry
from nnapi_shim.operations.declare import Operation

DEVICES = {
    "onnxruntime": BY_ONNXRUNTIME,
    "onnxruntime-openvino": BY_ONNXRUNTIME,
    "openvino": BY_OPENVINO,
    "iree-cpu": BY_IREE,
    "iree-vulkan": BY_IREE,
    "litert-cpu": BY_LITERT,
    "litert-gpu": BY_LITERT,
}
"""How the names of devices begin, and the rows of their engine."""

PAGE = Path(__file__).with_name("engines.md")

BEGIN = "## Operations\n"

TABLE = """## Operations

`make docs` writes this table, from `docs/write_engines.py`. *yes* means all types of the operation.
Inputs that decide shapes, sizes or activations must be constants, with some exceptions.

| operation | types | {devices} |
|---|---|{rules}|
"""


def main() -> None:
    """Write engines.md."""
    PAGE.write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield PAGE.read_text().partition(BEGIN)[0]
    yield TABLE.format(devices=" | ".join(DEVICES), rules="|".join(["---"] * len(DEVICES)))
    for operation in registry():
        cells = [_cell(operation.type.name, device, rows) for device, rows in DEVICES.items()]
        yield f"| {operation.type.name} | {_types(operation)} | {' | '.join(cells)} |\n"


def _types(operation: Operation) -> str:
    """The types of the first operand, short."""
    short = {name.removeprefix("TENSOR_").lower() for name in _first_types(operation)}
    return ", ".join(sorted(short)) or "those of its graphs"


def _first_types(operation: Operation) -> Iterator[str]:
    for _, *types in operation.types.values():
        first = types[0]
        yield first.name if hasattr(first, "name") else str(first)


def _cell(name: str, device: str, rows: Sequence[Declined]) -> str:
    """Whether a device takes an operation, and what it does not take of it."""
    rule = (TO_TFLITE if device.startswith("litert") else TO_ONNX)[name]
    if rule.lower is None:
        return f"no: {rule.why}"
    exceptions = [row for row in rows if name in row.operations and device.startswith(row.devices)]
    whole = [row for row in exceptions if not row.when]
    if whole:
        return f"no: {whole[0].why} ({whole[0].seen})"
    listed = "; ".join(f"not {row.when}: {row.why} ({row.seen})" for row in exceptions)
    return f"yes; {listed}" if listed else "yes"


if __name__ == "__main__":
    main()
