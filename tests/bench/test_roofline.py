"""The table of bench-roofline: which limit counts, and how parts are summed. Nothing is timed."""

from collections import defaultdict

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.operations import FAMILIES
from nnapi_shim.tools.profile import profile
from tests.bench import roofline
from tests.bench.roofline import Limits, Sums

LIMITS = "float32 1e9\nint8 4e9\n1000 2e9\n100000 1e9\n"


def test_limits_are_read():
    assert roofline.parsed(LIMITS) == Limits(1e9, 4e9, {1000: 2e9, 100000: 1e9})


def test_families_exist():
    named = [name for families in roofline.CLASSES.values() for name in families]
    assert set(named) <= set(FAMILIES)
    assert len(named) == len(set(named))


@pytest.fixture(scope="module")
def profiled():
    """A product of 1 x 64 by 64 x 64, and a softmax of 64 numbers."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 64])
        y = model.fully_connected(x, np.ones((64, 64), np.float32), np.zeros(64, np.float32))
        model.outputs(model.softmax(y))
    return profile(model, "nnapi-cpu", runs=2, warm_up=0, against_peaks=False)


def test_the_larger_limit_of_an_operation_counts(profiled):
    product = profiled.operations[0]
    moved = 4 * (64 + 64 * 64 + 64 + 64)
    assert (product.flops, product.bytes) == (2 * 64 * 64 + 64, moved)
    by_bytes = roofline.parsed(LIMITS)
    assert by_bytes.seconds(product) == pytest.approx(moved / 1e9)
    by_products = by_bytes._replace(float32=1e6)
    assert by_products.seconds(product) == pytest.approx((64 * 64 + 32) / 1e6)
    small = by_bytes._replace(float32=1e12, bytes={moved // 2: 5e9, moved: 1e9})
    assert small.seconds(product) == pytest.approx(moved / 5e9)


def test_operations_are_summed_by_class(profiled):
    sums = defaultdict(Sums)
    for _ in range(2):
        roofline.add(sums, profiled, roofline.parsed(LIMITS))
    assert {name: each.count for name, each in sums.items()} == {
        "products, float32": 2,
        "reductions, float32": 2,
    }
    assert all(each.seconds > 0 for each in sums.values())
    rows = roofline.table(
        {"depthwise, int8": Sums(3, 0.75, 0.15), "LSTM, int8": Sums(1, 0.25, 0.2)}
    )
    assert rows[2:] == ["| depthwise, int8 | 3 | 75 % | 0.20 |", "| LSTM, int8 | 1 | 25 % | 0.80 |"]
