"""Writes a capture as a program that repeats its calls and compares the results."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from nnapi_shim.errors import bad_data
from nnapi_shim.formats import output_file
from nnapi_shim.formats.capture.data import Data
from nnapi_shim.formats.capture.plan import Planned, planned
from nnapi_shim.recording.reading import Capture

_PLAIN = re.compile(r"[A-Za-z0-9._+-]+", re.ASCII)
_LONGEST_NAME = 100
_IN_SOURCE = 64 << 10
"""Data up to this size is embedded in the source."""


class Language(Protocol):
    """A writer of calls in one programming language."""

    def call(self, plan: Planned, data: Data) -> Iterator[str]:
        """The lines of a call."""

    def program(self, title: str, calls: list[str], data: bytes, file: str) -> str:
        """The source. file: the name of the data file; "" to embed the data."""


def write_source(capture: Capture, path: Path, *, overwrite: bool = False) -> list[Path]:
    """Write a capture as `.c` or `.py` source; returns the paths of the written files.

    Raises BAD_DATA for another suffix, and as output_file.write.
    """
    language: Language
    if path.suffix == ".c":
        from nnapi_shim.formats.capture.c_source import C

        language = C()
    elif path.suffix == ".py":
        from nnapi_shim.formats.capture.python_source import Python

        language = Python()
    else:
        raise bad_data(
            f"{path} must end in .c or .py",
            "export.source.suffix",
        )
    data = Data(capture)
    lines = [line for plan in planned(capture) for line in language.call(plan, data)]
    contents = data.bytes()
    data_path = path.with_name(f"{path.name}.data") if len(contents) > _IN_SOURCE else None
    source = language.program(_title(capture), lines, contents, data_path.name if data_path else "")
    files: dict[output_file.Target, bytes] = {}
    if data_path is not None:
        files[data_path] = contents
    files[path] = source.encode()
    output_file.write_all(files, overwrite)
    return [path] if data_path is None else [path, data_path]


def _title(capture: Capture) -> str:
    """A comment line with the name of the program, without comment ends and line breaks."""
    path = capture.program[0] if capture.program else ""
    name = "".join(_PLAIN.findall(path.rpartition("/")[2]))[:_LONGEST_NAME]
    cut = "" if capture.is_complete else " up to where it ended too early"
    return f"The Neural Networks calls of {name or 'a program'}{cut}, from a capture."
