"""RANDOM_MULTINOMIAL: its generator, and how often each class comes."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.sampling import philox, uniform
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f16, f32, i32

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # the known answers of the authors of Philox
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ONES] * 4, [ONES] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox(counter, key, expected):
    words = philox([np.array([word], np.uint64) for word in counter], key)
    assert [int(word[0]) for word in words] == expected


def test_numbers_are_52_bits_of_two_words():
    first, second, third = uniform(0, 0, 3)
    assert first == (0x7E8D5 << 32 | 0xE169C58D) / 2**52
    assert second == (0x7AC4C << 32 | 0x9B00DBD8) / 2**52
    assert third not in (first, second)


def test_seeds_are_extended_by_their_sign():
    (number,) = uniform(-1, -1, 1)
    words = philox([np.array([w], np.uint64) for w in (0, 0, ONES, ONES)], [ONES, ONES])
    assert number == (int(words[0][0] & np.uint64(0xFFFFF)) << 32 | int(words[1][0])) / 2**52


@pytest.mark.parametrize("make", [f32, f16])
def test_frequencies(compute, make):
    logits = np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]) + [[5], [-100]]
    samples = np.array(compute(Op.RANDOM_MULTINOMIAL, [make(logits), 4000, i32([37, 42])], i32()))
    assert samples.shape == (2, 4000)
    for row, expected in zip(samples, [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=3) / 4000, expected, atol=0.025)


def test_what_is_not_finite_never_comes(compute):
    logits = f32([[-np.inf, 0, np.inf, 0, np.nan], [-np.inf] * 5])
    first, second = compute(Op.RANDOM_MULTINOMIAL, [logits, 100, i32([1, 2])], i32())
    assert set(first) == {1, 3}
    assert set(second) == {5}  # no class at all, as in the reference


def test_fewer_than_no_samples(compute):
    with pytest.raises(NnapiError) as error:
        compute(Op.RANDOM_MULTINOMIAL, [f32([[1, 2]]), -1, i32([1, 2])], i32())
    assert error.value.code is ResultCode.OP_FAILED


def test_no_samples(compute):
    assert compute(Op.RANDOM_MULTINOMIAL, [f32([[1], [2]]), 0, i32([1, 2])], i32()) == [[], []]
