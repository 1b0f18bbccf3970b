"""Descriptors without a library: merging of dimensions, and devices that differ."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Operand
from nnapi_shim.runtime.memory_desc import MemoryDesc, combined


class Compiled:
    """What a descriptor needs of a compilation."""

    state = "finished"

    def __init__(self, device, explicit):
        self.device, self.explicit = device, explicit
        self.only_device = device
        self.inputs = self.outputs = [Operand(T.TENSOR_FLOAT32, (2,))]

    def devices_of(self, role, index):
        return [self.device]


def described(*compilations):
    desc = MemoryDesc()
    for compilation in compilations:
        desc.add_role(compilation, "input", 0, 1.0)
    desc.finish()
    return desc


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ((), (), ()),
        ((), (2, 0), (2, 0)),
        ((2, 0), (0, 3), (2, 3)),
        ((2, 3), (2, 3), (2, 3)),
        ((0,), (0,), (0,)),
        ((2,), (3,), None),
        ((2,), (2, 0), None),
        ((0, 2), (0, 3), None),
    ],
)
def test_combined_dimensions(one, other, both):
    assert combined(one, other) == combined(other, one) == both


def test_devices_that_nobody_named():
    """Memory of no device in particular takes the place of a device's."""
    memory = described(Compiled("one", False), Compiled("other", False)).create_memory()
    assert (memory.size, memory.is_initialized) == (8, False)


@pytest.mark.parametrize("explicit", [(True, True), (False, True), (True, False)])
def test_devices_that_were_named(explicit):
    named = [Compiled(device, it) for device, it in zip(("one", "other"), explicit, strict=True)]
    with pytest.raises(NnapiError, match="different devices") as caught:
        described(*named).create_memory()
    assert caught.value.code is ResultCode.OP_FAILED
    described(*[Compiled("one", it) for it in explicit]).create_memory()


def test_too_little_memory(monkeypatch, capfd):
    """One error, and nothing else on stderr."""

    def refuse(*arguments):
        raise OSError(12, "Cannot allocate memory")

    desc = described(Compiled("one", True))
    monkeypatch.setattr("nnapi_shim.address.map_pages", refuse)
    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    with pytest.raises(NnapiError, match="8 bytes of memory cannot be allocated") as caught:
        desc.create_memory()
    assert caught.value.code is ResultCode.OP_FAILED
    del caught
    assert not unraisable and not capfd.readouterr().err
