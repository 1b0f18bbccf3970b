"""Checks of the packages: built from the sdist, equal to the checkout's, shown by an index."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

from build_ffi import ROOT
from install.layout import build_wheel
from install.release.checklist import FailedCheckError


class Packages:
    """The packages of a release, in the folder `out`.

    from_nothing: compile every kernel of the sdist; otherwise the objects of the checkout are used
    whose sources in the sdist are the same.
    """

    def __init__(self, out: Path, from_nothing: bool) -> None:
        self.out, self.from_nothing = out, from_nothing
        self.unpacked = ROOT / "build" / "release-sdist"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)

    @property
    def sdist(self) -> Path:
        """The source distribution."""
        return self._one("*.tar.gz")

    @property
    def wheel(self) -> Path:
        """The wheel, made of the source distribution."""
        return self._one("*.whl")

    def _one(self, pattern: str) -> Path:
        files = list(self.out.glob(pattern))
        if len(files) != 1:
            raise FailedCheckError(f"{len(files)} files {pattern} in {self.out}")
        return files[0]

    def build_sdist(self) -> str:
        """Build the source distribution."""
        finished(
            [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(self.out)], ROOT
        )
        return f"{self.sdist.name}, {self.sdist.stat().st_size / 1e6:.1f} MB"

    def names_in_sdist(self) -> set[str]:
        """The files of the source distribution."""
        with tarfile.open(self.sdist) as tar:
            return {item.name.partition("/")[2] for item in tar.getmembers()}

    def build_wheel(self) -> str:
        """Build the wheel of the unpacked source distribution."""
        shutil.rmtree(self.unpacked, ignore_errors=True)
        with tarfile.open(self.sdist) as tar:
            tar.extractall(self.unpacked, filter="data")
        (folder,) = self.unpacked.iterdir()
        if not self.from_nothing:
            shutil.copytree(ROOT / "build" / "kernels", folder / "build" / "kernels")
        environment = {name: value for name, value in os.environ.items() if name != "CC"}
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
        command += ["--no-build-isolation", "--wheel-dir", str(self.out), str(folder)]
        finished(command, ROOT, environment)
        shutil.rmtree(self.unpacked)
        return f"{self.wheel.name}, {self.wheel.stat().st_size / 1e6:.1f} MB"

    def has_tag(self, glibc: str) -> str:
        """The wheel is for x86-64 with the glibc of install/zig_cc.py, as auditwheel finds, too."""
        tag = f"manylinux_{glibc.replace('.', '_')}_x86_64"
        if not self.wheel.name.endswith(f"-cp310-abi3-{tag}.whl"):
            raise FailedCheckError(f"{self.wheel.name} is not for {tag}")
        report = finished([sys.executable, "-m", "auditwheel", "show", str(self.wheel)], ROOT)
        match = re.search(r'platform tag: "manylinux_2_(\d+)_x86_64"', report.replace("\n", " "))
        if match is None or int(match[1]) > int(glibc.partition(".")[2]):
            raise FailedCheckError(f"auditwheel says {' '.join(report.split())}")
        return tag

    def equals_checkout(self) -> str:
        """The checkout gives the same wheel, bit for bit."""
        other = build_wheel(ROOT / "build" / "wheels", portable=True)
        if digest(other) != digest(self.wheel):
            with zipfile.ZipFile(other) as ours, zipfile.ZipFile(self.wheel) as theirs:
                one, two = ({i.filename: i.CRC for i in zip_.infolist()} for zip_ in (ours, theirs))
            differ = sorted(name for name in one | two if one.get(name) != two.get(name))
            raise FailedCheckError(f"the wheel of the checkout differs in {', '.join(differ[:5])}")
        return f"SHA-256 {digest(other)[:16]}..., as of the checkout"

    def passes_twine(self) -> str:
        """Twine accepts both."""
        files = [str(self.sdist), str(self.wheel)]
        finished([sys.executable, "-m", "twine", "check", "--strict", *files], ROOT)
        return "sdist and wheel"

    def description_renders(self) -> str:
        """The description renders as an index renders it, and no link of it is relative."""
        from readme_renderer import markdown

        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
            metadata = message_from_string(archive.read(name).decode())
        if metadata["Description-Content-Type"] != "text/markdown":
            raise FailedCheckError("the description is no Markdown")
        page = markdown.render(metadata.get_payload())
        if not page or "<h1" not in page or "<pre" not in page:
            raise FailedCheckError("the description does not render")
        relative = re.findall(r'(?:href|src)="(?!https?://|mailto:|#)([^"]*)"', page)
        if relative:
            raise FailedCheckError(f"the description has relative links, such as {relative[0]}")
        return f"{len(page) // 1000} kB of HTML without relative links"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def finished(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """The output of a command; FailedCheckError with its last lines if it fails."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()[-3:]
        words = " ".join(command[:4])
        raise FailedCheckError(f"`{words} ...` returned {done.returncode}: {' / '.join(lines)}")
    return done.stdout
