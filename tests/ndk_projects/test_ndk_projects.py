"""Projects written for the NDK, built by their own CMakeLists.txt and called as from Java."""

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.java import java_headers
from tests.waiting import HANGS_S

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = ROOT / "build" / "lib"
INCLUDE = [ROOT / "include", ROOT / "include" / "companion"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def finished(*command: object) -> None:
    """Run a command; what it says is the failure."""
    result = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Builds a project with a jni.h, "own" or that of "java", and gives its library."""
    for tool in ("cmake", "c++"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    for name in ("libneuralnetworks.so", "libandroid.so", "liblog.so"):
        if not (LIBRARIES / name).exists():
            pytest.skip(f"not built: {name} (make library companion)")
    built: dict[tuple[str, str], Path] = {}

    def build(project: str, header: str) -> Path:
        if (project, header) not in built:
            first = java_headers() if header == "java" else []
            if header == "java" and not first:
                pytest.skip("there is no Java with headers")
            folder = tmp_path_factory.mktemp(project)
            includes = " ".join(f"-I{include}" for include in [*first, *INCLUDE])
            # What comes from outside: where headers and libraries are. The other three are what
            # Android's build gives such a project.
            finished(
                *("cmake", "-S", HERE / project, "-B", folder),
                *(f"-DCMAKE_CXX_FLAGS={includes}", f"-DCMAKE_PREFIX_PATH={LIBRARIES.parent}"),
                f"-DCMAKE_SHARED_LINKER_FLAGS=-L{LIBRARIES} -Wl,-z,defs",
                *("-DANDROID_ABI=x86_64", "-DANDROID_PLATFORM=android-30"),
                "-DANDROID_STL=c++_static",
            )
            finished("cmake", "--build", folder)
            built[project, header] = folder / f"lib{project}.so"
        return built[project, header]

    return build


@pytest.fixture(scope="session")
def run(libraries: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Calls a project's native methods."""
    program = tmp_path_factory.mktemp("java_side") / "java_side"
    finished(
        *("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program),
        *(HERE / "java_side.c", *(f"-I{folder}" for folder in INCLUDE)),
        *(f"-L{LIBRARIES}", "-landroid", "-ldl"),
    )

    def run_project(
        project: str, *arguments: str, header: str = "own", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("NNAPI_SHIM_")}
        clean |= {"LD_LIBRARY_PATH": str(LIBRARIES)} | environment
        return subprocess.run(
            [program, project, libraries(project, header), *arguments],
            capture_output=True,
            text=True,
            env=clean,
            timeout=HANGS_S,
            check=False,
        )

    return run_project


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """A folder with the constants of the project "basic"."""
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "model_data.bin").write_bytes(struct.pack("<400f", *[0.5] * 400))
    return folder


@pytest.mark.parametrize("header", ["own", "java"])
def test_basic(run: Run, assets: Path, header: str) -> None:
    """Assets, shared memory, log, properties; with either jni.h."""
    chosen = {"NNAPI_SHIM_PROPERTIES": "ro.product.model=My phone"}
    result = run("basic", str(assets), "model_data.bin", header=header, **chosen)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["200 elements", "3.75", "0", ""]
    assert result.stderr == "I/basic: running on My phone\n"


def test_basic_without_an_object_of_java(run: Run, assets: Path) -> None:
    """NULL in place of the asset manager: the folder of the setting."""
    result = run("basic", "", "model_data.bin", NNAPI_SHIM_ASSETS=str(assets))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["200 elements", "3.75", "0", ""]
    assert f"the assets are the files in the folder '{assets}'" in result.stderr


def test_basic_with_the_data_of_the_ndk(run: Run) -> None:
    """The file that the NDK has for its own sample of this kind."""
    data = ROOT.parent / "shared" / "ndk" / "model_data.bin"
    if not data.exists():
        pytest.skip("the data of the NDK is not beside the repository")
    result = run("basic", str(data.parent), data.name)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["200 elements", "3.75", "0", ""]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no such file", "E/basic: no asset no such file"),
        ("../basic", "E/basic: no asset ../basic"),
        ("short.bin", "E/basic: 4 bytes are too few for two tensors"),
    ],
)
def test_basic_without_its_data(run: Run, assets: Path, name: str, line: str) -> None:
    """The project's own words, and nothing worse."""
    (assets / "short.bin").write_bytes(b"four")
    result = run("basic", str(assets), name)
    assert result.returncode == 1
    assert result.stderr.splitlines()[1:] == [line, "there is no model"]


@pytest.mark.parametrize("header", ["own", "java"])
def test_basic_in_a_real_java(
    libraries: Callable[[str, str], Path], assets: Path, tmp_path: Path, header: str
) -> None:
    """The same library, called by Java itself."""
    if shutil.which("javac") is None or shutil.which("java") is None:
        pytest.skip("there is no Java")
    finished("javac", "-d", tmp_path, HERE / "basic" / "MainActivity.java")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NNAPI_SHIM_")}
    result = subprocess.run(
        [
            *("java", "-cp", tmp_path, "com.example.android.basic.MainActivity"),
            *(libraries("basic", header), "model_data.bin"),
        ],
        capture_output=True,
        text=True,
        env=clean | {"LD_LIBRARY_PATH": str(LIBRARIES), "NNAPI_SHIM_ASSETS": str(assets)},
        timeout=HANGS_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["200 elements", "3.75", ""]
    assert "the object is not from nnapi_shim_newJavaAssetManager()" in result.stderr


@pytest.mark.parametrize("header", ["own", "java"])
def test_sequential(run: Run, tmp_path: Path, header: str) -> None:
    """200 executions that wait for each other, with a trace of what the project says of itself."""
    trace = tmp_path / "trace.json"
    result = run("sequential", header=header, NNAPI_SHIM_TRACE=str(trace))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["1", "1.5", "1.75", "2"]
    assert result.stderr == "I/sequential: Android of API level 34\n"
    _, *events = json.loads(trace.read_text())
    calls = [event for event in events if event.get("cat") == "api" and event["ph"] == "B"]
    started = "ANeuralNetworksExecution_startComputeWithDependencies"
    assert sum(event["name"] == started for event in calls) == 206  # 1, 2, 3 and 200 steps
    begun = [event["name"] for event in events if event["ph"] == "B" and event not in calls]
    assert begun == ["sequence"] * 4
    assert max(event["args"]["value"] for event in events if event["ph"] == "C") == 200


def test_sequential_believes_to_run_on_an_old_android(run: Run) -> None:
    """The level is a setting, and what the project makes of it is an exception."""
    result = run("sequential", NNAPI_SHIM_ANDROID_API="29")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "I/sequential: Android of API level 29",
        "E/nnapi_shim: JNI: exception java/lang/UnsupportedOperationException: "
        "this Android is too old",
    ]
