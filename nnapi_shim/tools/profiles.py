"""Phone profiles: lists, shows, checks and makes them (docs/testing.md)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats import output_file
from nnapi_shim.hal.levels import ANDROID, FUNCTION_LEVELS, feature_level
from nnapi_shim.phones.files import checked, read, shipped, text_of
from nnapi_shim.phones.profile import SCHEMA, DeviceProfile, Profile, Rule
from nnapi_shim.phones.schema import parsed
from nnapi_shim.recording import container
from nnapi_shim.recording.reading import read as read_capture
from nnapi_shim.tools.phone_library import folder_for
from nnapi_shim.tools.report import Report


@dataclass(frozen=True)
class PhoneDevice(Report):
    """A device of a phone. cache_files: for a compiled model, with code and with data; None if it
    keeps none. operations: names, or "all", with their limits, for each rule.
    """

    name: str
    version: str
    type: str
    feature_level: int
    cache_files: tuple[int, int] | None
    operations: list[str]


@dataclass(frozen=True)
class Phone(Report):
    """A phone. feature_level: 1 to 8. functions: how many of NNAPI's there are. library: the folder
    of a libneuralnetworks.so with these alone; None: the library has all anyway.
    """

    name: str
    description: str
    android: str
    api_level: int
    feature_level: int
    functions: int
    library: str | None
    devices: list[PhoneDevice]


@dataclass(frozen=True)
class Phones(Report):
    """The shipped profiles."""

    phones: list[Phone]


@dataclass(frozen=True)
class CheckedProfile(Report):
    """What is wrong with the file of a profile: rule and message of each problem."""

    profile: str
    problems: list[tuple[str, str]]


def list_profiles() -> Phones:
    """The shipped profiles, without their libraries."""
    return Phones([_phone(read(name), None) for name in shipped()])


def show_profile(name: str) -> Phone:
    """A profile, by name or path; makes its library. Raises BAD_DATA."""
    profile = read(name)
    return _phone(profile, folder_for(profile.api_level))


def check_profile(name: str) -> CheckedProfile:
    """All problems of a profile."""
    _, problems = checked(name)
    return CheckedProfile(name, [(error.rule, error.message) for error in problems])


def new_profile(name: str, target: str, source: str, overwrite: bool = False) -> str:
    """Write a profile with a name, and return its text.

    source: the profile to begin with (name or path), or a capture, whose devices the profile gets,
        each with all operations of its level. Raises BAD_DATA.
    """
    if _is_capture(source):
        data = _of_capture(source)
    else:
        read(source)  # raises what is wrong with it
        data = json.loads(text_of(source))
    data["name"] = name
    problems: list[NnapiError] = []
    parsed(data, problems)
    for problem in problems:
        raise problem
    text = f"{json.dumps(data, indent=2)}\n"
    output_file.write(target, text.encode(), overwrite)
    return text


def _is_capture(source: str) -> bool:
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return container.is_capture(file.read(64))


def _of_capture(path: str) -> dict[str, Any]:
    """The phone that a capture was made on, as far as it tells."""
    manifest = read_capture(path).manifest
    level = _level_number(manifest.get("featureLevel"))
    android = max(
        (version for version, it in ANDROID.items() if it.feature_level <= max(level, 1)), key=float
    )
    devices = [
        {
            "name": each["name"],
            "version": str(each.get("version", "1")),
            "featureLevel": min(_level_number(each.get("featureLevel")), level),
            "operations": [{"names": "all"}],
        }
        for each in manifest.get("devices", [])
        if each["name"] not in ("nnapi-cpu", "nnapi-reference")
    ]
    return {
        "schema": SCHEMA,
        "name": "",
        "description": f"The devices of the capture {Path(path).name}.",
        "android": android,
        "devices": devices,
    }


def _level_number(code: Any) -> int:
    """The number, 1 to 8, of a FeatureLevelCode."""
    known = {int(feature_level(number)): number for number in range(1, 9)}
    return known.get(code, 8)


def _phone(profile: Profile, library: str | None) -> Phone:
    count = sum(level <= profile.api_level for level in FUNCTION_LEVELS.values())
    devices = [_device(each) for each in profile.devices]
    return Phone(
        *(profile.name, profile.description, profile.android, profile.api_level, profile.level),
        *(count, library, devices),
    )


def _device(described: DeviceProfile) -> PhoneDevice:
    rules = [_in_words(rule) for rule in described.rules]
    files = described.caching
    return PhoneDevice(
        described.name,
        described.version,
        described.type.name,
        described.level,
        None if files is None else (files.model, files.data),
        rules,
    )


def _in_words(rule: Rule) -> str:
    """A rule as text."""
    names = "all" if rule.names is None else ", ".join(sorted(it.name for it in rule.names))
    parts = [names]
    if rule.types is not None:
        parts.append("of " + ", ".join(sorted(it.name for it in rule.types)))
    for limit, words in (
        (rule.min_rank, "rank from"),
        (rule.max_rank, "rank up to"),
        (rule.max_batch, "batch up to"),
        (rule.max_dimension, "dimensions up to"),
        (rule.max_elements, "elements up to"),
    ):
        if limit is not None:
            parts.append(f"{words} {limit}")
    if rule.known_dimensions:
        parts.append("known dimensions")
    return "; ".join(parts)
