"""Docstrings of the fields of named tuples."""

import re
from inspect import cleandoc
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type[tuple[Any, ...]])

_FIELD = re.compile(r"^(\w+): (.*(?:\n    .*)*)", re.MULTILINE)


def with_fields(kind: Kind) -> Kind:
    """Decorator of a NamedTuple: the lines `field: meaning.` of its docstring describe the fields.

    Without it, help() says "Alias for field number 0".
    """
    for name, words in _FIELD.findall(cleandoc(kind.__doc__ or "")):
        text = " ".join(words.split())
        getattr(kind, name).__doc__ = text[:1].upper() + text[1:]
    return kind
