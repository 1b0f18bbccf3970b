"""LSTM on the CPU device against the formula: sizes that the examples do not reach."""

from collections.abc import Sequence

import numpy as np
import pytest

from nnapi_shim import address
from nnapi_shim.drivers.cpu.codegen import fixed_point
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering import lstm as lstm_lowering
from nnapi_shim.drivers.cpu.lowering import lstm_joined, lstm_joined_q8, lstm_rounds
from nnapi_shim.drivers.cpu.lowering import lstm_quantized as lstm_quantized_lowering
from nnapi_shim.drivers.cpu.lowering.fixed_point import decomposed
from nnapi_shim.drivers.cpu.lowering.lstm_quantized import ACTIVATION_TABLE
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.reference import fixed_point as reference
from nnapi_shim.drivers.reference import fixed_point as reference_fixed_point
from nnapi_shim.drivers.reference import lstm_quantized
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.operations.lstm_cell import GATES
from nnapi_shim.operations.rnn import TANH
from tests.drivers.cpu.test_numeric import vectorised
from tests.operations.cases import TOLERANCE, USES, example
from tests.operations.plans import lstm as plans
from tests.operations.plans import lstm_quantized as quantized_plans
from tests.single import CONSTANT, INPUT, execute

SEQUENCES = [
    use
    for use in USES
    if use.operation.type.name.endswith("SEQUENCE_LSTM") and len(use.outputs) in (3, 5)
]
STEPS = [use for use in USES if use.operation.type.name == "LSTM" and len(use.names) == 27]
QUANTIZED = [use for use in USES if use.variant in ("q16", "q8") and "LSTM" in str(use)]


@pytest.fixture(scope="module")
def devices():
    """The device under test, and what it is compared with."""
    return CpuDevice(), ReferenceDevice()


@pytest.fixture
def sized(monkeypatch):
    """A function that sets the sizes of the examples: units and outputs, and of the input."""

    def set_sizes(sizes: Sequence[int], depths: Sequence[int]) -> None:
        for module in (plans, quantized_plans):
            monkeypatch.setattr(module, "SIZES", sizes)
            monkeypatch.setattr(module, "DEPTHS", depths)

    return set_sizes


@pytest.mark.parametrize("use", SEQUENCES, ids=str)
def test_rounds_give_what_the_whole_gives(use, sized, monkeypatch):
    """Bit by bit, on any number of threads."""
    sized((65, 129, 200), (7, 50))
    sample = example(use, np.random.default_rng(1), 1)
    arguments = (use.operation.type, sample.inputs, sample.outputs)
    actual = []
    monkeypatch.setattr(lstm_rounds, "MAX_ROUNDS", 0)
    for threads in (1, 1, 2, 5):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
        results = execute(CpuDevice(), *arguments, tensors_are=CONSTANT, first_is=INPUT)
        actual.append([np.asarray(result).tobytes() for result in results])
        monkeypatch.setattr(lstm_rounds, "MAX_ROUNDS", 99)
        monkeypatch.setattr(lstm_rounds, "MIN_WEIGHT_BYTES", 0)
    assert actual[1:] == actual[:1] * 3


# Batches: one, parts of a tile of rows, whole tiles, more than one tile of the recurrence.
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 15, 16, 17, 33])
@pytest.mark.parametrize("use", SEQUENCES + STEPS, ids=str)
def test_sizes(use, batch, devices, sized):
    # Whole vectors, and one number more or less; more than one panel.
    sized((7, 8, 9, 16, 31, 33, 65), (1, 7, 16, 50))
    rng = np.random.default_rng(batch)
    for kind in (CONSTANT, INPUT):
        sample = example(use, rng, batch)
        arguments = (use.operation.type, sample.inputs, sample.outputs)
        actual = execute(devices[0], *arguments, tensors_are=kind, first_is=INPUT)
        expected = execute(devices[1], *arguments)
        for type, ours, theirs in zip(use.outputs, actual, expected, strict=True):
            absolute, relative = TOLERANCE[type]
            np.testing.assert_allclose(
                ours.astype(np.float64), theirs.astype(np.float64), rtol=relative, atol=absolute
            )


@pytest.mark.parametrize("use", QUANTIZED, ids=str)
def test_integers_are_those_of_the_reference(use, devices, sized):
    sized((1, 7, 16, 33, 50), (1, 15, 16, 17, 70))
    rng = np.random.default_rng(1)
    for batch in (1, 2, 3) * 10:
        sample = example(use, rng, batch)
        arguments = (use.operation.type, sample.inputs, sample.outputs)
        actual = execute(devices[0], *arguments, tensors_are=CONSTANT, first_is=INPUT)
        for ours, theirs in zip(actual, execute(devices[1], *arguments), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.fixture
def joined(monkeypatch):
    """How many cells had joined gates since."""
    counted = []
    for module in (lstm_lowering, lstm_quantized_lowering):
        real = module.joined
        monkeypatch.setattr(
            module, "joined", lambda *given, real=real: counted.append(1) or real(*given)
        )
    return counted


@pytest.mark.parametrize("use", [use for use in QUANTIZED if use.variant == "q8"], ids=str)
def test_joined_integers_are_those_of_others(use, sized, joined, monkeypatch):
    """Bit by bit; cells with further parts are not joined."""
    sized((1, 7, 8, 9, 33, 50), (1, 2, 15, 16, 70))
    rng = np.random.default_rng(1)
    for batch in (1, 2, 3) * 20:
        sample = example(use, rng, batch)
        arguments = (use.operation.type, sample.inputs, sample.outputs)
        results = []
        for most in (lstm_joined_q8.MOST_PRODUCTS, 0):
            with monkeypatch.context() as context:
                context.setattr(lstm_joined_q8, "MOST_PRODUCTS", most)
                outputs = execute(CpuDevice(), *arguments, tensors_are=CONSTANT, first_is=INPUT)
            results.append([output.tolist() for output in outputs])
        assert results[0] == results[1]
    assert 5 <= len(joined) < 60


def test_weights_behind_an_odd_number_are_zero():
    """They are multiplied by what is behind the numbers, which is anything."""
    units, depth, room = 8, 3, lstm_joined_q8.ROOM
    weights = np.arange(1, 1 + units * depth, dtype=np.int8)
    packed = np.full(len(GATES) * room * (depth + 1), 99, np.int8)
    values = [weights.ctypes.data] * len(GATES) + [packed.ctypes.data, units, depth, room]
    record, _keep = address.address_of(lstm_joined_q8.PACK_GATES.pack(*values))
    library.current().function("pack_gates")(record, 0)
    assert np.count_nonzero(packed) == len(GATES) * weights.size


@pytest.mark.parametrize("use", [use for use in SEQUENCES if use.variant == "f32"], ids=str)
def test_joined_gates(use, devices, sized, joined, monkeypatch):
    """Of one batch, of up to MOST_BYTES, without further parts."""
    sized((1, 3, 4, 7, 8, 15, 16, 17, 20, 33), (1, 7, 16, 28))
    monkeypatch.setattr(plans, "ACTIVATIONS", [TANH])
    rng = np.random.default_rng(1)
    for number in range(100):
        sample = example(use, rng, 1)
        arguments = (use.operation.type, sample.inputs, sample.outputs)
        expected = execute(devices[1], *arguments)
        for most in (lstm_joined.MOST_BYTES, 0):
            with monkeypatch.context() as context:
                context.setattr(lstm_joined, "MOST_BYTES", most)
                kind = INPUT if number % 2 else CONSTANT
                actual = execute(CpuDevice(), *arguments, tensors_are=kind, first_is=INPUT)
            for type, ours, theirs in zip(use.outputs, actual, expected, strict=True):
                absolute, relative = TOLERANCE[type]
                np.testing.assert_allclose(ours, theirs, rtol=relative, atol=absolute)
    assert 5 <= len(joined) < 60


@pytest.mark.parametrize("name", ["logistic", "tanh"])
def test_tables_of_activations(name):
    numbers = np.arange(-(2**15), 2**15)
    for integer_bits in (3,) if name == "logistic" else range(7):
        table = np.empty(2**16, np.int16)
        block, _keep = address.address_of(ACTIVATION_TABLE.pack(table.ctypes.data, integer_bits))
        assert library.current().function(f"{name}_table")(block, 0) == 0
        formula = getattr(lstm_quantized, f"{name}_16")
        np.testing.assert_array_equal(table, formula(numbers, integer_bits))


def test_inverse_root():
    random = np.random.default_rng(1)
    values = np.concatenate([np.arange(1, 300), np.exp2(random.uniform(8, 31, 300)).astype(int)])
    expected = [*zip(*reference_fixed_point.inverse_square_root(values), strict=True)]
    for at in (0, 1):
        part = vectorised(_part_of_root(at), np.int64)
        assert part(values).tolist() == [root[at] for root in expected]


def _part_of_root(at):
    inverse_root = fixed_point.inverse_root

    @fixed_point.helper
    def part(n):
        return inverse_root(n)[at]

    return part


@pytest.mark.parametrize("multiplier", [1.0, 0.75, 1 - 2**-40, 2.0**-32, 2.0**-33, 0.0, 1e-3])
def test_decomposed(multiplier):
    assert decomposed(multiplier) == reference.decomposed(multiplier)
