"""libandroid, libnativewindow and liblog, driven by the C programs beside this file."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"

EXPORTS = {
    "libandroid.so": {
        "ASharedMemory_create",
        "ASharedMemory_getSize",
        "ASharedMemory_setProt",
        "AAssetManager_fromJava",
        "AAssetManager_open",
        "AAssetManager_openDir",
        "AAssetDir_close",
        "AAssetDir_getNextFileName",
        "AAssetDir_rewind",
        "AAsset_close",
        "AAsset_getBuffer",
        "AAsset_getLength",
        "AAsset_getLength64",
        "AAsset_getRemainingLength",
        "AAsset_openFileDescriptor",
        "AAsset_read",
        "AAsset_seek",
        "AAsset_seek64",
        "ATrace_beginAsyncSection",
        "ATrace_beginSection",
        "ATrace_endAsyncSection",
        "ATrace_endSection",
        "ATrace_isEnabled",
        "ATrace_setCounter",
        "nnapi_shim_closeAssetFolder",
        "nnapi_shim_getJavaEnv",
        "nnapi_shim_newJavaAssetManager",
        "nnapi_shim_openAssetFolder",
        "nnapi_shim_writeTrace",
    },
    "libnativewindow.so": {
        "AHardwareBuffer_acquire",
        "AHardwareBuffer_allocate",
        "AHardwareBuffer_describe",
        "AHardwareBuffer_isSupported",
        "AHardwareBuffer_lock",
        "AHardwareBuffer_release",
        "AHardwareBuffer_unlock",
    },
    "liblog.so": {
        "__android_log_assert",
        "__android_log_is_loggable",
        "__android_log_print",
        "__android_log_vprint",
        "__android_log_write",
    },
}
PROPERTIES = {
    "__system_property_find",
    "__system_property_foreach",
    "__system_property_get",
    "__system_property_read_callback",
    "__system_property_set",
    "android_get_device_api_level",
}
EXPORTS["libandroid.so"] |= EXPORTS["libnativewindow.so"] | PROPERTIES
EXPORTS["liblog.so"] |= PROPERTIES

Program = Callable[..., subprocess.CompletedProcess[str]]


def assert_success(result: subprocess.CompletedProcess[str]) -> None:
    """The program found nothing wrong."""
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("library", EXPORTS)
def test_library_exports_only_its_api(library: str) -> None:
    """The dynamic symbols are the functions of the headers, and the SONAME is the file's name."""
    path = LIBRARIES / library
    if not path.exists():
        pytest.skip(f"not built: {library} (make companion)")
    if shutil.which("nm") is None or shutil.which("readelf") is None:
        pytest.skip("nm and readelf are not installed")
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[-1] for line in symbols.splitlines()} == EXPORTS[library]
    dynamic = subprocess.run(
        ["readelf", "-d", path], capture_output=True, text=True, check=True
    ).stdout
    assert f"soname: [{library}]" in dynamic
    assert "NODELETE" in dynamic  # what it has given out outlives a dlclose()
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


def test_shared_memory(build: Callable[..., Program]) -> None:
    """Size, sharing, protection, bad input."""
    assert_success(build("companion_shared_memory", "android")())


@pytest.mark.parametrize(
    "libraries", [("android",), ("nativewindow",), ("nativewindow", "android")]
)
def test_hardware_buffer(build: Callable[..., Program], libraries: tuple[str, ...]) -> None:
    """The same with either library, and with both."""
    assert_success(build("companion_hardware_buffer", *libraries)())


def test_assets(build: Callable[..., Program], tmp_path: Path) -> None:
    """Reading, seeking, listing, and names that lead out of the folder."""
    folder = tmp_path / "assets"
    (folder / "models" / "deeper").mkdir(parents=True)
    (folder / "digits.txt").write_text("0123456789")
    (folder / "empty.bin").touch()
    (folder / "models" / "a.bin").write_text("file a")
    (folder / "models" / "b.bin").write_text("file b")
    (folder / "models" / "deeper" / "c.bin").write_text("file c")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "inside.txt").symlink_to("digits.txt")
    (folder / "outside.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    run = build("companion_assets", "android")
    assert_success(run(str(folder), NNAPI_SHIM_ASSETS=str(folder)))


def test_log_format(build: Callable[..., Program]) -> None:
    """One line per line of text, with priority and tag, of any length."""
    result = build("companion_log", "log")("formats")
    assert_success(result)
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "I/tag: 7 and seven",
        "W/tag: 100%s is no format",
        "E/tag: list of 1",
        "V/tag: ends with a newline",
        "D/tag: two",
        "D/tag: lines",
        "F/tag: ",
        "?/: no tag",
        "?/tag: no priority",
        "I/companion_log-log: (null)",
        "I/long: " + "x" * 5000,
    ]


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("", "01234567"),
        ("nonsense", "01234567"),
        ("V", "01234567"),
        ("d", "0134567"),
        ("INFO", "014567"),
        ("w", "567"),
        ("error", "67"),
        ("7", "7"),
        ("S", ""),
    ],
)
def test_log_priority_setting(build: Callable[..., Program], setting: str, shown: str) -> None:
    """NNAPI_SHIM_LOG_PRIORITY hides what is below it."""
    result = build("companion_log", "log")("priorities", NNAPI_SHIM_LOG_PRIORITY=setting)
    assert_success(result)
    assert "".join(line.partition(": ")[2] for line in result.stderr.splitlines()) == shown


def test_log_is_loggable_uses_the_default_without_a_setting(build: Callable[..., Program]) -> None:
    """The third argument counts only if the environment says nothing."""
    run = build("companion_log", "log")
    assert run("defaults").stdout == "1010\n"
    assert run("defaults", NNAPI_SHIM_LOG_PRIORITY="V").stdout == "1111\n"
    assert run("defaults", NNAPI_SHIM_LOG_PRIORITY="S").stdout == "0000\n"


def test_a_log_that_nobody_reads_ends_no_program(tmp_path: Path) -> None:
    """On Android logging never does."""
    source, program = tmp_path / "log.c", tmp_path / "log"
    source.write_text(
        "#include <android/log.h>\n"
        'int main(void) { return __android_log_print(4, "t", "m") < 0 ? 0 : 1; }\n'
    )
    command = ["cc", f"-I{ROOT}/include/companion", source, "-o", program, f"-L{LIBRARIES}"]
    subprocess.run([*command, "-llog", f"-Wl,-rpath,{LIBRARIES}"], check=True)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        assert subprocess.run([program], stderr=pipe, env={}, check=False).returncode == 0


def test_log_lines_of_threads_do_not_mix(build: Callable[..., Program]) -> None:
    """Four threads, 500 lines each: every line whole, those of one thread in order."""
    result = build("companion_log", "log")("threads")
    assert_success(result)
    lines = result.stderr.splitlines()
    assert len(lines) == 4 * 500
    seen = {str(thread): 0 for thread in range(4)}
    for line in lines:
        match = re.fullmatch(r"I/thread (\d): (\d+) (\d+)", line)
        assert match is not None, line
        thread, number, text = match.groups()
        assert text == thread * 199
        assert int(number) == seen[thread]
        seen[thread] += 1


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("assert", "F/tag: because of 3"),
        ("condition", "F/tag: assertion failed: 1 == 2"),
        ("nothing", "F/tag: assertion failed"),
    ],
)
@pytest.mark.parametrize("setting", ["", "S"])
def test_log_assert_aborts(
    build: Callable[..., Program], argument: str, line: str, setting: str
) -> None:
    """The message is written whatever the setting, then the program ends."""
    result = build("companion_log", "log")(argument, NNAPI_SHIM_LOG_PRIORITY=setting)
    assert result.returncode == -signal.SIGABRT
    assert result.stderr.splitlines()[0] == line


def test_log_without_standard_error(build: Callable[..., Program]) -> None:
    """A failed write is reported, not hidden."""
    assert_success(build("companion_log", "log")("closed"))


def test_first_calls_of_threads(build: Callable[..., Program], tmp_path: Path) -> None:
    """Eight threads begin with everything at once."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "digits.txt").write_text("0123456789")
    run = build("companion_race", "android", "log")
    result = run(str(tmp_path / "assets"), NNAPI_SHIM_TRACE=str(tmp_path / "trace.json"))
    assert_success(result)
    assert result.stderr.count("I/race: ") == 8 * 20
