"""Descriptions of the functions of a declaration: their docstrings, in one line.

A function made by a factory such as rank_at_most(4, "input") is described by the docstring of the
factory, in which the arguments replace their names in backquotes; _MORE has sentences for others.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_MORE = {
    "but": "Outputs of the type {} keep their own.",
    "scores_like": "`out_scores` has those of {}.",
    "variants": "Scale and zero point by type: {}.",
}
"""Argument of a factory -> the sentence about it, if it has a value."""


def sentence(function: Callable[..., Any]) -> str:
    """The description of a function, in one line."""
    if isinstance(function, partial):
        arguments = (*map(str, function.args), *(f"{k}: {v}" for k, v in function.keywords.items()))
        return f"{sentence(function.func)} ({', '.join(arguments)})"
    documented = inspect.getdoc(function)
    if documented:
        return " ".join(documented.split("\n\n")[0].split())
    if function.__name__ == "<lambda>":
        return _lambda(function)
    factory = getattr(sys.modules[function.__module__], function.__qualname__.split(".")[0])
    text = " ".join((inspect.getdoc(factory) or "").split("\n\n")[0].split())
    closure = inspect.getclosurevars(function).nonlocals
    values: list[str] = []
    for name, value in closure.items():
        if callable(value) or isinstance(value, bool) or value in ("", {}):
            continue
        shown = _levels(value) if name == "since" else _shown(value)
        if f"`{name}`" in text:
            text = text.replace(f"`{name}`", shown)
        else:
            values.append(_MORE[name].format(shown))
    inner = [sentence(value) for value in closure.values() if callable(value)]
    return " ".join([*inner, text, *values])


def _lambda(function: Callable[..., Any]) -> str:
    """The description of a lambda: of the functions that it calls, or else of its operands."""
    called = [
        function.__globals__[name]
        for name in function.__code__.co_names
        if inspect.isfunction(function.__globals__.get(name))
    ]
    if called:
        return " ".join(sentence(function_called) for function_called in called)
    skipped = ("dimensions", "outputs", "index")
    names = [n for n in function.__code__.co_names if n not in skipped and n.isidentifier()]
    return (
        f"those of {', '.join(f'`{name}`' for name in names)}." if names else "decided by the run."
    )


def _levels(since: Mapping[Any, int]) -> str:
    """The first feature level of each key."""
    return ", ".join(f"{key} from level {level}" for key, level in since.items())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} ({_shown(item)})" for key, item in value.items())
    if isinstance(value, tuple | list | set | frozenset):
        return ", ".join(map(_shown, value))
    return str(getattr(value, "name", value))
