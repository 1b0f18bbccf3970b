"""What builds and tests is installed at exact versions with hashes (requirements/, `make pins`)."""

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
MADE = ["build", "tools", "tflite"]
TESTED = [*MADE, "onnx", "test"]
FILES = {"runtime": [], "build": MADE, "test": TESTED, "dev": [*TESTED, "explorer", "dev"]}
"""File -> the extras of pyproject.toml that it is for, beside what the package requires."""
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def pinned(name):
    """The requirements of a file, and the hashes of each."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.M))
    for line in filter(None, map(str.strip, joined.splitlines())):
        requirement, *hashes = line.split(" --hash=")
        yield Requirement(requirement.strip()), [digest.strip() for digest in hashes]


def applies(marker: Marker | None, python: str) -> bool:
    version = {"python_version": python, "python_full_version": f"{python}.9"}
    return marker is None or marker.evaluate({**version, "extra": ""})


def declared(extras):
    """What pyproject.toml asks for, as the installed package says."""
    for line in metadata.requires("nnapi_shim"):
        requirement = Requirement(line)
        extra = re.search(r"""extra == ['"](\w+)['"]""", str(requirement.marker))
        if requirement.name != "nnapi_shim" and (extra is None or extra[1] in extras):
            yield requirement


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_one_version_with_hashes(name):
    lines = list(pinned(name))
    assert lines
    for requirement, hashes in lines:
        assert re.fullmatch(r"==[\w.!+]+", str(requirement.specifier)), requirement
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", h) for h in hashes), requirement
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert "://" not in text and "index-url" not in text and "find-links" not in text


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", FILES)
def test_they_are_what_the_project_asks_for(name, python):
    versions = {}
    for requirement, _ in pinned(name):
        if applies(requirement.marker, python):
            key = canonicalize_name(requirement.name)
            assert key not in versions, f"{key} twice"
            versions[key] = str(requirement.specifier).removeprefix("==")
    for requirement in declared(FILES[name]):
        version = {"python_version": python, "python_full_version": f"{python}.9"}
        if any(
            requirement.marker is None or requirement.marker.evaluate({**version, **one})
            for one in ({"extra": extra} for extra in ("", *FILES[name]))
        ):
            result = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(result), requirement


def test_files_agree():
    seen = {}
    for name in FILES:
        for requirement, hashes in pinned(name):
            key = (requirement.name, str(requirement.specifier), str(requirement.marker))
            assert seen.setdefault(key[:2], (key[2], hashes))[1] == hashes
    names = [{r.name for r, _ in pinned(name)} for name in FILES]
    assert names[0] <= names[1] <= names[2] <= names[3]


def test_this_environment_was_made_of_them():
    """Those of `make`, which is what the tests run in."""
    file = next((f for f in ("dev", "test") if (Path(sys.prefix) / f"ready-{f}").exists()), None)
    if file is None:
        pytest.skip("this environment was not made by make")
    expected = {
        r.name: str(r.specifier)[2:] for r, _ in pinned(file) if applies(r.marker, python())
    }
    absent = ("colorama",)  # of other systems
    result = {name: metadata.version(name) for name in expected if name not in absent}
    assert result == {name: version for name, version in expected.items() if name in result}


def python():
    return ".".join(map(str, sys.version_info[:2]))


def test_make_takes_nothing_else():
    """Every `pip install` of the Makefile, but for the peers of benchmarks."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    variables = dict(re.findall(r"^(\w+) := (.*install .*)$", text, re.M))
    installs = re.findall(r"-m pip (.*)", text)
    assert len(installs) >= 4
    for line in installs:
        line = re.sub(r"\$\((\w+)\)", lambda name: variables.get(name[1], name[0]), line)
        assert "--require-hashes" in line or "--no-deps" in line or "bench]" in line, line
