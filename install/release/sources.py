"""Checks of the sources: version, changelog, metadata and documents."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from install.release.checklist import FailedCheckError, NotCheckedError, OpenPointError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

URLS = ("Source", "Documentation", "Changelog", "Issues")
DOCUMENTS = {
    "LICENSE": "Apache License",
    "SECURITY.md": "## Reporting",
    "CODE_OF_CONDUCT.md": "Contributor Covenant",
    "CONTRIBUTING.md": "## Set up",
    "docs/roadmap.md": "# Roadmap",
    "docs/support.md": "# Support matrix",
}
"""Document of a release -> words that it has."""
NOT_PLACES_OF_THE_VERSION = ("CHANGELOG.md", "requirements/")
NOT_IN_SDIST = (".ci/", ".github/")


class Sources:
    """The checks of the sources in a folder. final: for a release, not for a rehearsal."""

    def __init__(self, root: Path, final: bool = False) -> None:
        self.root, self.final = root, final
        self.project: dict[str, Any] = tomllib.loads(self._text("pyproject.toml"))["project"]

    def _text(self, name: str) -> str:
        path = self.root / name
        if not path.exists():
            raise FailedCheckError(f"{name} is missing")
        return path.read_text()

    def tracked(self) -> list[str]:
        """The files of the repository that exist."""
        if not (self.root / ".git").exists():
            raise NotCheckedError("this is no git checkout")
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.check_output(command, cwd=self.root, text=True).splitlines()
        return [name for name in names if (self.root / name).is_file()]

    @property
    def version(self) -> str:
        """The version, as nnapi_shim/version.py has it."""
        match = re.search(
            r'^__version__ = "(\d+\.\d+\.\d+)"$', self._text("nnapi_shim/version.py"), re.M
        )
        if match is None:
            raise FailedCheckError("nnapi_shim/version.py has no __version__ of the form 1.2.3")
        return match[1]

    def version_in_one_place(self) -> str:
        """No other file repeats the version."""
        pattern = re.compile(rf"(?<![\d.]){re.escape(self.version)}(?![\d.]*\d)".encode())
        places = [
            name
            for name in self.tracked()
            if not name.startswith(NOT_PLACES_OF_THE_VERSION)
            and name != "nnapi_shim/version.py"
            and pattern.search((self.root / name).read_bytes())
        ]
        if places:
            raise FailedCheckError(f"{self.version} stands in {', '.join(places)}, too")
        return f"{self.version}, in nnapi_shim/version.py alone"

    def changelog(self) -> str:
        """CHANGELOG.md has an entry of the version, or says that it is the next one."""
        text = self._text("CHANGELOG.md")
        if re.search(rf"^## {re.escape(self.version)}\b", text, re.M):
            return f"an entry {self.version}"
        unreleased = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        if unreleased is None or f"release will be {self.version}." not in unreleased[1]:
            raise FailedCheckError(f"neither an entry {self.version} nor one of it as Unreleased")
        if self.final:
            raise FailedCheckError(f"the entry of {self.version} is still headed Unreleased")
        return f"{self.version} is announced under Unreleased, which a release heads {self.version}"

    def metadata(self) -> str:
        """pyproject.toml has what an index shows."""
        lacking = [
            name
            for name in ("authors", "keywords", "license", "urls")
            if not self.project.get(name)
        ]
        classifiers = self.project["classifiers"]
        wanted = ["Typing :: Typed", "Operating System :: POSIX :: Linux"]
        wanted += [f"Programming Language :: Python :: {python}" for python in self.pythons()]
        lacking += [each for each in wanted if each not in classifiers]
        if not (self.root / "nnapi_shim" / "py.typed").exists():
            lacking.append("nnapi_shim/py.typed")
        if lacking:
            raise FailedCheckError(f"lacks {', '.join(lacking)}")
        return f"{len(self.project['keywords'])} keywords, {len(classifiers)} classifiers"

    def pythons(self) -> list[str]:
        """The versions of Python that continuous integration tests, else of the classifiers."""
        workflow = self.root / ".github" / "workflows" / "ci.yml"
        if workflow.exists():
            (versions,) = re.findall(r"python: \[(.*)\]", workflow.read_text())
            return re.findall(r"[\d.]+", versions)
        return re.findall(r"Python :: (3\.\d+)", "\n".join(self.project["classifiers"]))

    def home(self) -> str:
        """pyproject.toml names the public home of the project."""
        lacking = [name for name in URLS if name not in self.project["urls"]]
        if lacking:
            raise OpenPointError(f"no public home yet: [project.urls] lacks {', '.join(lacking)}")
        return self.project["urls"]["Source"]

    def documents(self) -> str:
        """The documents are there, and are what they are called."""
        for name, words in DOCUMENTS.items():
            if words not in self._text(name):
                raise FailedCheckError(f"{name} lacks {words!r}")
        return ", ".join(DOCUMENTS)

    def support(self) -> str:
        """The support matrix names what the packages are for."""
        text = self._text("docs/support.md")
        glibc = re.search(r'^GLIBC = "(.*)"', self._text("install/zig_cc.py"), re.M)
        assert glibc is not None
        wanted = [*self.pythons(), f"glibc {glibc[1]}", "x86-64"]
        lacking = [each for each in wanted if each not in text]
        if lacking:
            raise FailedCheckError(f"docs/support.md lacks {', '.join(lacking)}")
        return f"Python {wanted[0]} to {wanted[-3]}, glibc {glibc[1]}, x86-64"

    def citation(self) -> str:
        """CITATION.cff has the required fields, and those that pyproject.toml has, too."""
        text = self._text("CITATION.cff")
        fields: dict[str, Any] = dict(re.findall(r"^([\w-]+): *(\S.*)$", text, re.M))
        fields["authors"] = [{"name": name} for name in re.findall(r"^ *- name: (.+)$", text, re.M)]
        lacking = [
            name
            for name in (
                "cff-version",
                "message",
                "type",
                "title",
                "authors",
                "license",
                "abstract",
            )
            if not fields.get(name)
        ]
        if lacking:
            raise FailedCheckError(f"CITATION.cff lacks {', '.join(lacking)}")
        pairs = {
            "title": (fields["title"], self.project["name"]),
            "license": (fields["license"], self.project["license"]),
            "authors": (fields["authors"], self.project["authors"]),
        }
        for name, (cited, ours) in pairs.items():
            if cited != ours:
                raise FailedCheckError(f"CITATION.cff has {name} {cited}, pyproject.toml {ours}")
        return f"CITATION.cff {fields['cff-version']}"

    def sdist_has_all(self, names: set[str]) -> str:
        """The source distribution has every file of the repository."""
        wanted = [name for name in self.tracked() if not name.startswith(NOT_IN_SDIST)]
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise FailedCheckError(f"the sdist lacks {len(lacking)} files, such as {lacking[0]}")
        return f"{len(wanted)} files of the repository"
