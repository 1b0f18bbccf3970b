"""Tries the wheel of a release in a fresh environment, as a user would."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from build_ffi import ROOT
from install.release import index
from install.release.checklist import FailedCheckError, NotCheckedError
from install.release.packages import finished

PROGRAM = ROOT / "tests" / "install" / "projects" / "add.c"


class Trial:
    """A virtual environment with the wheel, in the folder `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}

    def install(self, wheel: Path) -> str:
        """Install the wheel with what it requires; without an index, with the copies of .venv."""
        from install.installed import copy_installed

        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        finished([sys.executable, "-m", "venv", str(self.bin.parent)], ROOT)
        (site,) = self.bin.parent.glob("lib/python*/site-packages")
        pip = [str(self.bin / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
        if index.is_reachable():
            finished([*pip, "--only-binary", ":all:", str(wheel)], ROOT)
            return "with its requirements from the index"
        if not copy_installed(ROOT / "requirements" / "runtime.txt", site):
            raise FailedCheckError("pip reaches no index, and .venv has not the pinned versions")
        finished([*pip, "--no-index", str(wheel)], ROOT)
        return "with its requirements from .venv, as pip reaches no index"

    def c_program(self) -> str:
        """Compile and run a C program with the flags that the command prints."""
        flags = self._run(str(self.bin / "nnapi-shim"), "config", "--cflags", "--libs")
        libraries = self._run(str(self.bin / "nnapi-shim"), "config", "--libdir").strip()
        program = self.folder / "add"
        finished(["cc", str(PROGRAM), *flags.split(), "-o", str(program)], self.folder)
        printed = self._run(str(program), LD_LIBRARY_PATH=libraries)
        if printed != "3.75\n":
            raise FailedCheckError(f"{PROGRAM.name} prints {printed!r}")
        return f"{PROGRAM.name} prints 3.75"

    def python_model(self) -> str:
        """Run the first block of Python in README.md."""
        match = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
        if match is None:
            raise FailedCheckError("README.md has no block of Python")
        printed = self._run(str(self.bin / "python"), "-c", match[1]).strip()
        return f"README.md's prints {printed}"

    def printed_command(self) -> str:
        """A message about missing packages has a command that installs them."""
        command = str(self.bin / "nnapi-shim")
        done = subprocess.run(
            [command, "info"], env=self.environment, capture_output=True, text=True
        )
        match = re.search(r"`(.*)`", done.stderr)
        if done.returncode == 0 or match is None:
            raise FailedCheckError(f"`nnapi-shim info` without its packages says {done.stderr!r}")
        if not index.is_reachable():
            raise NotCheckedError(f"pip reaches no index for: {match[1]}")
        finished(["bash", "-c", match[1]], self.folder)
        if "nnapi-cpu" not in self._run(command, "info"):
            raise FailedCheckError(f"`nnapi-shim info` does not work after: {match[1]}")
        return match[1].replace(str(self.folder), "...")

    def _run(self, *command: str, **variables: str) -> str:
        return finished(list(command), self.folder, {**self.environment, **variables})
