"""Files of profiles: what is shipped is right, and what is wrong is said."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.phones.files import checked, read, shipped, text_of
from nnapi_shim.phones.profile import CPU, Profile
from nnapi_shim.phones.schema import parsed
from tests.cli.command import Command

DEVICE: dict[str, Any] = {
    "name": "npu",
    "featureLevel": 3,
    "operations": [{"names": ["ADD"], "types": ["TENSOR_FLOAT32"], "maxRank": 4}],
}
PROFILE: dict[str, Any] = {"schema": 1, "name": "mine", "android": "10", "devices": [DEVICE]}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def written(folder: Path, changes: dict[str, Any], device: dict[str, Any] | None = None) -> str:
    """The path of a file with the profile above, changed; ... removes a field."""
    data = json.loads(json.dumps(PROFILE)) | changes
    if device is not None:
        data["devices"][0] |= device
    for part in (data, *(it for it in data["devices"] if isinstance(it, dict))):
        for name in [name for name, value in part.items() if value is ...]:
            del part[name]
    path = folder / "mine.json"
    path.write_text(json.dumps(data))
    return str(path)


def of_device(folder: Path, **changes: Any) -> str:
    return written(folder, {}, changes)


@pytest.mark.parametrize("name", shipped())
def test_shipped(name: str) -> None:
    profile = read(name)
    assert profile.name == name
    assert profile.devices[-1].name == CPU
    assert f"Android {profile.android} " in profile.description
    assert name.startswith(f"android-{profile.android}")


def test_what_a_profile_says(tmp_path: Path) -> None:
    device = {
        "version": "7",
        "type": "GPU",
        "performance": {"default": [2, 3], "TENSOR_FLOAT32": [0.5, 0.25], "if": [4, 4]},
        "delays": {"compileUs": 1, "runUs": 2, "operationUs": 0.5, "burstRunUs": 0},
        "caching": {"modelFiles": 1, "dataFiles": 2},
        "computedBy": "nnapi-reference",
    }
    profile = read(of_device(tmp_path, **device))
    npu, cpu = profile.devices
    assert (npu.name, npu.version, npu.type.name, npu.level) == ("npu", "7", "GPU", 3)
    figures = npu.capabilities
    assert figures.operand_performance[OperandType.TENSOR_FLOAT32] == (0.5, 0.25)
    assert figures.operand_performance[OperandType.TENSOR_INT32] == (2, 3)
    assert figures.relaxed_float32_to_float16_performance_tensor == (2, 3)
    assert figures.if_performance == (4, 4)
    assert npu.delays == (1, 2, 0.5, 0)
    assert (npu.caching, npu.computed_by) == ((1, 2), "nnapi-reference")
    (rule,) = npu.rules
    assert rule.names == {OperationType.ADD}
    assert (rule.max_rank, rule.min_rank) == (4, None)
    assert (cpu.name, cpu.level, cpu.computed_by) == (CPU, 3, "nnapi-cpu")
    assert isinstance(profile, Profile)


WRONG_DEVICES = [
    ({"colour": "red"}, "devices[0].colour: is no field; there are name", "profile.unknown-field"),
    ({"name": ...}, "devices[0].name: is missing; it must be a text", "profile.missing"),
    ({"name": "two\nlines"}, "it must be one line of text", "driver.name"),
    ({"name": "nnapi-cpu"}, "a device of this library", "profile.name-taken"),
    ({"type": "TPU"}, "is 'TPU'; allowed are OTHER, CPU, GPU", "profile.unknown-name"),
    ({"featureLevel": 4}, "is 4; allowed are 1 to 3", "profile.level"),
    ({"featureLevel": True}, "is True; it must be a whole number", "profile.type"),
    ({"computedBy": "npu"}, "allowed are nnapi-cpu, nnapi-reference", "profile.unknown-name"),
    ({"performance": {"default": [1]}}, "it must be two numbers above 0", "profile.type"),
    ({"performance": {"default": [0, 1]}}, "it must be two numbers above 0", "profile.type"),
    ({"performance": {"TENSOR": [1, 1]}}, "performance.TENSOR: is no field", "profile.unknown"),
    (
        {"memoryDomains": True},
        "devices have them from feature level 4 on",
        "profile.memory-domains",
    ),
    ({"delays": {"runUs": -1}}, "is -1; it must be from 0 to", "profile.delay"),
    ({"delays": {"runUs": 1e300}}, "it must be from 0 to 3,600,000,000", "profile.delay"),
    (
        {"featureLevel": 2, "delays": {"burstRunUs": 1}, "operations": []},
        "burstRunUs: is for devices from feature level 3 on; this one has 2",
        "profile.burst-level",
    ),
    (
        {"featureLevel": 2, "caching": True, "operations": []},
        "caching: is for devices from feature level 3 on; this one has 2",
        "profile.caching-level",
    ),
    ({"caching": 2}, "is 2; it must be true, false or an object", "profile.type"),
    ({"caching": {}}, "has no files; a device without caching has", "profile.cache-files"),
    ({"caching": {"modelFiles": 33}}, "is 33; allowed are 0 to 32", "profile.cache-files"),
    ({"caching": {"dataFiles": -1}}, "is -1; allowed are 0 to 32", "profile.cache-files"),
    ({"caching": {"files": 1}}, "caching.files: is no field; there are", "profile.unknown-field"),
    ({"operations": ["ADD"]}, "operations[0]: 'ADD' is no object", "profile.type"),
    ({"operations": [{"names": ["AD"]}]}, "is 'AD'; allowed are ", "profile.unknown-name"),
    ({"operations": [{"names": []}]}, 'it must be a list of texts, or "all"', "profile.type"),
    ({"operations": [{"names": "all", "maxRank": 0}]}, "is 0; it must be at", "profile.limit"),
    (
        {"operations": [{"names": "all", "minRank": 4, "maxRank": 2}]},
        "minRank: is 4; it must be at most maxRank, 2",
        "profile.limit",
    ),
    (
        {"operations": [{"names": ["HARD_SWISH"]}]},
        "HARD_SWISH is of feature level 4; the device has 3",
        "profile.above-level",
    ),
    (
        {"operations": [{"names": ["IF"]}]},
        "IF is of feature level 4; the device has 3",
        "profile.above-level",
    ),
    (
        {"featureLevel": 1, "operations": [{"names": ["ADD"], "types": ["TENSOR_FLOAT16"]}]},
        "TENSOR_FLOAT16 is of feature level 3; the device has 1",
        "profile.above-level",
    ),
    (
        {"featureLevel": 2, "operations": [{"names": ["SUB"], "types": ["TENSOR_QUANT8_ASYMM"]}]},
        "SUB is of feature level 3; the device has 2",
        "profile.above-level",
    ),
    (
        {"operations": [{"names": ["FLOOR"], "types": ["TENSOR_QUANT8_ASYMM"]}]},
        "FLOOR has no use with these types alone",
        "profile.no-use",
    ),
]


@pytest.mark.parametrize(("changes", "message", "rule"), WRONG_DEVICES)
def test_wrong_devices(tmp_path: Path, changes: dict[str, Any], message: str, rule: str) -> None:
    profile, problems = checked(of_device(tmp_path, **changes))
    assert profile is None
    assert message in problems[0].message
    assert problems[0].rule.startswith(rule)


WRONG_PROFILES = [
    ({"schema": 2}, "schema: is 2; this library reads version 1", "profile.schema"),
    ({"schema": ...}, "schema: is missing", "profile.missing"),
    ({"name": "a b"}, "allowed are letters, digits, - and .", "profile.name"),
    ({"android": "10.1"}, "allowed are 8.1, 9, 10, 11", "profile.unknown-name"),
    ({"android": "22"}, "allowed are 8.1, 9, 10, 11", "profile.unknown-name"),
    ({"android": 10}, "is 10; it must be a text", "profile.type"),
    ({"featureLevel": 4, "devices": []}, "is 4; Android 10 has 3", "profile.runtime-level"),
    ({"phone": "x"}, "phone: is no field", "profile.unknown-field"),
    ({"devices": [DEVICE, DEVICE]}, "as that of device 0; names must", "profile.name-clash"),
    ({"devices": {}}, "is {}; it must be a list", "profile.type"),
]


@pytest.mark.parametrize(("changes", "message", "rule"), WRONG_PROFILES)
def test_wrong_profiles(tmp_path: Path, changes: dict[str, Any], message: str, rule: str) -> None:
    profile, problems = checked(written(tmp_path, changes))
    assert profile is None
    assert message in problems[0].message
    assert problems[0].rule == rule


def test_levels_after_android_12_can_be_chosen(tmp_path: Path) -> None:
    assert read(written(tmp_path, {"android": "13", "featureLevel": 6})).level == 6
    assert checked(written(tmp_path, {"android": "13", "featureLevel": 4}))[0] is None


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "7", "null", "NaN", '{"name": 1, "name": 2}', "[" * 9999]
)
def test_files_that_are_no_profiles(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert checked(str(path))[0] is None
    with pytest.raises(NnapiError, match=r"^BAD_DATA: profile .*x\.json: "):
        read(str(path))


ODD = [None, True, 0, -1, 3, 33, 1e300, "", "x", "all", "10", [], {}, [1], ["ADD"], {"x": 1}, 2**70]


def changed_somewhere(random: Random, name: str) -> Any:
    """A shipped profile with an odd value in place of one of its values."""
    data = json.loads(text_of(name))
    parts = [data]
    for part in parts:  # grows meanwhile
        values = part.values() if isinstance(part, dict) else part
        parts += [value for value in values if value and isinstance(value, dict | list)]
    part = random.choice(parts)
    where = random.choice([*part] if isinstance(part, dict) else range(len(part)))
    part[where] = random.choice(ODD)
    return data


def test_odd_values_are_problems_and_no_errors() -> None:
    random, valid = Random(3), 0
    for _ in range(300):
        problems: list[NnapiError] = []
        profile = parsed(changed_somewhere(random, random.choice(shipped())), problems)
        assert (profile is None) is bool(problems)
        assert all(len(problem.message.splitlines()) == 1 for problem in problems)
        valid += profile is not None
    assert 10 < valid < 200


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff")
    for name in (path, tmp_path / "none.json", tmp_path):
        with pytest.raises(NnapiError, match="profile"):
            read(str(name))
    with pytest.raises(NnapiError, match=r"there is no profile 'x'; there are android-8\.1, "):
        read("x")


def test_commands(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = command.succeeds("profiles", "list").out.splitlines()
    assert rows[0].split() == ["profile", "Android", "feature", "level", "devices"]
    assert [row.split()[0] for row in rows[1:]] == shipped()
    phones = command.succeeds("profiles", "list", "--json").json["phones"]
    assert [phone["functions"] for phone in phones[:5]] == [23, 24, 47, 66, 75]
    assert "rank up to 4" in command.succeeds("profiles", "show", "android-10-gpu").out
    made = command.succeeds("profiles", "new", "mine", "--from", "android-10-gpu").out
    assert "nnapi-shim exec --profile ./mine.json" in made
    assert read("mine.json")[1:] == read("android-10-gpu")[1:]
    assert "is there already" in command.refuses("profiles", "new", "mine")
    assert command.succeeds("profiles", "check", "mine.json").out == "mine.json: 0 problems\n"
    wrong = command("profiles", "check", of_device(tmp_path, type="TPU", colour="red"))
    assert wrong.code == 1
    assert len(wrong.out.splitlines()) == 3
    assert "is 'TPU'" in command.refuses("profiles", "new", "other", "--from", "mine.json")
    assert not Path("other.json").exists()
    assert "there is no 'shw'" in command.refuses("profiles", "shw")
    assert "needs a profile" in command.refuses("profiles", "show")
    words = ("exec", "--profile", "mine.json", "--", "true")
    assert "(and 1 more: nnapi-shim profiles check)" in command.refuses(*words)
    path = of_device(tmp_path, caching={"dataFiles": 2})
    shown = command.succeeds("profiles", "show", path).out
    assert "feature level 3, compiled models in 2 files (0 for code, 2 for data)\n" in shown


PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_page_describes_every_field(tmp_path: Path) -> None:
    page = PAGE.read_text()
    example = page.split("```json\n")[1].split("```")[0]
    path = tmp_path / "example.json"
    path.write_text(example)
    assert checked(str(path))[1] == []
    inner = {key: {"x": 1} for key in ("performance", "delays", "caching")}
    unknown = {"operations": [{"x": 1}], "x": 1, **inner}
    _, problems = checked(written(tmp_path, {"x": 1}, unknown))
    fields = [
        name
        for problem in problems
        for name in problem.message.partition("there are ")[2].split(", ")
    ]
    assert len(fields) > 20
    named = [name for name in fields if not name.isupper() and name != "..."]
    assert [name for name in named if f"`{name}`" not in page] == []
