"""The stand-in for `enum.IntEnum` does what IntEnum does, as far as the package uses it."""

import copy
import json
import pickle
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from nnapi_shim.hal import codes, enums

USUAL = [
    kind
    for kind in vars(enums).values()
    if isinstance(kind, type) and issubclass(kind, IntEnum) and kind is not IntEnum
]


class Quick(codes.Codes):
    """One of our own."""

    ONE = 1
    SECOND = 2


class Usual(IntEnum):
    """One of our own."""

    ONE = 1
    SECOND = 2


def stand_in(kind: type[IntEnum]) -> Any:
    """An enumeration with the same names and values."""
    values = {member.name: member.value for member in kind}
    body = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(codes.Codes)(kind.__name__, (codes.Codes,), body | values)


def test_there_are_enumerations():
    assert {enums.OperationType, enums.ResultCode} <= {*USUAL}


@pytest.mark.parametrize("usual", USUAL)
def test_members_are_those_of_the_usual_one(usual):
    quick = stand_in(usual)
    assert len(quick) == len(usual) and repr(quick) == repr(usual)
    assert quick.__members__ == usual.__members__
    for ours, member in zip(quick, usual, strict=True):
        assert ours == member and hash(ours) == hash(member) and bool(ours) == bool(member)
        assert (ours.name, ours.value) == (member.name, member.value)
        assert type(ours.value) is int and isinstance(ours, int) and type(ours) is quick
        assert (repr(ours), str(ours), f"{ours}") == (repr(member), str(member), f"{member}")
        assert ours is quick(ours) is quick(member.value) is quick[member.name]
        assert getattr(quick, member.name) is ours
        assert json.dumps(ours) == json.dumps(member)
        assert {member.value: 1}[ours] == 1


@pytest.mark.parametrize("value", [0, 3, -1, "ONE", None, [], 1.5])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="is not a valid") as expected:
        Usual(value)
    with pytest.raises(ValueError, match="is not a valid") as actual:
        Quick(value)
    assert str(actual.value) == str(expected.value).replace("Usual", "Quick")


def test_equal_values_are_taken():
    for value in (1.0, True):
        assert Usual(value) is Usual.ONE and Quick(value) is Quick.ONE
    assert 1 in Quick and 3 not in Quick and "ONE" in Quick.__members__


def test_other_names_are_refused():
    with pytest.raises(KeyError):
        Quick["THIRD"]
    assert not hasattr(Quick, "THIRD")
    with pytest.raises(TypeError):
        Quick.__members__["THIRD"] = 3  # type: ignore[index]


def test_copies_are_the_same_member():
    for copied in (
        copy.copy(Quick.ONE),
        copy.deepcopy(Quick.ONE),
        pickle.loads(pickle.dumps(Quick.ONE)),
    ):
        assert copied is Quick.ONE


def test_documentation_is_kept():
    assert Quick.__doc__ == "One of our own."


WITHIN_PYTHON = """
import sys
sys.path[:0] = eval(sys.argv[1])
assert "enum" not in sys.modules
from nnapi_shim import process
if sys.argv[2] == "own":
    process.begin()
from nnapi_shim.hal import codes, enums
print("enum" in sys.modules, issubclass(enums.OperandType, codes.Codes))
"""


@pytest.mark.parametrize(
    ("owner", "printed"), [("own", "False True"), ("of the program", "True False")]
)
def test_only_programs_without_python_have_stand_ins(owner, printed):
    folders = [str(Path(__file__).parents[2]), *sys.path]
    command = [sys.executable, "-I", "-S", "-c", WITHIN_PYTHON, repr(folders), owner]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == printed
