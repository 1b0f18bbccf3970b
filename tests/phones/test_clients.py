"""Programs that choose by version and device run under profiles."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi_shim import settings
from nnapi_shim.hal.levels import ANDROID, API_LEVELS, FUNCTION_LEVELS
from nnapi_shim.phones.files import read, shipped
from nnapi_shim.tools.phone_library import folder_for
from tests.phones.conftest import HERE, LIBRARIES, ROOT, on_phone
from tests.waiting import HANGS_S

SPECIFICATION = ROOT.parent / "shared" / "spec" / "c-api.json"
VERSIONS = [name for name in shipped() if name.count("-") == 1]

Compiled = Callable[..., Path]


def specified() -> dict[str, int]:
    """Function -> API level, as the specification says it."""
    functions = json.loads(SPECIFICATION.read_text())["functions"]
    return {it["name"]: int(it["api_level"] or 31) for it in functions}


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the specification is not there")
def test_levels_are_those_of_the_specification() -> None:
    assert specified() == FUNCTION_LEVELS


NDK = ROOT.parent / "shared" / "spec" / "ndk-reference.txt"


@pytest.mark.skipif(not NDK.exists(), reason="the NDK reference is not there")
def test_levels_are_those_of_the_ndk_reference() -> None:
    """What the published reference of the NDK says of each function."""
    said: dict[str, int] = {}
    name = ""
    for line in NDK.read_text().splitlines():
        if line.startswith("Declared in "):
            name = ""
        found = re.match(r"(?:int|void|int64_t|uint64_t) (ANeuralNetworks\w+)\($", line)
        name = found[1] if found else name
        level = re.match(r"Available since NNAPI feature level (\d)\.", line)
        if level and name:
            said[name] = API_LEVELS[int(level[1])]
    assert len(said) > 60
    assert {it: FUNCTION_LEVELS[it] for it in said} == said


def test_the_table_of_the_page() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    for version, it in ANDROID.items():
        count = sum(level <= it.api_level for level in FUNCTION_LEVELS.values())
        levels = f"{it.api_level} | {it.feature_level}"
        assert f"| {version} | {levels} | {count} |" in page


def test_there_is_a_profile_for_each_version() -> None:
    assert [name.removeprefix("android-") for name in VERSIONS] == list(ANDROID)


@pytest.mark.parametrize("profile", VERSIONS)
def test_what_dlsym_finds(profile: str, compiled: Compiled) -> None:
    program = compiled("symbols.c")
    own = "nnapi_shim_getVersion"
    outcome = on_phone(profile, program, own, *FUNCTION_LEVELS)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    api_level = ANDROID[profile.removeprefix("android-")].api_level
    there = [name for name, level in FUNCTION_LEVELS.items() if level <= api_level]
    assert outcome.stdout.split() == [own, *there]


@pytest.mark.parametrize("api_level", [27, 28, 29, 30])
def test_what_links(api_level: int, tmp_path: Path) -> None:
    folder = folder_for(api_level)

    def link(function: str) -> subprocess.CompletedProcess[str]:
        source = tmp_path / "program.c"
        source.write_text(f"void {function}(void); int main(void) {{ {function}(); }}\n")
        command = ["cc", source, f"-L{folder}", "-lneuralnetworks", "-o", tmp_path / "program"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    newest = [name for name, level in FUNCTION_LEVELS.items() if level <= api_level][-1]
    assert link(newest).returncode == 0
    later = next(name for name, level in FUNCTION_LEVELS.items() if level > api_level)
    assert f"undefined reference to `{later}'" in link(later).stderr


def test_all_functions_from_android_12_on() -> None:
    assert folder_for(31) is folder_for(35) is None


DELEGATE = {
    "android-8.1": ("27, 27, unnamed devices: 8",) * 2,
    "android-9-dsp": ("28, 28, unnamed devices: 8",) * 2,
    "android-10": ("29, 29, no accelerator: 8",) * 2,
    "android-10-dsp": ("29, 29, no accelerator: 8", "29, 29, generic-dsp: 8"),
    "android-10-gpu-dsp": ("29, 29, generic-gpu: 8", "29, 29, generic-dsp: 8"),
    "android-10-samples": ("29, 29, sample-all: 8",) * 2,
    "android-11-npu": ("30, 30, generic-npu: 8",) * 2,
    "android-12": ("31, 31, no accelerator: 8",) * 2,
    "android-14-npu": ("34, 1000008, generic-npu: 8",) * 2,
}
"""Profile -> what the delegate prints for float32 and for bytes."""


@pytest.mark.parametrize("profile", DELEGATE)
def test_a_client_that_chooses_at_run_time(profile: str, compiled: Compiled) -> None:
    program = compiled("delegate.c", "-llog")
    for kind, expected in zip(("float", "quant8"), DELEGATE[profile], strict=True):
        outcome = on_phone(profile, program, kind)
        assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, f"{expected}\n", "")


LINKED = {
    "android-8.1": None,
    "android-9-dsp": None,
    "android-10-gpu": None,
    "android-11-npu": None,
    "android-12": "31, nnapi-reference 31 11",
    "android-12-npu": "31, generic-npu 31 10, nnapi-reference 31 11",
    "android-13-npu": "1000008, generic-npu 1000006 10, nnapi-reference 1000008 11",
    "android-15": "1000008, nnapi-reference 1000008 11",
}
"""Profile -> what the program prints; None: it does not start."""


@pytest.mark.parametrize("profile", LINKED)
def test_a_client_that_links_level_5(profile: str, compiled: Compiled) -> None:
    outcome = on_phone(profile, compiled("linked.cpp", "-lneuralnetworks"))
    expected = LINKED[profile]
    if expected is None:
        assert outcome.returncode == 127
        assert "symbol lookup error" in outcome.stderr
        assert "undefined symbol: ANeuralNetworks" in outcome.stderr
    else:
        assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, f"{expected}\n", "")


CPU = "nnapi-reference"
PARTITIONS = {
    "android-8.1": f"{CPU} | {CPU}",
    "android-8.1-dsp": f"generic-dsp,{CPU} | generic-dsp,{CPU}",
    "android-10": f"{CPU} | {CPU}",
    "android-10-dsp": f"generic-dsp,{CPU} | generic-dsp,{CPU}",
    "android-10-gpu": f"generic-gpu,{CPU} | {CPU},generic-gpu",
    "android-10-gpu-dsp": f"generic-gpu,generic-dsp,{CPU} | generic-dsp,{CPU},generic-gpu",
    "android-10-samples": (
        "sample-all,sample-float-fast,sample-float-slow,sample-quant,sample-minimal,"
        f"{CPU} | {CPU},sample-float-fast"
    ),
    "android-11-npu": f"generic-npu,{CPU} | generic-npu,{CPU}",
    "android-15": f"{CPU} | {CPU}",
}
"""Profile -> the devices, and the devices of the steps of the model of partitions.py."""


@pytest.mark.parametrize("profile", PARTITIONS)
def test_a_client_in_python(profile: str) -> None:
    outcome = subprocess.run(
        [sys.executable, HERE / "partitions.py"],
        env=settings.environment() | {settings.PROFILE.name: profile},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (outcome.stdout, outcome.stderr) == (f"{PARTITIONS[profile]}\n", "")


def test_later_functions_of_the_whole_library_are_refused(compiled: Compiled) -> None:
    """Without `nnapi-shim exec` the functions are there, and say what a phone would do."""
    outcome = subprocess.run(
        [compiled("linked.cpp", "-lneuralnetworks")],
        env={"LD_LIBRARY_PATH": str(LIBRARIES), settings.PROFILE.name: "android-8.1"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout) == (3, "27")
    assert "ANeuralNetworks_getDeviceCount: OP_FAILED: Android 8.1 lacks" in outcome.stderr
    assert "[library.function-level]" in outcome.stderr


@pytest.mark.parametrize("profile", ["android-10-gpu-dsp", "android-11-npu", "android-14-npu"])
def test_what_a_phone_reports_is_a_profile(profile: str, tmp_path: Path) -> None:
    outcome = on_phone(profile, ROOT / "build" / "c_examples" / "report_device")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    path = tmp_path / "mine.json"
    path.write_text(outcome.stdout)
    reported, original = read(str(path)), read(profile)
    assert reported.version == original.version
    for device, known in zip(reported.devices, original.devices, strict=True):
        assert device[:4] == known[:4]
        for rule in device.rules:
            assert rule.names is None or rule.names <= (known.rules[0].names or set())
            assert rule.types is None or rule.types <= (known.rules[0].types or set())
    assert len(reported.devices[0].rules) >= 2
