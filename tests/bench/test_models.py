"""The networks of the benchmark: as large as published, and computed as nnapi-reference does."""

from importlib import import_module

import numpy as np
import pytest

from tests.bench import models
from tests.bench.models.network import Network, random_inputs

SIZES = {
    "inception_v3": 75,
    "ssd_mobilenet_v1": 64,
    "lstm": 3,
    "conformer": 12,
    **dict.fromkeys(("bert_tiny", "bert_base", "transformer_100m"), 6),
}
"""Of pictures and sequences, where 32 is not what takes least."""
WIDTH = 1 / 8


def small(name: str):
    return models.network(name, SIZES.get(name, 32), WIDTH)


def published() -> dict[str, int]:
    modules = {name: import_module(f"tests.bench.models.{name}") for name in models.NAMES}
    return {n: module.PARAMETERS for n, module in modules.items() if hasattr(module, "PARAMETERS")}


@pytest.mark.parametrize(("name", "parameters"), published().items())
def test_parameters(name, parameters, monkeypatch) -> None:
    """As many as published, where a normalisation has two of each channel, and is one here."""
    monkeypatch.setattr(Network, "random", lambda *arguments: np.zeros(arguments[1], np.float32))
    result, _ = models.network(name)
    assert result.parameters + result.normalised == parameters


@pytest.mark.parametrize("name", [*models.NAMES, *models.LARGE])
def test_float_agrees_with_the_reference(name) -> None:
    _, model = small(name)
    inputs = random_inputs(model, np.random.default_rng(1))
    inputs = inputs[: len(inputs) - len(model.carried)]
    ours, reference = (
        model.compile(device).run(*inputs) for device in ("nnapi-cpu", "nnapi-reference")
    )
    for a, b in zip(listed(ours), listed(reference), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
        assert a.std() > 0


@pytest.mark.parametrize("name", [name for name in models.NAMES if name not in models.FLOAT_ONLY])
def test_int8_is_what_the_reference_computes_and_near_to_float(name) -> None:
    result, model = small(name)
    quantized, whole = models.quantized(name, result, model, SIZES.get(name, 32))
    inputs = random_inputs(whole, np.random.default_rng(1))
    ours, reference = (
        whole.compile(device).intermediates(*inputs) for device in ("nnapi-cpu", "nnapi-reference")
    )
    for operand in ours:
        if "DEQUANTIZE" in {item.name for item in whole.graph.operations}:
            break  # float parts may round to the next step
        assert (ours[operand] == reference[operand]).all(), operand
    exact = model.compile("nnapi-cpu").intermediates(
        *random_inputs(model, np.random.default_rng(1))
    )
    last = quantized.activations[-1]
    real = (ours[last].astype(np.float32) - last.zero_point) * np.float32(last.scale)
    expected = exact[result.activations[-1]]
    assert np.corrcoef(real.ravel(), expected.ravel())[0, 1] > 0.9


def listed(results):
    return list(results) if isinstance(results, list | tuple) else [results]
