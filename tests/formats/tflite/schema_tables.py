"""nnapi_shim/formats/tflite/tables.py, made of the package `tflite`.

python -m tests.formats.tflite.schema_tables    writes it
"""

import inspect
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tflite

from nnapi_shim.formats.tflite import tables

FILE = Path(tables.__file__)
ENUMERATIONS = ("BuiltinOperator", "BuiltinOptions", "BuiltinOptions2", "TensorType")
CODES = {
    "Bool": "?",
    "Int8": "b",
    "Uint8": "B",
    "Int16": "h",
    "Uint16": "H",
    "Int32": "i",
    "Uint32": "I",
    "Int64": "q",
    "Uint64": "Q",
    "Float32": "f",
    "Float64": "d",
}
_SLOT = re.compile(r"self\._tab\.Offset\((\d+)\)")
_NUMBER = re.compile(r"self\._tab\.Get\(flatbuffers\.number_types\.(\w+)Flags")
_TABLE = re.compile(r"from tflite\.(\w+) import")
_DEFAULT = re.compile(r"return (\S+)\n*$")


def field(source: str) -> tuple[int, str]:
    """The position of a getter's field, and its kind."""
    at = (int(_SLOT.search(source)[1]) - 4) // 2
    if made := _TABLE.search(source):
        kind = made[1]
    elif number := _NUMBER.search(source):
        kind = CODES[number[1]]
    else:
        kind = "s" if "self._tab.String(" in source else "u"
    if "self._tab.Vector(" in source:
        return at, f"[{kind}]"
    default = _DEFAULT.search(source)[1]
    return at, kind if default in ("0", "0.0", "False", "None") else f"{kind}={default}"


def fields(name: str) -> str:
    """The fields of a table."""
    counts: list[int] = []
    getattr(tflite, f"{name}Start")(SimpleNamespace(StartObject=counts.append))
    result = ["_"] * counts[0]
    for method, function in vars(getattr(tflite, name)).items():
        is_getter = inspect.isfunction(function) and "_tab.Offset(" in inspect.getsource(function)
        if is_getter and not method.endswith(("Length", "AsNumpy", "IsNone")):
            at, kind = field(inspect.getsource(function))
            result[at] = f"{method}:{kind}"
    return " ".join(result)


def codes(name: str) -> str:
    """The members of an enumeration, by number."""
    members = {v: k for k, v in vars(getattr(tflite, name)).items() if isinstance(v, int)}
    return " ".join(members[at] for at in range(len(members)))


def entries(values: dict[str, str]) -> str:
    """A dictionary as Python source."""
    lines = []
    for name, value in values.items():
        parts = [value] if len(value) <= 90 else textwrap.wrap(value, 88)
        if len(parts) == 1 and len(name) + len(value) < 88:
            lines.append(f'    "{name}": "{value}",')
        else:
            quoted = [f'        "{part} "' for part in parts[:-1]] + [f'        "{parts[-1]}"']
            lines += [f'    "{name}": (', *quoted, "    ),"]
    return "{\n" + "\n".join(lines) + "\n}"


def text() -> str:
    """The source of the file."""
    made: list[Any] = [
        name
        for name, item in vars(tflite).items()
        if inspect.isclass(item) and "Init" in vars(item)
    ]
    return f'''"""The tables and enumerations of the schema of .tflite files.

Written by tests/formats/tflite/schema_tables.py from the package `tflite`, whose import takes
longer than loading a small model.
"""

TABLES = {entries({name: fields(name) for name in sorted(made)})}
"""Table -> its fields in order, `_` for one that is not read.

A field is a name and a kind: a format of the module struct, s for a text, u for a union, a table,
or a vector of one of them in brackets; and a default that is not 0.
"""

ENUMERATIONS = {entries({name: codes(name) for name in ENUMERATIONS})}
"""Enumeration -> its names in the order of their numbers, which begin at 0 and have no gaps."""
'''


if __name__ == "__main__":
    FILE.write_text(text())
