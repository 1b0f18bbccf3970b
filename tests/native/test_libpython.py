"""What start-up assumes of libpython is what the headers of every Python here say."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "nnapi_shim" / "native"
FIELDS = (
    *("buffered_stdio", "site_import", "module_search_paths_set", "module_search_paths"),
    *("home", "executable"),
)
PROBE = f"""
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
int main(void)
{{
    printf("%d %zu %zu", PY_MINOR_VERSION, offsetof(PyPreConfig, utf8_mode), sizeof(PyConfig));
    {"".join(f'printf(" %zu", offsetof(PyConfig, {field}));' for field in FIELDS)}
    printf(" %zu %zu", sizeof(PyStatus), offsetof(PyStatus, err_msg));
    return 0;
}}
"""


def headers():
    """Folders with Python.h, each version once."""
    folders = [Path(sysconfig.get_config_var("INCLUDEPY"))]
    folders += [*Path.home().glob(".pyenv/versions/*/include/python3.*")]
    folders += Path("/usr/include").glob("python3.*")
    result = {folder.name: folder for folder in folders if (folder / "Python.h").exists()}
    return {name: result[name] for name in result if re.fullmatch(r"python3\.\d\d", name)}


@pytest.mark.parametrize("name", headers())
def test_layout(name, tmp_path):
    minor = int(re.match(r"python3\.(\d+)", name)[1])
    if not 10 <= minor < 14:
        pytest.skip(f"{name} is not configured by struct")
    source = tmp_path / "probe.c"
    source.write_text(PROBE)
    program = tmp_path / "probe"
    subprocess.run(["cc", f"-I{headers()[name]}", source, "-o", program], check=True)
    messages = [int(word) for word in subprocess.check_output([program], text=True).split()]
    text = (NATIVE / "interpreter.c").read_text()
    assert messages[1] == int(re.search(r"UTF8_MODE = (\d+)", text)[1])
    assert messages[2] < int(re.search(r"char bytes\[(\d+)\]", text)[1])
    (row,) = (
        row for row in re.findall(r"^    \{([\d, ]+)\},$", text, re.M) if row[:2] == str(minor)
    )
    assert [messages[0], *messages[3:9]] == [int(word) for word in row.split(",")]
    assert messages[9:] == [32, 16]  # PyStatus in libpython.h


def test_the_oldest_version_is_the_same_everywhere():
    """What pip, the C parts, the wheel's tag and the build say of it."""
    root = NATIVE.parents[1]
    said = {
        "pyproject.toml": r'requires-python = ">=3\.(\d+)"',
        "hatch_build.py": r'PYTHON_TAG = "cp3(\d+)-abi3"',
        "check_build.py": r"OLDEST = \(3, (\d+)\)",
        "nnapi_shim/native/libpython.h": r"NN_OLDEST_PYTHON = (\d+)",
    }
    result = {
        file: re.search(pattern, (root / file).read_text())[1] for file, pattern in said.items()
    }
    stable = re.search(r'STABLE_ABI = "0x03([0-9a-f]{2})0000"', (root / "build_ffi.py").read_text())
    assert {*map(int, result.values()), int(stable[1], 16)} == {10}, result
