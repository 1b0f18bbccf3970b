"""The devices and the runtime of a profile, within Python."""

import json
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError, settings
from nnapi_shim.drivers.cpu.cache.cache import Cache
from nnapi_shim.hal.enums import DurationCode, ExecutionPreference, Priority
from nnapi_shim.hal.types import CacheHandles
from nnapi_shim.phones.bursts import in_a_burst, is_in_a_burst
from nnapi_shim.phones.device import ProfiledDevice
from nnapi_shim.phones.files import read
from nnapi_shim.recording.reading import read as read_capture
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.memory_desc import MemoryDesc
from nnapi_shim.tools.profiles import new_profile
from tests.phones.conftest import LIBRARIES, ROOT
from tests.phones.test_profile_files import of_device, written
from tests.waiting import HANGS_S


def device(folder: Path, **changes: Any) -> ProfiledDevice:
    return ProfiledDevice(read(of_device(folder, **changes)).devices[0])


def sum_of(kind: str, sizes: list[int]) -> Model:
    """A model of x + x."""
    scale = {"scale": 0.5, "zero_point": 0} if "QUANT8" in kind else {}
    with Model() as model:
        x = model.input(kind, sizes, **scale)
        model.outputs(model.add(x, x, **scale))
    return model


def takes(it: ProfiledDevice, model: Model) -> bool:
    assert model.runtime.hal is not None
    (answer,) = it.getSupportedOperations(model.runtime.hal)
    return answer


def limited(folder: Path, **limits: Any) -> ProfiledDevice:
    return device(folder, operations=[{"names": ["ADD"], **limits}])


@pytest.mark.parametrize(
    ("limit", "inside", "outside"),
    [
        ({"maxRank": 2}, [3, 4], [1, 3, 4]),
        ({"minRank": 2}, [3, 4], [12]),
        ({"maxBatch": 1}, [1, 9], [2, 9]),
        ({"maxDimension": 9}, [9, 2], [9, 10]),
        ({"maxElements": 12}, [3, 4], [13]),
        ({"knownDimensions": True}, [3, 4], [0, 4]),
    ],
)
def test_limits(
    tmp_path: Path, limit: dict[str, Any], inside: list[int], outside: list[int]
) -> None:
    it = limited(tmp_path, **limit)
    assert takes(it, sum_of("TENSOR_FLOAT32", inside))
    assert not takes(it, sum_of("TENSOR_FLOAT32", outside))
    assert takes(limited(tmp_path), sum_of("TENSOR_FLOAT32", outside))


def test_types(tmp_path: Path) -> None:
    it = limited(tmp_path, types=["TENSOR_QUANT8_ASYMM"])
    assert takes(it, sum_of("TENSOR_QUANT8_ASYMM", [3]))
    assert not takes(it, sum_of("TENSOR_FLOAT32", [3]))


def test_other_operations_and_levels(tmp_path: Path) -> None:
    assert not takes(device(tmp_path, operations=[]), sum_of("TENSOR_FLOAT32", [3]))
    older = device(tmp_path, featureLevel=1, operations=[{"names": "all"}])
    assert takes(older, sum_of("TENSOR_FLOAT32", [3]))
    assert not takes(older, sum_of("TENSOR_FLOAT16", [3]))


def test_a_type_that_the_operation_fixes_needs_no_listing(tmp_path: Path) -> None:
    it = device(tmp_path, operations=[{"names": ["RESHAPE"], "types": ["TENSOR_FLOAT32"]}])
    with Model() as model:
        model.outputs(model.reshape(model.input("TENSOR_FLOAT32", [6]), [2, 3]))
    assert takes(it, model)


def test_control_flow_needs_rules_for_its_graphs(tmp_path: Path) -> None:
    def branch() -> Model:
        return sum_of("TENSOR_FLOAT32", [2])

    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [2])
        model.outputs(model.if_(condition, branch(), branch(), [x])[0])
    file = json.loads(Path(of_device(tmp_path)).read_text()) | {"android": "11"}

    def made(*names: str) -> ProfiledDevice:
        file["devices"][0] |= {"featureLevel": 4, "operations": [{"names": list(names)}]}
        path = tmp_path / "if.json"
        path.write_text(json.dumps(file))
        return ProfiledDevice(read(str(path)).devices[0])

    assert takes(made("IF", "ADD"), model)
    assert not takes(made("IF", "MUL"), model)
    assert not takes(made("ADD"), model)


def test_runs_with_delays(tmp_path: Path) -> None:
    it = device(tmp_path, delays={"compileUs": 20_000, "runUs": 15_000, "operationUs": 5_000})
    began = monotonic()
    compilation = Compilation(sum_of("TENSOR_FLOAT32", [2]).runtime, [it])
    compilation.finish()
    compiled = monotonic()
    assert compiled - began >= 0.02
    execution = Execution(compilation)
    execution.set_measure_timing(True)
    values, sums = np.array([1, 2], np.float32), np.zeros(2, np.float32)
    execution.set_argument("input", 0, None, values.ctypes.data, 8)
    execution.set_argument("output", 0, None, sums.ctypes.data, 8)
    execution.compute()
    assert sums.tolist() == [2, 4]
    assert monotonic() - compiled >= 0.02
    assert execution.duration(DurationCode.DURATION_ON_HARDWARE) >= 20_000_000


@pytest.mark.parametrize("caching", [True, False])
def test_caching(tmp_path: Path, caching: bool) -> None:
    it = device(tmp_path, caching=caching)
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    model = sum_of("TENSOR_FLOAT32", [2]).runtime.hal
    assert model is not None
    handles = CacheHandles(str(folder), bytes(32))
    it.prepareModel(model, ExecutionPreference.LOW_POWER, Priority.HIGH, None, handles)
    assert bool(list(folder.iterdir())) is caching


def test_runs_in_bursts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("nnapi_shim.phones.device.sleep", slept.append)
    it = device(tmp_path, delays={"runUs": 3000, "burstRunUs": 2000, "operationUs": 500})
    compilation = Compilation(sum_of("TENSOR_FLOAT32", [2]).runtime, [it])
    compilation.finish()
    execution = Execution(compilation)
    execution.set_reusable(True)
    values = np.array([1, 2], np.float32)
    execution.set_argument("input", 0, None, values.ctypes.data, 8)
    execution.set_argument("output", 0, None, values.ctypes.data, 8)
    in_a_burst(execution.compute)()
    execution.compute()
    assert slept == pytest.approx([0.0025, 0.0035])
    assert values.tolist() == [4, 8]
    assert not is_in_a_burst()


def test_bursts_of_a_program(tmp_path: Path) -> None:
    """It would not end if a run took as long as outside of a burst."""
    hour = {"runUs": 3_600_000_000, "burstRunUs": 0}
    fields = {"featureLevel": 5, "delays": hour, "operations": [{"names": "all"}]}
    path = written(tmp_path, {"android": "12"}, {**fields, "performance": {"default": [0.1, 0.1]}})
    outcome = run("bursts", NNAPI_SHIM_PROFILE=path)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each compilation with a cache, whether it was loaded."""
    found: list[bool] = []
    load = Cache.load

    def recorded(cache: Cache) -> Any:
        stored = load(cache)
        found.append(stored is not None)
        return stored

    monkeypatch.setattr(Cache, "load", recorded)
    return found


def test_cache_files(tmp_path: Path, loads: list[bool], capfd: pytest.CaptureFixture[str]) -> None:
    it = device(tmp_path, caching={"modelFiles": 1, "dataFiles": 2})
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)

    def compiled(model: Model) -> list[Path]:
        assert model.runtime.hal is not None
        handles = CacheHandles(str(folder), bytes(32))
        it.prepareModel(
            model.runtime.hal, ExecutionPreference.LOW_POWER, Priority.HIGH, None, handles
        )
        return sorted(folder.iterdir())

    files = compiled(sum_of("TENSOR_FLOAT32", [2]))
    assert [path.name.rpartition("-")[2] for path in files] == ["data0", "data1", "model0"]
    contents = [path.read_bytes() for path in files]
    times = [path.stat().st_mtime_ns for path in files]
    assert compiled(sum_of("TENSOR_FLOAT32", [2])) == files
    assert [path.stat().st_mtime_ns for path in files] == times
    assert len(compiled(sum_of("TENSOR_FLOAT32", [3]))) == 6
    assert loads == [False, True, False]
    assert capfd.readouterr().err == ""
    files[1].unlink()
    compiled(sum_of("TENSOR_FLOAT32", [2]))
    assert loads[3:] == [False]
    assert capfd.readouterr().err == ""
    assert [path.read_bytes() for path in files] == contents
    files[0].write_bytes(contents[0][:-1])
    compiled(sum_of("TENSOR_FLOAT32", [2]))
    assert loads[4:] == [False]
    assert "is damaged; the model is compiled" in capfd.readouterr().err
    compiled(sum_of("TENSOR_FLOAT32", [2]))
    assert loads[5:] == [True]


def test_cache_files_of_a_folder_that_cannot_be_used(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    it = device(tmp_path, caching={"dataFiles": 2})
    model = sum_of("TENSOR_FLOAT32", [2]).runtime.hal
    assert model is not None
    handles = CacheHandles(str(tmp_path / "none"), bytes(32))
    it.prepareModel(model, ExecutionPreference.LOW_POWER, Priority.HIGH, None, handles)
    assert "compiled models are not kept: there is no folder" in capfd.readouterr().err
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    handles = CacheHandles(str(folder), bytes(32))
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "none"))
        it.prepareModel(model, ExecutionPreference.LOW_POWER, Priority.HIGH, None, handles)
    assert "compiled models are not kept: [Errno 2]" in capfd.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("domains", "explicit"), [(True, True), (False, True), (False, False)])
def test_memory_domains(tmp_path: Path, domains: bool, explicit: bool) -> None:
    fields = {"featureLevel": 4, "memoryDomains": domains, "operations": [{"names": ["ADD"]}]}
    it = ProfiledDevice(read(written(tmp_path, {"android": "11"}, fields)).devices[0])
    compilation = Compilation(sum_of("TENSOR_FLOAT32", [2]).runtime, [it])
    compilation.finish()
    compilation.explicit = explicit
    desc = MemoryDesc()
    desc.add_role(compilation, "input", 0, 1.0)
    desc.finish()
    if domains or not explicit:
        desc.create_memory()
        return
    with pytest.raises(NnapiError, match="OP_FAILED: npu allocates no memory") as caught:
        desc.create_memory()
    assert caught.value.rule == "memory-desc.no-domains"


# The runtime


def use(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the profile, as before the first model of the process."""
    monkeypatch.setenv(settings.PROFILE.name, profile)
    monkeypatch.setattr("nnapi_shim.runtime.model._draft_class", [])


@pytest.fixture
def android_9(monkeypatch: pytest.MonkeyPatch) -> None:
    use("android-9", monkeypatch)


@pytest.mark.usefixtures("android_9")
def test_operands_of_later_levels_are_refused() -> None:
    model = Model()
    model.input("TENSOR_FLOAT32", [2])
    with pytest.raises(NnapiError, match="TENSOR_FLOAT16 is of feature level 3; Android 9 has 2"):
        model.input("TENSOR_FLOAT16", [2])
    with pytest.raises(NnapiError, match="TENSOR_FLOAT32 of unknown rank is of feature level 3"):
        model.input("TENSOR_FLOAT32", [])


@pytest.mark.usefixtures("android_9")
def test_operations_of_later_levels_are_refused() -> None:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [2])
    model.sub(x, x)  # of level 2
    with pytest.raises(NnapiError) as caught:
        model.abs(x)
    assert caught.value.rule == "model.add-operation.level"
    assert "ABS itself is of feature level 3; Android 9 has 2 (android-9)" in str(caught.value)


@pytest.mark.usefixtures("android_9")
def test_types_of_later_levels_are_refused() -> None:
    model = Model()
    x = model.input("TENSOR_QUANT8_ASYMM", [2], scale=1.0, zero_point=0)
    with pytest.raises(NnapiError, match="inputs of TENSOR_QUANT8_ASYMM is of feature level 3"):
        model.sub(x, x, scale=1.0, zero_point=0)


def test_a_profile_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    use("phone", monkeypatch)
    with pytest.raises(NnapiError, match=r"there is no profile 'phone'; there are android-8\.1"):
        Model()


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "build" / "c_examples" / program],
        env={"LD_LIBRARY_PATH": str(LIBRARIES), **environment},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def test_a_capture_has_the_devices_and_becomes_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    run("simple_add", NNAPI_SHIM_PROFILE="android-11-npu", NNAPI_SHIM_CAPTURE=str(path))
    manifest = read_capture(str(path)).manifest
    assert manifest["featureLevel"] == 30
    assert [it["name"] for it in manifest["devices"]] == ["generic-npu", "nnapi-reference"]
    target = tmp_path / "x.json"
    new_profile("x", str(target), str(path))
    profile = read(str(target))
    assert (profile.android, profile.level) == ("11", 4)
    assert [(it.name, it.level) for it in profile.devices] == [
        ("generic-npu", 4),
        ("nnapi-reference", 4),
    ]


PROPERTIES = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
value = ctypes.create_string_buffer(92)
library.__system_property_get(b"ro.build.version.sdk", value)
print(library.android_get_device_api_level(), value.value.decode())
"""


@pytest.mark.parametrize("library", ["libandroid.so", "liblog.so"])
@pytest.mark.parametrize(
    ("profile", "api"), [("", "34 34"), ("android-9", "28 28"), ("android-13", "33 33")]
)
def test_the_api_level_agrees(library: str, profile: str, api: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", PROPERTIES, LIBRARIES / library],
        env={"LD_LIBRARY_PATH": str(LIBRARIES), settings.PROFILE.name: profile},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (outcome.stdout, outcome.stderr) == (f"{api}\n", "")


def test_nothing_is_imported_without_the_setting() -> None:
    code = """
import sys
from nnapi_shim import Model, capi, devices
Model(), devices()
assert capi.lib.ANeuralNetworks_getDeviceCount(capi.ffi.new("uint32_t *")) == 0
words = ("phone", "levels", "abi.fault", "abi.check", "reference.half", "instrumentation.")
print([name for name in sys.modules if any(word in name for word in words)])
"""
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    assert outcome.stdout == "[]\n"
