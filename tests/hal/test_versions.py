"""HAL 1.0 and 1.1 against their published definitions, and against the canonical enumerations."""

import inspect
import re
from enum import IntEnum
from pathlib import Path

import pytest

from nnapi_shim.hal import enums, v1_0, v1_1

SPECIFICATION = Path(__file__).resolve().parents[3] / "shared" / "spec"
VERSIONS = {"1.0": v1_0, "1.1": v1_1}

INHERITED = {("1.1", "OperationType"): v1_0.OperationType}
"""Enumerations whose definition lists only what it adds to an older one."""


def definitions(version):
    """Every enum as {name: value} and every struct as [field, ...], by name."""
    path = SPECIFICATION / f"hal-{version}-types.hal"
    if not path.exists():
        pytest.skip(f"{path} is not there: nothing to compare HAL {version} with")
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    result = {}
    for kind, name, body in re.findall(r"(enum|struct)\s+(\w+)[^{]*\{(.*?)\};", text, re.DOTALL):
        if kind == "struct":
            result[name] = re.findall(r"(\w+);", body)
            continue
        result[name], following = {}, 0
        for member, value in re.findall(r"(\w+)\s*(?:=\s*(\d+))?\s*,", body):
            following = int(value) if value else following
            result[name][member] = following
            following += 1
    return result


def declared(module):
    """The enums and structs that a module defines, in the form of `definitions`."""
    result = {}
    for name, item in inspect.getmembers(module, inspect.isclass):
        if issubclass(item, IntEnum) and item is not IntEnum:
            result[name] = {member.name: member.value for member in item}
        elif issubclass(item, tuple) and item.__module__ == module.__name__:
            result[name] = list(item._fields)
    return result


@pytest.mark.parametrize("version", VERSIONS)
def test_all_types_are_there_and_no_others(version):
    assert declared(VERSIONS[version]).keys() == definitions(version).keys()


@pytest.mark.parametrize("version", VERSIONS)
def test_members_and_fields(version):
    ours = declared(VERSIONS[version])
    for name, expected in definitions(version).items():
        older = INHERITED.get((version, name), ())
        if older:
            expected = {member.name: member.value for member in older} | expected
        assert ours[name] == expected, name


def test_a_1_1_device_is_a_1_0_device():
    assert v1_0.IDevice in v1_1.IDevice.__mro__


def test_known_values():
    assert v1_0.OperandType.OEM == 10000
    assert v1_0.OperationType.TANH == 28
    assert v1_0.OperationType.OEM_OPERATION == 10000
    assert v1_0.OperandLifeTime.NO_VALUE == 5
    assert v1_0.ErrorStatus.INVALID_ARGUMENT == 4
    assert v1_0.DeviceStatus.UNKNOWN == 3
    assert v1_1.OperationType.TRANSPOSE == 37
    assert v1_1.OperationType.OEM_OPERATION == 10000
    assert v1_0.RequestArgument._fields == ("hasNoValue", "location", "dimensions")
    assert v1_1.Model._fields[-1] == "relaxComputationFloat32toFloat16"


def test_newer_versions_keep_what_older_ones_have():
    assert {*declared(v1_0)["OperationType"].items()} < {*declared(v1_1)["OperationType"].items()}
    assert v1_1.Capabilities._fields[:-1] == v1_0.Capabilities._fields
    assert v1_1.Model._fields[:-1] == v1_0.Model._fields
    assert v1_1.Operation._fields == v1_0.Operation._fields


@pytest.mark.parametrize(
    ("versioned", "canonical", "renamed"),
    [
        (v1_0.OperandType, enums.OperandType, {"OEM": "OEM_SCALAR"}),
        (v1_0.OperationType, enums.OperationType, {}),
        (v1_1.OperationType, enums.OperationType, {}),
        (v1_0.FusedActivationFunc, enums.FuseCode, {}),
        (
            v1_0.OperandLifeTime,
            enums.OperandLifeTime,
            {"MODEL_INPUT": "SUBGRAPH_INPUT", "MODEL_OUTPUT": "SUBGRAPH_OUTPUT"},
        ),
        (v1_0.ErrorStatus, enums.ErrorStatus, {}),
        (v1_1.ExecutionPreference, enums.ExecutionPreference, {}),
    ],
    ids=lambda item: f"{item.__module__}.{item.__name__}" if inspect.isclass(item) else "",
)
def test_values_are_the_canonical_ones(versioned, canonical, renamed):
    for member in versioned:
        assert canonical[renamed.get(member.name, member.name)] == member


@pytest.mark.parametrize(
    ("interface", "methods"),
    [
        (
            v1_0.IDevice,
            {
                "getCapabilities": [],
                "getSupportedOperations": ["model"],
                "prepareModel": ["model", "callback"],
                "getStatus": [],
            },
        ),
        (v1_0.IPreparedModel, {"execute": ["request", "callback"]}),
        (v1_0.IPreparedModelCallback, {"notify": ["status", "preparedModel"]}),
        (v1_0.IExecutionCallback, {"notify": ["status"]}),
        (
            v1_1.IDevice,
            {
                "getCapabilities_1_1": [],
                "getSupportedOperations_1_1": ["model"],
                "prepareModel_1_1": ["model", "preference", "callback"],
            },
        ),
    ],
    ids=lambda item: f"{item.__module__}.{item.__name__}" if inspect.isclass(item) else "",
)
def test_interfaces(interface, methods):
    own = {name for name, item in vars(interface).items() if inspect.isfunction(item)}
    assert {name for name in own if not name.startswith("_")} == methods.keys()
    for name, parameters in methods.items():
        assert list(inspect.signature(getattr(interface, name)).parameters)[1:] == parameters
