"""What is in a wheel, the tarball and the Debian packages stands in a document beside it."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.install.trees import ROOT, finished

NAME = re.compile(r"nnapi_shim-[\d.]+\.dist-info/sboms/nnapi_shim\.cdx\.json")

pytestmark = pytest.mark.installed


def components(document):
    """All of them, those within others as well."""
    todo = [document["metadata"]["component"], *document.get("components", [])]
    while todo:
        component = todo.pop()
        todo += component.get("components", [])
        yield component


def check(text):
    """What holds for any of these documents; gives path -> SHA-256."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    assert document["specVersion"] == "1.6"
    result = list(components(document))
    for component in result:
        assert component["purl"].startswith("pkg:"), component
        assert component["licenses"], component
    tools = {
        tool["name"]: tool.get("version") for tool in document["metadata"]["tools"]["components"]
    }
    assert {"numba", "llvmlite", "cffi", "hatchling", "cpython", "ziglang"} <= tools.keys()
    assert all(tools.values())
    files = [component for component in result if component["type"] == "file"]
    names = [component["name"] for component in files]
    assert len(set(names)) == len(names)
    return {c["name"]: h["content"] for c in files for h in c["hashes"]}


def sums(folder: Path):
    """Path -> SHA-256 of the ELF files in a folder."""
    result = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if data.startswith(b"\x7fELF"):
                result[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return result


def test_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = filter(NAME.fullmatch, archive.namelist())
        text = archive.read(name).decode()
        archive.extractall(tmp_path)
    assert check(text) == sums(tmp_path)
    assert json.loads(text).get("components", []) == []  # it holds nothing of others


def test_the_tarball(tarball):
    (document,) = tarball.prefix.glob("share/doc/*/nnapi_shim.cdx.json")
    packages = tarball.libraries / "nnapi-shim"
    assert check(document.read_text()) == sums(packages)
    messages = {c["name"]: c for c in components(json.loads(document.read_text()))}
    assert {"nnapi_shim", "cpython", "numpy", "cffi", "pycparser", "libffi", "OpenBLAS"} <= set(
        messages
    )
    assert {"libgfortran", "libquadmath"} <= set(messages)
    for name in ("cpython", "numpy", "cffi", "OpenBLAS"):
        assert messages[name]["version"] and messages[name]["licenses"]


def test_what_lies_beside_the_tarball(tarball):
    folder = tarball.prefix.parent
    names = {path.name.partition("-0")[0] for path in folder.glob("*.cdx.json")}
    assert names == {"nnapi-shim", "nnapi_shim"}
    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=folder).returncode == 0
    listed = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in folder.iterdir() if path.is_file()} - {"SHA256SUMS"}


def test_the_debian_package(debian):
    (document,) = debian.prefix.glob("share/doc/libneuralnetworks/nnapi_shim.cdx.json")
    assert check(document.read_text()) == sums(debian.libraries / "nnapi-shim")


def document_of(folder: Path) -> str:
    """What stands in a wheel with these libraries, made by a process of its own."""
    code = "import sys; from install import sbom; print(sbom.wheel_bom(sbom.Path(sys.argv[1]), 0))"
    compiler = shlex.join([sys.executable, str(ROOT / "install" / "zig_cc.py")])
    environment = {**os.environ, "CC": compiler, "PYTHONPATH": str(ROOT)}
    return finished(sys.executable, "-c", code, folder, cwd=ROOT, env=environment)


def test_the_same_files_make_the_same_document(tmp_path):
    (tmp_path / "libone.so").write_bytes(b"\x7fELF one")
    text = document_of(tmp_path)
    assert text == document_of(tmp_path)
    assert list(check(text)) == ["nnapi_shim/lib/libone.so"]
    (tmp_path / "libone.so").write_bytes(b"\x7fELF two")
    serials = {json.loads(each)["serialNumber"] for each in (text, document_of(tmp_path))}
    assert len(serials) == 2
