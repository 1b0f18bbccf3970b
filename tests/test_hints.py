"""The tuples with names of `hints` are those of `typing`, made in less time."""

import copy
import pickle
import typing

import pytest

from nnapi_shim import hints


class Quick(hints.NamedTuple):
    """One of our own."""

    one: int
    other: str = "b"

    def both(self):
        return f"{self.other}{self.one}"


class Usual(typing.NamedTuple):
    one: int
    other: str = "b"


def test_it_does_what_the_usual_one_does():
    for made in (Quick(1), Quick(one=1), Quick(1, "b"), Quick(other="b", one=1), Quick._make([1])):
        assert made == Usual(1) and hash(made) == hash(Usual(1))
        assert (made.one, made.other, made.both()) == (1, "b", "b1")
    made = Quick(1)
    assert repr(made) == repr(Usual(1)).replace("Usual", "Quick")
    assert made._asdict() == Usual(1)._asdict()
    assert Quick._fields == Usual._fields == Quick.__match_args__
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made and type(other) is Quick
    assert made._replace(one=2) == (2, "b") and isinstance(made, tuple)
    assert not hasattr(made, "__dict__") and Quick.__doc__ == "One of our own."


@pytest.mark.parametrize("kind", [Quick, Usual])
def test_what_does_not_fit_is_refused(kind):
    for inputs, named in (((), {}), ((1, 2, 3), {}), ((1,), {"third": 2}), ((1,), {"one": 2})):
        with pytest.raises(TypeError, match="__new__"):
            kind(*inputs, **named)
    with pytest.raises((ValueError, TypeError)):
        kind(1)._replace(third=3)
    with pytest.raises(AttributeError):
        kind(1).one = 2


@pytest.mark.parametrize("count", [*range(1, 20)])
def test_any_number_of_fields(count):
    names = [f"field{at}" for at in range(count)]
    kind = type(hints.NamedTuple)(
        "Made",
        (hints.NamedTuple,),
        {"__annotations__": dict.fromkeys(names, int), "__module__": __name__},
    )
    values = tuple(range(count))
    assert kind(*values) == kind(**dict(zip(names, values, strict=True))) == values
    assert [getattr(kind(*values), name) for name in names] == [*values]
