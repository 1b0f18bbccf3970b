"""Requantized bytes as a line give the bytes of the table that the line replaces, on every tier."""

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering.byte_tables import rescaled
from nnapi_shim.drivers.cpu.lowering.elements import LINE, rescaling
from nnapi_shim.drivers.cpu.passes.graph import merge_quantization
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import NamedTuple
from nnapi_shim.tools.profile import profile
from tests.drivers.exact.comparison import tier, tiers

U8, S8 = OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED
DTYPES = {U8: np.uint8, S8: np.int8}
RATIOS = (1.0, 0.5, 2.0, 1 / 3, 1.0001, 0.9999, 127.9, 1e-6)
every_tier = pytest.mark.parametrize("name", tiers())


class Bytes(NamedTuple):
    """What lowering looks at of an operand."""

    type: OperandType
    scale: float
    zero_point: int
    dimensions: tuple[int, ...] = (1000,)


def pair(rng, ratio):
    """An input and an output whose scales have this ratio, about."""
    types = [(U8, S8)[rng.integers(2)] for _ in range(2)]
    zero_points = [int(rng.integers(QUANTIZED_RANGE[type][0], 256)) for type in types]
    zero_points = [min(z, QUANTIZED_RANGE[t][1]) for z, t in zip(zero_points, types, strict=True)]
    scales = np.float32(rng.uniform(0.01, 0.1) * np.array([1, 1 / ratio]))
    return [
        Bytes(type, float(scale), zero_point)
        for type, scale, zero_point in zip(types, scales, zero_points, strict=True)
    ]


def ratios(rng, count):
    """Some that halve or double steps, and random ones."""
    return [*RATIOS, *2.0 ** rng.uniform(-5, 6.9, count)]


def step_of(source, target):
    """The step, and the table."""
    table = rescaled(source, target, merge_quantization.requantized(source, target))
    return rescaling(source, target, table), table


def test_most_tables_are_lines():
    rng = np.random.default_rng(1)
    steps = [step_of(*pair(rng, ratio))[0] for ratio in ratios(rng, 300)]
    assert sum(step.record is LINE for step in steps) > 0.95 * len(steps)


@pytest.mark.parametrize("ratio", [128.1, 1e9])
def test_steep_lines_stay_tables(ratio):
    step, table = step_of(*pair(np.random.default_rng(2), ratio))
    assert step.record is not LINE
    assert step.fields["table"] == table


def test_a_table_with_one_other_byte_is_no_line():
    rng = np.random.default_rng(3)
    source, target = Bytes(S8, 0.05, 3), Bytes(U8, 0.07, 99)
    _, table = step_of(source, target)
    assert rescaling(source, target, table).record is LINE
    for byte in rng.integers(0, 256, 20):
        changed = bytearray(table)
        changed[byte] ^= 1
        assert rescaling(source, target, bytes(changed)).record is not LINE


def model_of(source, target, count):
    """DEQUANTIZE and QUANTIZE."""
    model = Model()
    x = model.input(source.type, (count,), source.scale, source.zero_point)
    real = model.dequantize(x, output="TENSOR_FLOAT32")
    ends = {"scale": target.scale, "zero_point": target.zero_point}
    model.outputs(model.quantize(real, output=target.type, **ends))
    model.finish()
    return model


@every_tier
def test_results(name):
    """All bytes, at whole blocks and beside them; steps of the line do act."""
    rng, acted = np.random.default_rng(4), 0
    for ratio in ratios(rng, 20):
        source, target = pair(rng, ratio)
        _, table = step_of(source, target)
        for count in (int(rng.integers(1, 64)), int(rng.integers(300, 900))):
            with tier(name):
                model = model_of(source, target, count)
                steps = [step for item in profile(model).operations for step in item.steps]
                acted += steps[0].kernel.startswith("line_")
                x = rng.permutation(np.arange(count) % 256).astype(np.uint8)
                result = model.compile("nnapi-cpu").run(x.view(DTYPES[source.type]))
            assert result.tobytes() == x.tobytes().translate(table), (source, target, count)
    assert acted > 40
