"""Each check of `make release-check` fails where something is wrong."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hatch_readme
from install.release import checklist, index
from install.release.checklist import Check, FailedCheckError, NotCheckedError, OpenPointError
from install.release.sources import DOCUMENTS, Sources

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    *(
        "pyproject.toml",
        "CHANGELOG.md",
        "CITATION.cff",
        "install/zig_cc.py",
        ".github/workflows/ci.yml",
    ),
    *("nnapi_shim/version.py", "nnapi_shim/py.typed", *DOCUMENTS),
)


@pytest.fixture
def copy(tmp_path):
    """What the checks of sources read."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def edit(root: Path, name: str, pattern: str, new: str) -> None:
    text = (root / name).read_text()
    edited = re.sub(pattern, new, text, flags=re.M)
    assert edited != text
    (root / name).write_text(edited)


CHECKS = ("version_in_one_place", "changelog", "metadata", "documents", "support", "citation")


@pytest.mark.parametrize("check", CHECKS)
def test_the_sources_pass(check):
    assert getattr(Sources(ROOT), check)()


@pytest.mark.parametrize(
    ("check", "name", "pattern", "new"),
    [
        ("version_in_one_place", "nnapi_shim/version.py", r"__version__ = .*", "__version__ = f()"),
        ("changelog", "nnapi_shim/version.py", r"= \"\d+", '= "77'),
        ("metadata", "pyproject.toml", r"^keywords = ", "dependencies_ = "),
        ("metadata", "pyproject.toml", r".*Typing :: Typed.*", ""),
        ("metadata", "pyproject.toml", r".*Python :: 3.12.*", ""),
        ("documents", "CODE_OF_CONDUCT.md", "Contributor Covenant", "Covenant"),
        ("support", "docs/support.md", r"3\.13", "3.x"),
        ("support", "install/zig_cc.py", r"^GLIBC = .*", 'GLIBC = "2.99"'),
        ("citation", "CITATION.cff", "^license:.*$", "license: MIT"),
        ("citation", "CITATION.cff", "^message:.*$", ""),
    ],
)
def test_a_fault_is_found(copy, check, name, pattern, new):
    edit(copy, name, pattern, new)
    with pytest.raises(FailedCheckError):
        getattr(Sources(copy), check)()


def test_a_second_place_of_the_version(copy):
    (copy / "other.txt").write_text(f"nnapi_shim-{Sources(copy).version}.tar.gz")
    with pytest.raises(FailedCheckError, match=r"stands in other\.txt"):
        Sources(copy).version_in_one_place()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_missing_document(copy, name):
    (copy / name).unlink()
    with pytest.raises(FailedCheckError, match=re.escape(f"{name} is missing")):
        Sources(copy).documents()


@pytest.mark.parametrize(
    ("text", "rehearsal", "release"),
    [
        ("## 9.8.7, 1 May 2027\n", True, True),
        ("## Unreleased\n\nThe next release will be 9.8.7.\n", True, False),
        ("## Unreleased\n\n## 1.0.0\n\nThe next release will be 9.8.7.\n", False, False),
        ("## 9.8.70\n", False, False),
    ],
)
def test_the_entry_of_the_version(copy, text, rehearsal, release):
    edit(copy, "nnapi_shim/version.py", r'= ".*"', '= "9.8.7"')
    (copy / "CHANGELOG.md").write_text(text)
    for final, passes in ((False, rehearsal), (True, release)):
        if passes:
            assert "9.8.7" in Sources(copy, final).changelog()
        else:
            with pytest.raises(FailedCheckError, match=r"9\.8\.7"):
                Sources(copy, final).changelog()


def test_the_home_is_open_until_there_is_one(copy):
    edit(copy, "pyproject.toml", r"^\[project\.urls\]\n(.+\n)*", "[project.urls]\n")
    with pytest.raises(OpenPointError, match="lacks Source, Documentation, Changelog, Issues"):
        Sources(copy).home()
    names = ("Documentation", "Changelog", "Issues", "Source")
    urls = "".join(f'{name} = "https://example.org/{name}"\n' for name in names)
    edit(copy, "pyproject.toml", r"^\[project\.urls\]\n", f"[project.urls]\n{urls}")
    assert Sources(copy).home() == "https://example.org/Source"


def test_a_file_that_the_sdist_lacks(copy):
    names = set(FILES)
    assert Sources(copy).sdist_has_all(names)
    with pytest.raises(FailedCheckError, match=r"lacks 1 files, such as CHANGELOG\.md"):
        Sources(copy).sdist_has_all(names - {"CHANGELOG.md"})


@pytest.mark.parametrize(
    ("published", "reached", "raised"),
    [
        ([], True, None),
        ([], False, NotCheckedError),
        (["1.0", "0.9"], True, None),
        (["1.1", "1.0"], True, FailedCheckError),
        (["1.0", "0.5"], True, FailedCheckError),
    ],
)
def test_the_name(monkeypatch, published, reached, raised):
    """Of the version 1.1, after the releases 1.0 and 0.9."""
    there = {"name": published, index.ALWAYS_THERE: ["1"] if reached else []}
    monkeypatch.setattr(index, "versions_of", there.__getitem__)
    changelog = "## 1.1\n## 1.0\n## 0.9\n"
    if raised is None:
        assert "name" in index.name_is_ours("name", "1.1", changelog)
    else:
        with pytest.raises(raised):
            index.name_is_ours("name", "1.1", changelog)


def failing(error: Exception) -> Check:
    def run() -> str:
        raise error

    return Check(type(error).__name__, run)


@pytest.mark.parametrize(
    ("error", "final", "line", "passes"),
    [
        (FailedCheckError("why"), False, "failed       FailedCheckError: why", False),
        (OpenPointError("why"), False, "open         OpenPointError: why", True),
        (OpenPointError("why"), True, "failed       OpenPointError: why", False),
        (NotCheckedError("why"), True, "not checked  NotCheckedError: why", True),
    ],
)
def test_a_line_for_each_check(capsys, error, final, line, passes):
    assert checklist.run([Check("good", lambda: "yes"), failing(error)], final) is passes
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["ok           good: yes", line]
    assert lines[2].startswith("release-check: 1 ok, 1 ")


README = "![a\npicture](docs/a.png) [page](docs/a.md#b) [site](https://example.org) [here](#there)"


def test_the_description_has_no_dead_links():
    assert hatch_readme.description(README, None, "1.0") == (
        " page [site](https://example.org) [here](#there)"
    )
    assert hatch_readme.description(README, "https://example.org/x/", "1.0") == (
        "![a\npicture](https://example.org/x/raw/v1.0/docs/a.png) "
        "[page](https://example.org/x/blob/v1.0/docs/a.md#b) "
        "[site](https://example.org) [here](#there)"
    )
