"""jni.h and the stand-in for Java, with the library's header and with that of a real Java."""

import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.java import java_headers

COMPANION = Path(__file__).resolve().parents[2] / "include" / "companion"

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["own", "java"])
def run(build: Callable[..., Program], request: pytest.FixtureRequest) -> Program:
    """Runs the program, compiled with either header."""
    first = java_headers() if request.param == "java" else []
    if request.param == "java" and not first:
        pytest.skip("there is no Java with headers")
    return build("companion_jni", "android", first=first)


def test_what_programs_use(run: Program) -> None:
    """Strings, arrays, references, exceptions, threads."""
    result = run()
    assert result.returncode == 0, result.stderr
    assert result.stderr == "E/nnapi_shim: JNI: exception java/io/IOException: no such file\n"


def test_assets_from_java(run: Program, tmp_path: Path) -> None:
    """The object's manager; for NULL the folder of the setting, which is told of once."""
    inputs, default = tmp_path / "given", tmp_path / "default"
    for folder in (inputs, default):
        folder.mkdir()
        (folder / "name.txt").write_text(folder.name)
    result = run(str(inputs), "name.txt", NNAPI_SHIM_ASSETS=str(default))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["given", "default", "default", "default"]
    assert result.stderr.splitlines() == [
        "I/nnapi_shim: AAssetManager_fromJava: there is no Java object; the assets are the files "
        f"in the folder '{default}' (NNAPI_SHIM_ASSETS)",
        "E/nnapi_shim: AAssetManager_fromJava: the object is not from "
        "nnapi_shim_newJavaAssetManager(); NULL stands for the folder of NNAPI_SHIM_ASSETS",
    ]


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("missing", "GetMethodID: this function is not in the stand-in for Java"),
        ("call", "CallIntMethod: this function is not in the stand-in for Java"),
        ("newer", "a function newer than version 1.6: it is not in the stand-in for Java"),
        ("kind", "GetArrayLength: the object is a string, not an array of primitives"),
        ("type", "GetFloatArrayElements: the array is a [I, not a [F"),
        ("null", "GetStringUTFChars: the object is NULL"),
        ("nothing", "GetObjectClass: 0x.* is no object"),
        ("frame", "PopLocalFrame: there is no frame"),
        ("fatal", "FatalError: the end"),
    ],
)
def test_what_is_not_there_ends_the_program(run: Program, how: str, line: str) -> None:
    """One line, which names the function, whatever is shown otherwise."""
    result = run(how, NNAPI_SHIM_LOG_PRIORITY="S")
    assert result.returncode == -signal.SIGABRT
    pattern = line if "0x" in line else re.escape(line)
    assert re.fullmatch(f"F/nnapi_shim: JNI: {pattern}\n", result.stderr), result.stderr


def test_nothing_leaks(run: Program) -> None:
    """Objects go with their last reference, and memory is used as it may be."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    check = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"]
    check += ["--errors-for-leak-kinds=definite,indirect,possible"]
    result = run(under=check)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_table_is_that_of_a_real_java(language: str, tmp_path: Path) -> None:
    """Every function has the place that Java's own header gives it."""
    first = java_headers()
    if not first:
        pytest.skip("there is no Java with headers")
    names = re.findall(r"\bF0?\([^,()]+, (\w+)", expanded())
    for name in re.findall(r"\bM\([^,()]+, (\w+)|\bMV\((\w+)", expanded()):
        names += [f"{''.join(name)}{suffix}" for suffix in ("", "V", "A")]
    assert len(names) == 229
    offsets = []
    for folders, structure in (([COMPANION], "JNINativeInterface"), (first, "JNINativeInterface_")):
        lines = "".join(f'print("{n}", offsetof(struct {structure}, {n}));\n' for n in names)
        source = (
            "#include <jni.h>\n#include <stddef.h>\n#include <stdio.h>\n"
            '#define print(name, offset) printf("%s %zu\\n", name, offset)\n'
            f"int main(void) {{\n{lines}return 0;\n}}\n"
        )
        program = tmp_path / structure
        command = ["c++" if language == "c++" else "cc", f"-x{language}", "-o", str(program), "-"]
        command += [f"-I{folder}" for folder in folders]
        subprocess.run(command, input=source, text=True, check=True)
        offsets.append(subprocess.check_output([program], text=True))
    assert offsets[0] == offsets[1]


def expanded() -> str:
    """The table as the preprocessor writes it, families and all."""
    source = "#include <nnapi_shim_jni_functions.h>\nNNAPI_SHIM_JNI_FUNCTIONS(F, F0, M, MV)\n"
    command = ["cc", "-E", "-P", f"-I{COMPANION}", "-xc", "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return result.stdout
