"""What `make bench-operations` measures."""

import numpy as np
import pytest

from nnapi_shim.operations import registry
from tests.bench.operation_shapes import MOVES_DATA, PRODUCTS, SHAPES, flops
from tests.operations.cases import USES, example

COMPUTED = {result.type.name for result in registry() if result.types}


def test_every_operation_has_shapes() -> None:
    assert SHAPES.keys() == COMPUTED
    assert MOVES_DATA < COMPUTED


@pytest.mark.parametrize("name", sorted(COMPUTED))
def test_the_small_shape_is_an_example(name: str) -> None:
    use = next(use for use in USES if use.operation.type.name == name)
    sample = example(use, np.random.default_rng(0), plan=SHAPES[name](use, False))
    assert (flops(sample) > 0) == (use.operation.work in PRODUCTS)


def test_arithmetic_of_a_product() -> None:
    use = next(use for use in USES if str(use) == "FULLY_CONNECTED-f32-4in")
    sample = example(use, np.random.default_rng(0), plan=SHAPES["FULLY_CONNECTED"](use, False))
    assert flops(sample) == 2 * 32 * 64 + 32
