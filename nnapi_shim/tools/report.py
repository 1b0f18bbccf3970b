"""Base of all reports: conversion to JSON, and progress callbacks."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

Progress = Callable[[int, int, str], None]
"""Progress callback: done, total, description of the current work."""

LARGEST_ARRAY = 4096
"""Largest number of elements of an array in JSON."""


def untold(done: int, total: int, what: str) -> None:
    """A Progress that does nothing."""


class Report:
    """Base of report dataclasses. Names and types of their fields are stable."""

    def to_json(self) -> dict[str, Any]:
        """The report as dictionaries, lists, strings and numbers; keys are field names.

        Enum members become their names; infinities and NaN become "inf", "-inf" and "nan"; arrays
        of more than LARGEST_ARRAY elements become null.
        """
        result = as_json(self)
        assert isinstance(result, dict)
        return result


def as_json(value: Any) -> Any:
    """A value for JSON; see Report.to_json."""
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
    if hasattr(value, "tolist"):  # a numpy value
        return as_json(value.tolist()) if value.size <= LARGEST_ARRAY else None
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)
