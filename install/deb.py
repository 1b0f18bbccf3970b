"""`make deb`: Debian packages of the library and of its development files.

The library's package contains its own Python. It depends on the C library alone, and works on every
release of Debian and Ubuntu whose C library is at least as new as the build machine's.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
from email.utils import formatdate
from pathlib import Path

from build_ffi import ROOT, package_version
from install import target as install_target
from install.dist import newest_glibc
from install.layout import PRIVATE, build_wheel, lay_out, source_date

LIBRARY, DEVELOPMENT = "libneuralnetworks", "libneuralnetworks-dev"
REVISION = "1"
CONTROL = """\
Package: {package}
Source: nnapi-shim
Version: {version}
Section: {section}
Priority: optional
Architecture: {architecture}
Multi-Arch: same
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends}
Description: {summary}
{description}
"""
DESCRIPTION = """\
 Existing programs for the Neural Networks API of Android's NDK compile, link
 and run unchanged, on compiled kernels for x86-64
 and AArch64.
 .
 {part}
"""
SUMMARIES = {
    LIBRARY: ("libs", "Android's Neural Networks API for Linux", "This package has the libraries."),
    DEVELOPMENT: (
        "libdevel",
        "Android's Neural Networks API for Linux (development files)",
        "This package has the headers, and files for pkg-config and CMake.",
    ),
}

OVERRIDES = (
    (
        "package-installs-python-pycache-dir",
        "for a Python of its own, in folders that no user writes",
    ),
    ("custom-library-search-path", "of numpy, relative to itself"),
    (
        "unstripped-binary-or-object",
        "numpy's layout does not survive it, ours keep their names for gdb",
    ),
    ("embedded-library", "the package depends on the C library alone"),
    ("library-not-linked-against-libc", "modules of Python and numpy that call nothing in it"),
    ("shared-library-lacks-prerequisites", "modules of Python and numpy that call nothing in it"),
)
"""Overridden lintian tags, which do not apply to a package with its own Python, with reasons."""


def make_packages(out: Path) -> list[Path]:
    """Write both packages to the folder `out` and print their sizes."""
    packaged = install_target.target()
    triplet = packaged.triplet
    folder = ROOT / "build" / "deb"
    shutil.rmtree(folder, ignore_errors=True)
    wheel = build_wheel(ROOT / "build" / "wheels", portable=True)
    library, development = folder / LIBRARY, folder / DEVELOPMENT
    lay_out(library / "usr", wheel, packaged, library_folder=f"lib/{triplet}")
    documents = library / "usr" / "share" / "doc"
    for part in (f"lib/{triplet}/pkgconfig", f"lib/{triplet}/cmake", "include"):
        target = development / "usr" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (library / "usr" / part).rename(target)
    (documents / PRIVATE).rename(documents / LIBRARY)
    glibc = newest_glibc(library.rglob("*.so*"))
    _write_overrides(library)
    written = []
    for package, depends in (
        (LIBRARY, f"libc6 (>= 2.{glibc})"),
        (DEVELOPMENT, f"{LIBRARY} (= {_version()})"),
    ):
        _write_documents(folder / package, package)
        _write_control(folder / package, package, depends, packaged.debian)
        written.append(_pack(folder / package, out, packaged.debian))
    return written


def _version() -> str:
    return f"{package_version()}-{REVISION}"


def _maintainer() -> str:
    name = os.environ.get("DEBFULLNAME", "nnapi_shim maintainers")
    return f"{name} <{os.environ.get('DEBEMAIL', 'maintainers@nnapi-shim.invalid')}>"


def _write_documents(tree: Path, package: str) -> None:
    folder = tree / "usr" / "share" / "doc" / package
    folder.mkdir(parents=True, exist_ok=True)
    licence = folder / "LICENSE"
    licence.unlink(missing_ok=True)
    (folder / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: nnapi_shim\n\n"
        "Files: *\nCopyright: the authors of nnapi_shim\nLicense: Apache-2.0\n"
        " On Debian systems the text of this licence is in\n"
        " /usr/share/common-licenses/Apache-2.0.\n\n"
        f"Files: usr/lib/*/{PRIVATE}/python/*\nCopyright: Python Software Foundation\n"
        f"License: PSF-2.0\n See usr/lib/*/{PRIVATE}/python/LICENSE.txt.\n\n"
        f"Files: usr/lib/*/{PRIVATE}/numpy/* usr/lib/*/{PRIVATE}/numpy.libs/*\n"
        "Copyright: the developers of NumPy\nLicense: BSD-3-Clause\n"
        " See the folder numpy-*.dist-info/licenses next to it.\n\n"
        f"Files: usr/lib/*/{PRIVATE}/cffi/* usr/lib/*/{PRIVATE}/_cffi_backend*\n"
        "Copyright: the developers of cffi\nLicense: MIT\n"
        " See the folder cffi-*.dist-info/licenses next to it.\n"
    )
    date = formatdate(source_date(), localtime=False)
    changes = (
        f"nnapi-shim ({_version()}) unstable; urgency=medium\n\n"
        f"  * Release {package_version()}.\n\n"
        f" -- {_maintainer()}  {date}\n"
    )
    changelog = folder / "changelog.Debian.gz"
    changelog.write_bytes(gzip.compress(changes.encode(), 9, mtime=0))


def _write_control(tree: Path, package: str, depends: str, architecture: str) -> None:
    section, summary, part = SUMMARIES[package]
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files)
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        CONTROL.format(
            package=package,
            version=_version(),
            section=section,
            architecture=architecture,
            maintainer=_maintainer(),
            size=size // 1024,
            depends=depends,
            summary=summary,
            description=DESCRIPTION.format(part=part).rstrip(),
        )
    )
    (control / "md5sums").write_text(
        "".join(
            f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n"
            for path in files
        )
    )
    if package == LIBRARY:
        (control / "triggers").write_text("activate-noawait ldconfig\n")


def _write_overrides(tree: Path) -> None:
    folder = tree / "usr" / "share" / "lintian" / "overrides"
    folder.mkdir(parents=True)
    lines = "".join(f"# {why}\n{LIBRARY}: {tag} *{PRIVATE}/*\n" for tag, why in OVERRIDES)
    (folder / LIBRARY).write_text(lines)


def _pack(tree: Path, out: Path, architecture: str) -> Path:
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (source_date(), source_date()), follow_symlinks=False)
    package = out / f"{tree.name}_{_version()}_{architecture}.deb"
    out.mkdir(parents=True, exist_ok=True)
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z9", "--build", tree, package]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source_date())}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    print(f"{package}: {package.stat().st_size / 1e6:.1f} MB")
    return package
