"""Boxes for tests of the CPU device, which are compared with the reference device."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.single import Value, execute


def crowd(rng: Any, shape: tuple[int, ...], size: float = 100.0) -> Any:
    """[..., 4] boxes x1, y1, x2, y2 that overlap many others, in whole numbers."""
    low = rng.integers(0, size, (*shape, 2))
    return np.concatenate([low, low + rng.integers(0, size / 2, (*shape, 2))], -1)


def same(type: OperationType, inputs: list[Any], outputs: list[Value]) -> list[Any]:
    """What both devices compute, to the last bit."""
    found = execute(CpuDevice(), type, inputs, outputs)
    wanted = execute(ReferenceDevice(), type, inputs, outputs)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return found


def refused(match: str, type: OperationType, inputs: list[Any], outputs: list[Value]) -> None:
    """Computing ends with OP_FAILED on both devices, on this one with a message."""
    for device, message in ((CpuDevice(), match), (ReferenceDevice(), None)):
        with pytest.raises(NnapiError, match=message) as error:
            execute(device, type, inputs, outputs)
        assert error.value.code is ResultCode.OP_FAILED
