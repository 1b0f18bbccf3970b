"""What `functions` has is what `functools` has."""

import functools
import inspect

import pytest

from nnapi_shim import functions


def plain(one: int, other: int = 2) -> int:
    """Adds."""
    return one + other


plain.mark = 1  # type: ignore[attr-defined]


def wrapped_with(wraps):
    @wraps(plain)
    def wrapper(*arguments):
        return -plain(*arguments)

    return wrapper


def test_a_wrapper_looks_like_what_it_wraps():
    ours, theirs = wrapped_with(functions.wraps), wrapped_with(functools.wraps)
    assert ours(1) == theirs(1) == -3
    for name in (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "mark"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert inspect.signature(ours) == inspect.signature(theirs) == inspect.signature(plain)


def test_results_are_kept():
    calls = []

    def square(number):
        calls.append(number)
        return number * number

    ours, theirs = functions.lru_cache(maxsize=2)(square), functools.lru_cache(maxsize=2)(square)
    for kept in (ours, theirs):
        assert [kept(number) for number in (1, 2, 1, 3, 1, 2)] == [1, 4, 1, 9, 1, 4]
    assert calls == 2 * [1, 2, 3, 2]
    assert ours.cache_info() == theirs.cache_info() and ours.cache_info().hits == 2
    assert ours.__wrapped__ is square and ours.__name__ == "square"
    ours.cache_clear()
    assert ours.cache_info().currsize == 0
    with pytest.raises(TypeError):
        ours([])


def test_partial_is_the_usual_one():
    assert functions.partial is functools.partial
