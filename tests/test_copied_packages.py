"""The packages of this environment, as `make install` copies them."""

from importlib import metadata
from pathlib import Path

import pytest

from install.installed import copy_installed, pinned

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def requirements(tmp_path):
    """A function that writes a file of requirements with the versions of packages."""

    def write(**versions: str) -> Path:
        lines = (
            f"{name}=={version} \\\n    --hash=sha256:00\n" for name, version in versions.items()
        )
        path = tmp_path / "requirements.txt"
        path.write_text("# pins\n" + "".join(lines) + "colorama==1 ; sys_platform == 'win32'\n")
        return path

    return write


def test_packages_are_copied_without_scripts_and_bytecode(requirements, tmp_path):
    path = requirements(numpy=metadata.version("numpy"), cffi=metadata.version("cffi"))
    assert [each.name for each in pinned(path)] == ["numpy", "cffi"]
    assert copy_installed(path, tmp_path / "to")
    (result,) = metadata.distributions(name="numpy", path=[str(tmp_path / "to")])
    files = {str(file) for file in result.files}
    assert {"numpy/__init__.py", f"numpy-{result.version}.dist-info/METADATA"} <= files
    assert not [name for name in files if ".." in name or name.endswith(".pyc")]
    there = {
        str(p.relative_to(tmp_path / "to")) for p in (tmp_path / "to").rglob("*") if p.is_file()
    }
    assert files <= there
    assert not [name for name in there if not name.startswith(("numpy", "cffi", "_cffi"))]


@pytest.mark.parametrize(
    "other",
    [{"cffi": "0.1"}, {"no_such_package": "1"}, {"nnapi_shim": metadata.version("nnapi_shim")}],
)
def test_nothing_is_copied_where_one_differs(requirements, tmp_path, other):
    path = requirements(numpy=metadata.version("numpy"), **other)
    assert not copy_installed(path, tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("name", ["runtime", "command"])
def test_what_make_installs_has_what_is_copied(name, tmp_path):
    assert copy_installed(ROOT / "requirements" / f"{name}.txt", tmp_path)
