"""What all reports share: how they become JSON, and how long work tells how far it is."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

Progress = Callable[[int, int, str], None]
"""Told from time to time: how much is done, of how much, and what is done now."""

LARGEST_ARRAY = 4096
"""Elements of an array that stands in JSON; larger ones are for files of numpy."""


def untold(done: int, total: int, what: str) -> None:
    """The Progress of work that nobody watches."""


class Report:
    """A dataclass that is the answer to a question. Names and types of its fields stay."""

    def to_json(self) -> dict[str, Any]:
        """The same as dictionaries, lists, texts and numbers; the keys are the fields' names.

        Members of enumerations are their names; numbers that JSON does not have are the texts
        "inf", "-inf" and "nan"; arrays of more than LARGEST_ARRAY elements are null.
        """
        result = as_json(self)
        assert isinstance(result, dict)
        return result


def as_json(value: Any) -> Any:
    """A value as JSON has it; see Report.to_json."""
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return as_json(value._asdict())
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):  # of numpy
        return as_json(value.tolist()) if value.size <= LARGEST_ARRAY else None
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)
