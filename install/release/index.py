"""Checks of the name at the package index that pip uses."""

import re
import subprocess
import sys

from install.release.checklist import FailedCheckError, NotCheckedError

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
ALWAYS_THERE = "cffi"


def versions_of(name: str) -> list[str]:
    """The published versions of a package; none if no index is reached, too."""
    done = subprocess.run([*PIP, "index", "versions", name], capture_output=True, text=True)
    match = re.search(r"^Available versions: (.*)$", done.stdout, re.M)
    return match[1].split(", ") if done.returncode == 0 and match else []


def is_reachable() -> bool:
    """Whether pip reaches an index."""
    return bool(versions_of(ALWAYS_THERE))


def name_is_ours(name: str, version: str, changelog: str) -> str:
    """The name is free, or has no versions but those of our changelog, and not this one."""
    published = versions_of(name)
    if not published:
        if not is_reachable():
            raise NotCheckedError("pip reaches no package index")
        return f"{name} is free at the index that pip uses"
    unknown = [
        each for each in published if not re.search(rf"^## {re.escape(each)}\b", changelog, re.M)
    ]
    if unknown:
        raise FailedCheckError(
            f"the index has {name} {unknown[0]}, which CHANGELOG.md does not know"
        )
    if version in published:
        raise FailedCheckError(f"{name} {version} is published; raise the version")
    return f"{name} {published[0]} is published and ours"
