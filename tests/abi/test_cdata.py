"""What is read of C data at once is what its members are, by the header."""

import pytest

from nnapi_shim import capi
from nnapi_shim.abi import cdata


@pytest.fixture(autouse=True)
def declarations(monkeypatch):
    monkeypatch.setattr(cdata, "ffi", capi.ffi)
    monkeypatch.setattr(cdata, "cast", capi.ffi.cast)


def address_of(data):
    return int(capi.ffi.cast("uintptr_t", data))


@pytest.mark.parametrize("sizes", [[], [4], [0xFFFFFFFF, 0, 3]])
def test_members_of_an_operand_type(sizes):
    dimensions = capi.ffi.new("uint32_t[]", sizes) if sizes else capi.ffi.NULL
    inputs = capi.ffi.new(
        "ANeuralNetworksOperandType *",
        {
            "type": -5,
            "dimensionCount": len(sizes),
            "dimensions": dimensions,
            "scale": 0.25,
            "zeroPoint": -128,
        },
    )
    code, result, count, scale, zero_point = cdata.operand_type(address_of(inputs))
    assert (code, count, scale, zero_point) == (-5, len(sizes), 0.25, -128)
    assert result is None if not sizes else list(result) == sizes


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
def test_arrays(count):
    numbers = list(range(0xFFFFFFFF - count, 0xFFFFFFFF))
    inputs = capi.ffi.new("uint32_t[]", numbers)
    assert list(cdata.uint32s(address_of(inputs), count)) == numbers
