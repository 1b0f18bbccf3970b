"""Literals of C."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.source.graphs import number_text


def string_literal(text: str) -> str:
    """A string; non-alphanumeric bytes are octal escapes of three digits."""
    encoded = text.encode(errors="surrogateescape")
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-+/:,;=()[]"
    return '"' + "".join(chr(c) if c in plain else f"\\{c:03o}" for c in encoded) + '"'


def list_literal(values: Sequence[Any], type: str = "uint32_t") -> str:
    """A list of numbers as an array literal; NULL for an empty list."""
    if not values:
        return "NULL"
    return f"(const {type}[]){{{', '.join(map(str, values))}}}"


def float_literal(value: float) -> str:
    """A float32."""
    text = number_text(value)
    return f"{text}f" if np.isfinite(value) else "__builtin_inff()"
