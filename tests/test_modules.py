"""The modules of the package that a C program loads are those that importlib would load."""

import os
import py_compile
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import pytest

import nnapi_shim
from nnapi_shim import modules

SOURCE = "value = 1\n"
OTHER = "value = 2\n"
"""As long as SOURCE: the bytecode of one looks current beside the other."""


@pytest.mark.parametrize("name", ["address", "hal"])
def test_specs_are_those_of_importlib(name):
    name = f"nnapi_shim.{name}"
    actual = modules.find(name, nnapi_shim.__path__)
    expected = PathFinder.find_spec(name, nnapi_shim.__path__)
    assert actual is not None and expected is not None
    loader, its_loader = actual.__dict__.pop("loader"), expected.__dict__.pop("loader")
    assert actual.cached == expected.cached
    assert actual.__dict__ == expected.__dict__
    assert isinstance(loader, SourceFileLoader)
    assert (loader.name, loader.path) == (its_loader.name, its_loader.path)
    assert loader.is_package(name) == its_loader.is_package(name)
    assert loader.get_code(name) == its_loader.get_code(name)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("nnapi_shim", None),
        ("nnapi_shim.no_such_module", nnapi_shim.__path__),
        ("nnapi_shim.address", [*nnapi_shim.__path__, "/"]),
        ("nnapi_shimmed.address", nnapi_shim.__path__),
        ("address", None),
    ],
)
def test_others_are_left_to_importlib(name, path):
    assert modules.find(name, path) is None


@pytest.fixture
def value(tmp_path: Path) -> Callable[[], int]:
    """Makes a module with the bytecode of another one of the same size and time; the function
    executes what is loaded and returns its value.
    """
    path = tmp_path / "module.py"
    path.write_text(OTHER)
    py_compile.compile(str(path), doraise=True)
    status = path.stat()
    path.write_text(SOURCE)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def load() -> int:
        name = "nnapi_shim.module"
        spec = modules.find(name, [str(tmp_path)])
        assert spec is not None and isinstance(spec.loader, modules.SourceLoader)
        code = spec.loader.get_code(name)
        assert code.co_filename == str(path)
        scope: dict[str, int] = {}
        exec(code, scope)
        return scope["value"]

    return load


def bytecode(folder: Path) -> Path:
    (file,) = (folder / "__pycache__").iterdir()
    return file


def test_current_bytecode_is_read(value):
    assert value() == 2


def test_bytecode_may_come_from_another_folder(value, tmp_path):
    other = tmp_path / "elsewhere.py"
    other.write_text(OTHER)
    file = bytecode(tmp_path)
    moved = py_compile.compile(str(other), cfile=str(tmp_path / "moved.pyc"), doraise=True)
    file.write_bytes(file.read_bytes()[:16] + Path(moved).read_bytes()[16:])
    assert value() == 2


@pytest.mark.parametrize("at", range(16))
def test_bytecode_with_another_head_is_not_read(value, tmp_path, at):
    file = bytecode(tmp_path)
    content = bytearray(file.read_bytes())
    content[at] ^= 4  # of the flags, one that no Python knows
    file.write_bytes(content)
    assert value() == 1


def test_bytecode_of_an_older_source_is_not_read(value, tmp_path):
    source = tmp_path / "module.py"
    source.write_text(SOURCE + "\n")
    assert value() == 1


@pytest.mark.parametrize("length", [0, 15])
def test_cut_heads_are_not_read(value, tmp_path, length):
    file = bytecode(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    assert value() == 1


def test_there_may_be_no_bytecode(value, tmp_path):
    bytecode(tmp_path).unlink()
    assert value() == 1


def test_damaged_bytecode_is_refused_as_by_importlib(value, tmp_path):
    file = bytecode(tmp_path)
    file.write_bytes(file.read_bytes()[:24])
    with pytest.raises(EOFError) as expected:
        SourceFileLoader("module", str(tmp_path / "module.py")).get_code("module")
    with pytest.raises(EOFError) as actual:
        value()
    assert str(actual.value) == str(expected.value)


WITHIN_PYTHON = """
import sys
from nnapi_shim import modules, signals

before = set(sys.modules)
signals.defer_while_importing()
import nnapi_shim.abi
loaded = [name for name in sys.modules if name.startswith("nnapi_shim.") and name not in before]
assert "nnapi_shim.abi.boundary" in loaded
for name in loaded:
    module = sys.modules[name]
    assert isinstance(module.__loader__, modules.SourceLoader), name
    assert module.__spec__.loader is module.__loader__ and module.__file__ == module.__spec__.origin
"""


def test_all_modules_are_loaded_so_from_then_on():
    command = [sys.executable, "-c", WITHIN_PYTHON]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1])


def test_bytecode_in_a_folder_of_its_own_is_left_to_importlib(tmp_path):
    code = "import nnapi_shim; from nnapi_shim import modules; "
    code += "assert modules.find('nnapi_shim.address', nnapi_shim.__path__) is None"
    subprocess.run([sys.executable, "-X", f"pycache_prefix={tmp_path}", "-c", code], check=True)
