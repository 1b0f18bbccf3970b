"""A part of the test cases of the package onnx; `make check-imports-onnx` runs all."""

import pytest

pytest.importorskip("onnx.backend.test")

from tests.formats.onnx.backend import file_cases, light_cases, node_cases, outcomes

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
OPERATORS = ("Conv", "ConvTranspose", "Gemm", "LSTM", "Loop", "QLinearConv", "Resize", "TopK")
EACH = 3
"""Of so many whole models one is computed."""


def kinds(cases) -> list[str]:
    result = list(outcomes(cases, "nnapi-cpu"))
    assert not [item for item in result if item.kind == "wrong"]
    return [item.kind for item in result]


def test_cases_of_frameworks() -> None:
    result = kinds(file_cases(*FOLDERS))
    assert result.count("equal") + result.count("constant") >= 99


def test_cases_of_operators() -> None:
    result = kinds(node_cases(*OPERATORS))
    assert result.count("equal") + result.count("constant") >= 55


def test_whole_models() -> None:
    result = kinds(list(light_cases())[1::EACH])
    assert set(result) == {"equal"}
