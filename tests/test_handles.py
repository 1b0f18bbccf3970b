"""Handles tell NULL, freed, foreign and wrong-kind ones apart."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.handles import HandleTable

cats: HandleTable[str] = HandleTable("cat")
dogs: HandleTable[str] = HandleTable("dog")


def refusal(handle):
    with pytest.raises(NnapiError) as caught:
        cats[handle]
    return caught.value.code, caught.value.message


def test_a_handle_gives_its_object_and_is_no_user_address():
    handle = cats.add("tom")
    assert cats[handle] == "tom"
    assert handle >> 63 == 1


def test_null():
    assert refusal(0) == (ResultCode.UNEXPECTED_NULL, "cat is NULL")


def test_freed_and_freed_again():
    handle = cats.add("tom")
    assert cats.remove(handle) == "tom"
    code, message = refusal(handle)
    assert code is ResultCode.BAD_DATA
    assert "was freed" in message
    with pytest.raises(NnapiError, match="was freed"):
        cats.remove(handle)


def test_another_kind():
    code, message = refusal(dogs.add("rex"))
    assert code is ResultCode.BAD_DATA
    assert "is a handle of a dog" in message


@pytest.mark.parametrize("bits", [1, 0x7FFF_1234_5678, (1 << 64) - 1, 0x8100_0000_0000_0000])
def test_what_was_never_a_handle(bits):
    code, message = refusal(bits)
    assert code is ResultCode.BAD_DATA
    assert "not a handle of this library" in message


def test_a_serial_number_is_never_given_out_again():
    first = cats.add("tom")
    cats.remove(first)
    assert cats.add("tom") != first
