"""System properties and the API level, as settings make them."""

import os
import subprocess
from collections.abc import Callable

import pytest

from nnapi_shim import settings

Program = Callable[..., subprocess.CompletedProcess[str]]
ABIS = {"aarch64": "arm64-v8a"}
"""Processor -> Android's name of its ABI, where it is another one."""


@pytest.fixture(params=["android", "log"])
def run(build: Callable[..., Program], request: pytest.FixtureRequest) -> Program:
    """Runs the program with either library."""
    return build("companion_properties", request.param)


def read(run: Program, *names: str, **environment: str) -> list[str]:
    """The API level, then a value per name."""
    result = run(*names, **environment)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    level, *values = result.stdout.splitlines()
    for value in values:
        length, text = value.split(" ", 1)
        assert int(length) == min(len(text), 91)
    return [level] + [value.split(" ", 1)[1] for value in values]


def test_defaults(run: Program) -> None:
    """Without settings: Android 14, on the processor that it is."""
    names = ["ro.build.version.sdk", "ro.build.version.release", "ro.product.cpu.abi"]
    level = settings.ANDROID_API.default
    machine = os.uname().machine
    assert read(run, *names) == [level, level, "14", ABIS.get(machine, machine)]
    assert read(run, *names, NNAPI_SHIM_ANDROID_API="", NNAPI_SHIM_PROPERTIES="")[0] == level


@pytest.mark.parametrize(
    ("level", "release"),
    [
        ("27", "8.1.0"),
        ("28", "9"),
        ("29", "10"),
        ("31", "12"),
        ("32", "12"),
        ("33", "13"),
        ("36", "16"),
    ],
)
def test_level_is_a_setting(run: Program, level: str, release: str) -> None:
    """The level asked for, and the release that has it."""
    names = ["ro.build.version.sdk", "ro.build.version.release"]
    assert read(run, *names, NNAPI_SHIM_ANDROID_API=level) == [level, level, release]


def test_properties_are_settings(run: Program) -> None:
    """New ones, changed ones, and none that hides the others."""
    chosen = "ro.product.model=My phone,debug.empty=,ro.x=a=b,ro.list=one,,two,,,ro.x=last,"
    names = ["ro.product.model", "debug.empty", "ro.x", "ro.list", "ro.product.device"]
    assert read(run, *names, NNAPI_SHIM_PROPERTIES=chosen) == [
        *("34", "My phone", "", "last", "one,two,", "nnapi_shim")
    ]


def test_the_level_may_be_given_as_a_property(run: Program) -> None:
    """It is the stronger one, and all else agrees with it."""
    names = ["ro.build.version.sdk", "ro.build.version.release"]
    chosen = {"NNAPI_SHIM_PROPERTIES": "ro.build.version.sdk=29", "NNAPI_SHIM_ANDROID_API": "33"}
    assert read(run, *names, **chosen) == ["29", "29", "10"]
    chosen["NNAPI_SHIM_PROPERTIES"] = "ro.build.version.sdk=unknown"
    assert read(run, *names, **chosen) == ["-1", "unknown", ""]


def test_long_values_are_read_whole_by_the_callback(run: Program) -> None:
    """91 bytes are what the plain function gives."""
    assert read(run, "ro.long", NNAPI_SHIM_PROPERTIES="ro.long=" + "x" * 300)[1] == "x" * 300


def test_a_level_above_all_others(run: Program) -> None:
    """__ANDROID_API_FUTURE__, as an Android that is not yet released may say."""
    assert read(run, NNAPI_SHIM_ANDROID_API="10000") == ["10000"]


@pytest.mark.parametrize("level", ["0", "10001", "-3", "13x", "Tiramisu", "100000000000000000000"])
def test_a_level_that_is_none_is_told_of(run: Program, level: str) -> None:
    """One line, and the default."""
    result = run(NNAPI_SHIM_ANDROID_API=level)
    assert result.stdout == "34\n"
    assert result.stderr == (
        f"E/nnapi_shim: NNAPI_SHIM_ANDROID_API is '{level}', which is not used; "
        "allowed are 1 to 10000\n"
    )


def test_an_entry_that_is_none_is_told_of(run: Program) -> None:
    """One line for each; what stands around it counts."""
    result = run("a", "b", NNAPI_SHIM_PROPERTIES="a=1,nonsense,=2,b=3")
    assert result.stdout == "34\n1 1\n1 3\n"
    assert result.stderr == "".join(
        f"E/nnapi_shim: NNAPI_SHIM_PROPERTIES has '{entry}', which is not used; "
        "allowed is name=value\n"
        for entry in ("nonsense", "=2")
    )


def test_properties_cannot_be_set(run: Program) -> None:
    """As for every ordinary program on Android."""
    result = run("set")
    assert result.returncode == 0
    assert result.stderr == (
        "W/nnapi_shim: __system_property_set: debug.mine does not become '1'; "
        "properties are settings (NNAPI_SHIM_PROPERTIES)\n"
    )
