"""Messages about missing packages print a command that works for the way of installation."""

import sys
from pathlib import Path

import pytest

from nnapi_shim import extras

ROOT = Path(__file__).resolve().parents[1]
METADATA = """Requires-Dist: numpy>=1.24
Requires-Dist: typer>=0.15; extra == 'tools'
Requires-Dist: rich>=13 ; (python_version >= "3.10") and extra == "tools"
Requires-Dist: onnx>=1.17; extra == 'onnx'
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that installs nnapi_shim into a folder, the only one of the path."""

    def install(folder: str, *others: str) -> Path:
        path = tmp_path / folder
        for each in (path / "nnapi_shim-1.2.dist-info", *(tmp_path / other for other in others)):
            each.mkdir(parents=True)
        (path / "nnapi_shim-1.2.dist-info" / "METADATA").write_text(METADATA)
        monkeypatch.setattr(sys, "path", ["/nowhere", str(path)])
        return tmp_path

    return install


SITE = "env/lib/python3.12/site-packages"


def test_an_environment(installed):
    root = installed(SITE, f"{SITE}/pip", "env/bin/python")
    pip = f"{root}/env/bin/python -m pip install"
    assert extras.install_command("tools") == f"{pip} 'typer>=0.15' 'rich>=13'"
    assert extras.install_command("tools", "rich") == f"{pip} 'rich>=13'"


def test_an_environment_without_pip(installed):
    root = installed(SITE, "env/bin/python")
    command = f"uv pip install --python {root}/env/bin/python 'onnx>=1.17'"
    assert extras.install_command("onnx") == command


def test_a_prefix(installed):
    root = installed("usr/lib/nnapi-shim")
    pip = f"{sys.executable} -m pip install --target {root}/usr/lib/nnapi-shim"
    assert extras.install_command("onnx") == f"{pip} 'onnx>=1.17'"


def test_a_checkout_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    command = f"{sys.executable} -m pip install -e '{ROOT}[tools]'"
    assert extras.install_command("tools") == command


@pytest.mark.parametrize(
    "extra",
    ["jit", "tflite", "onnx", "tools", "explorer", "bench", "onnxruntime", "iree", "litert"],
)
def test_every_extra_that_messages_name_has_packages(extra):
    """In the metadata of this installation."""
    assert extras.install_command(extra).partition(" install ")[2]


def test_no_message_or_page_installs_by_the_name_of_the_package():
    """No index has the package before its first release."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("nnapi_shim/**/*.py")]
    assert len(files) > 300
    named = [
        str(path)
        for path in files
        if path.name != "CHANGELOG.md" and "install 'nnapi_shim" in path.read_text()
    ]
    assert named == []
