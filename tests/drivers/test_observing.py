"""Observed runs: every step is reported, and results are those of other runs."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.run import walk
from nnapi_shim.drivers.observing import observed
from nnapi_shim.errors import NnapiError
from tests.drivers.test_control_flow import (
    B8,
    F32,
    I32,
    SECOND,
    CpuDevice,
    Models,
    O,
    ReferenceDevice,
    T,
    arithmetic,
    floats,
    outputs_of,
    prepared,
    yes,
)


@pytest.fixture(params=[CpuDevice, ReferenceDevice], ids=["cpu", "reference"])
def device(request):
    return request.param()


def branching(dimensions):
    models = Models()
    main = models.graph()
    condition = main.input(B8, (1,))
    a, b = (main.input(F32, dimensions) for _ in range(2))
    branches = [main.model(arithmetic(models, kind, dimensions)) for kind in (O.ADD, O.SUB)]
    chosen = main.run(O.IF, [condition, *branches, a, b], (F32, dimensions))
    main.give(main.run(O.RELU, [chosen], (F32, dimensions)))
    return models, main


@pytest.mark.parametrize("dimensions", [(2,), (0,)], ids=["one program", "segments"])
@pytest.mark.parametrize("condition", [True, False])
def test_steps_name_their_operations(device, dimensions, condition):
    models, main = branching(dimensions)
    model = prepared(device, models, main)
    steps = []
    with observed(steps.append):
        (seen,) = outputs_of(model, main, [yes(condition), floats(5, 1), floats(3, 3)], runs=1)
    (unseen,) = outputs_of(model, main, [yes(condition), floats(5, 1), floats(3, 3)])
    np.testing.assert_array_equal(seen, unseen)
    messages = [
        tuple((location.number, location.name) for location in step.operations) for step in steps
    ]
    inner = "ADD" if condition else "SUB"
    assert ((0, "IF"), (0, inner)) in messages
    assert messages.index(((0, "IF"), (0, inner))) < messages.index(((1, "RELU"),))
    assert not any("SUB" in str(location) for location in messages if condition)
    assert all(step.started_ns <= step.ended_ns for step in steps)
    assert {step.device for step in steps} == {device.name}
    assert all(bool(step.kernel) is (device.name == "nnapi-cpu") for step in steps)


def test_nothing_is_told_of_afterwards(device):
    models, main = branching((2,))
    model = prepared(device, models, main)
    steps = []
    with observed(steps.append):
        pass
    outputs_of(model, main, [yes(), floats(5, 1), floats(3, 3)])
    assert not steps
    assert walk.walk_of == [walk.compiled_walk]


def test_a_step_that_fails_is_told_of(device):
    models = Models()
    main = models.graph()
    a = main.input(F32, (2,))
    indexes = main.constant([0, 7], I32)
    axis = main.constant(0, T.INT32)
    main.give(main.run(O.GATHER, [a, axis, indexes], (F32, (2,))))
    model = prepared(device, models, main)
    steps = []
    with observed(steps.append), pytest.raises(NnapiError, match="7") as error:
        outputs_of(model, main, [floats(1, 2)], SECOND)
    assert steps[-1].operations[0].name == "GATHER"
    assert "GATHER (operation 0)" in str(error.value)
