"""A part of all forms; `make check-imports` goes through the others."""

import pytest

pytest.importorskip("ai_edge_litert")

from tests.formats.tflite.forms.__main__ import wrong
from tests.formats.tflite.forms.checking import outcomes
from tests.formats.tflite.forms.every import every
from tests.formats.tflite.forms.form import Form

EACH = 16
"""Of so many forms of an operator one is looked at, and always the first."""


def some() -> list[Form]:
    counted: dict[str, int] = {}
    chosen = []
    for form in every():
        at = counted[form.operator] = counted.get(form.operator, -1) + 1
        if at % EACH == 0:
            chosen.append(form)
    return chosen


def test_forms() -> None:
    result = list(outcomes(some(), ("nnapi-cpu",), runs=1))
    messages = [wrong(form, what) for form, what in result]
    assert not [line for line in messages if line]
    kinds = [what.kind for _, what in result]
    assert kinds.count("equal") > 250
