"""pip, uv and build from a fresh clone, in isolated environments, with nothing compiled beside."""

import shutil
import sys

import pytest

from tests.install.trees import (
    PROJECTS,
    ROOT,
    Tree,
    finished,
    install_wheel,
    make_environment,
    runs,
)

pytestmark = [pytest.mark.installed, pytest.mark.slow]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What git knows of this tree, changes included."""
    clone = tmp_path_factory.mktemp("clone") / "nnapi_shim"
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    names = finished("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in names.splitlines():
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    return clone


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment with nothing but pip, uv and build."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    finished(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    finished(python, "-m", "pip", "--quiet", "install", "build", "uv")
    return python


def program_runs(tree, folder):
    include = tree.prefix / "include"
    flags = (f"-I{include}", f"-L{tree.libraries}", "-lneuralnetworks")
    finished("cc", PROJECTS / "add.c", *flags, "-o", folder / "add")
    runs(folder / "add", tree.libraries)


def installed(python):
    code = "import nnapi_shim as n; print(n.get_library_dir())"
    libraries = finished(python, "-c", code, cwd="/").strip()
    path = type(python)(libraries)
    return Tree(path.parent, path)


def test_pip_install(clone, bare, tmp_path):
    python = make_environment(tmp_path / "env")
    finished(bare, "-m", "pip", "--quiet", "--python", python, "install", clone, cwd="/")
    program_runs(installed(python), tmp_path)


def test_uv_install(clone, bare, tmp_path):
    python = make_environment(tmp_path / "env")
    uv = bare.with_name("uv")
    finished(uv, "pip", "install", "--quiet", "--python", python, clone, cwd="/")
    program_runs(installed(python), tmp_path)


def test_build_and_pip_wheel(clone, bare, tmp_path):
    out = tmp_path / "dist"
    finished(bare, "-m", "build", "--outdir", out, clone, cwd="/")
    (wheel,) = out.glob("*.whl")
    assert "manylinux" in wheel.name
    assert len(list(out.glob("*.tar.gz"))) == 1
    program_runs(install_wheel(wheel, make_environment(tmp_path / "env")), tmp_path)
