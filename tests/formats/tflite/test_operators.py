"""Every operator that NNAPI can express, next to LiteRT."""

import pytest

pytest.importorskip("ai_edge_litert")

from tests.formats.tflite.cases import CASES, Case
from tests.formats.tflite.running import compare


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator(case: Case) -> None:
    inputs = case.inputs() if case.inputs else []
    compare(case.make(), *inputs, steps=case.steps, tolerance=case.tolerance, seed=case.name)
