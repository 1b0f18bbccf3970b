"""The checks of `make release-check`, in their order."""

from collections.abc import Iterator
from pathlib import Path

from build_ffi import ROOT
from install.release import index
from install.release.checklist import Check, run
from install.release.packages import Packages
from install.release.sources import Sources
from install.release.trial import Trial
from install.zig_cc import GLIBC


def rehearse(out: Path, final: bool) -> bool:
    """Check everything, and leave the sdist and the wheel in `out`. final: for a release."""
    print("release-check: builds and tries all packages, about 3 minutes", flush=True)
    return run(checks(out, final), final)


def checks(out: Path, final: bool) -> Iterator[Check]:
    """All checks; those of packages need the ones before them."""
    sources = Sources(ROOT, final)
    name = sources.project["name"]
    yield Check("version", sources.version_in_one_place)
    yield Check("changelog", sources.changelog)
    yield Check("metadata", sources.metadata)
    yield Check("public home", sources.home)
    yield Check("documents", sources.documents)
    yield Check("support matrix", sources.support)
    yield Check("citation", sources.citation)
    text = (ROOT / "CHANGELOG.md").read_text()
    yield Check("name", lambda: index.name_is_ours(name, sources.version, text))
    packages = Packages(out, from_nothing=final)
    yield Check("sdist", packages.build_sdist)
    yield Check("files of the sdist", lambda: sources.sdist_has_all(packages.names_in_sdist()))
    yield Check("wheel of the sdist", packages.build_wheel)
    yield Check("platform", lambda: packages.has_tag(GLIBC))
    yield Check("the same bits", packages.equals_checkout)
    yield Check("twine check", packages.passes_twine)
    yield Check("description", packages.description_renders)
    trial = Trial(ROOT / "build" / "release-trial")
    yield Check("fresh environment", lambda: trial.install(packages.wheel))
    yield Check("C program", trial.c_program)
    yield Check("Python model", trial.python_model)
    yield Check("messages", trial.printed_command)
