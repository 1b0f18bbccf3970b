"""nnapi-cpu gives what nnapi-reference gives, bit for bit, wherever numbers are quantized.

`pytest -s` shows how many examples of each use were computed, and the largest difference per tier.
"""

import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program import library
from tests.drivers.exact import comparison
from tests.drivers.exact.comparison import FAILED, QUANTIZED_USES, line, outcome, tiers, worst
from tests.drivers.exact.parameters import KINDS, variation
from tests.operations.plans import merged

FAILS = merged("FAILS")


@pytest.mark.parametrize("of_each_kind", [4, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("use", QUANTIZED_USES, ids=str)
def test_no_difference(use, of_each_kind):
    examples = of_each_kind * len(KINDS)
    actual = worst(use, examples)
    print(line(use, actual))
    assert [item.difference for item in actual.values()] == [0] * len(actual), line(use, actual)
    least = 0 if _always_fails(use) else examples // 4
    assert all(item.computed >= least for item in actual.values()), "most of them fail"


def _always_fails(use):
    return f"{use.operation.type.name}-{use.variant}" in FAILS


@pytest.mark.parametrize("is_failure", [False, True])
def test_differences_are_found(monkeypatch, is_failure):
    use = next(use for use in QUANTIZED_USES if str(use) == "MEAN-qu8-3in")
    *right, last = tiers()

    def sometimes_wrong(device, sample):
        result = outcome(device, sample)
        if isinstance(device, CpuDevice) and library.current().tier == last:
            return "GENERAL_FAILURE" if is_failure else [result[0] ^ 4]
        return result

    monkeypatch.setattr(comparison, "outcome", sometimes_wrong)
    actual = worst(use, 2)
    assert actual[last].difference == (FAILED if is_failure else 4)
    assert actual[last].where.startswith("example 0 (plain): ")
    assert [actual[name].difference for name in right] == [0] * len(right)


def test_a_seed_gives_the_same_example():
    for use in QUANTIZED_USES[::17]:
        for number in range(len(KINDS)):
            one, other = variation(use, 5, number), variation(use, 5, number)
            assert [v.operand for v in one.inputs] == [v.operand for v in other.inputs]
            for a, b in zip(one.inputs, other.inputs, strict=True):
                assert (a.array is None) == (b.array is None)
                assert a.array is None or a.array.tobytes() == b.array.tobytes()
