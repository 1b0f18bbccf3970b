"""`make dist`: an archive of the library with its own Python."""

import hashlib
import lzma
import os
import re
import shutil
import tarfile
from pathlib import Path

from build_ffi import ROOT, package_version
from install import sbom
from install.layout import PRIVATE, build_wheel, lay_out, source_date
from install.target import target

SUMS = "SHA256SUMS"
GLIBC = re.compile(rb"GLIBC_2\.(\d+)\0")


def name() -> str:
    """Name of the archive and of the folder in it."""
    machine = os.environ.get("ARCH") or os.uname().machine
    return f"nnapi-shim-{package_version()}-linux-{machine}"


def stage_tree() -> Path:
    """Lay out the archive's content and return its folder."""
    stage = ROOT / "build" / "dist" / name()
    shutil.rmtree(stage.parent, ignore_errors=True)
    print("dist: the wheel", flush=True)
    wheel = build_wheel(ROOT / "build" / "wheels", portable=True)
    print("dist: Python and its packages", flush=True)
    lay_out(stage, wheel, target())
    return stage


def write_sboms(out: Path, stage: Path) -> list[Path]:
    """Write the SBOMs of the archive and of the wheel to the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    (wheel,) = (ROOT / "build" / "wheels").glob("*.whl")
    (of_wheel,) = stage.glob(f"lib/{PRIVATE}/*.dist-info/sboms/{sbom.FILE}")
    of_tree = stage / "share" / "doc" / PRIVATE / sbom.FILE
    return [
        Path(shutil.copyfile(source, out / f"{stem}.cdx.json"))
        for source, stem in ((of_tree, name()), (of_wheel, wheel.stem))
    ]


def write_sums(out: Path) -> None:
    """Write the SHA-256 of all files of the folder in the format of `sha256sum --check`."""
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != SUMS)
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (out / SUMS).write_text("".join(sums))


def make_archive(out: Path) -> Path:
    """Write the archive to the folder `out` and print its size and requirements."""
    stage = stage_tree()
    archive = out / f"{name()}.tar.xz"
    write_sboms(out, stage)
    print(f"dist: packing {_size(stage) / 1e6:.0f} MB", flush=True)
    new = archive.with_name(f".{archive.name}.new")
    try:
        with (
            lzma.open(new, "wb", preset=9) as stream,
            tarfile.open(fileobj=stream, mode="w") as tar,
        ):
            for path in sorted([stage, *stage.rglob("*")]):
                tar.add(path, path.relative_to(stage.parent), recursive=False, filter=_plain)
        new.replace(archive)
    finally:
        new.unlink(missing_ok=True)
    ours = [*stage.glob("lib/nnapi-shim/nnapi_shim/lib/*.so")]
    print(
        f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, unpacked {_size(stage) / 1e6:.0f} MB; "
        f"needs glibc 2.{newest_glibc(stage.rglob('*.so*'))} "
        f"(what is ours 2.{newest_glibc(ours)}, the rest Python and numpy)"
    )
    return archive


def newest_glibc(files) -> int:
    """The newest version 2.N of the C library that any of these files requires."""
    versions = {0}
    for path in files:
        if path.is_file():
            versions.update(int(minor) for minor in GLIBC.findall(path.read_bytes()))
    return max(versions)


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _plain(item: tarfile.TarInfo) -> tarfile.TarInfo:
    """Normalize owner and time of an archive member, so that archives are reproducible."""
    item.uid = item.gid = 0
    item.uname = item.gname = "root"
    item.mode = 0o755 if item.isdir() or item.mode & 0o100 else 0o644
    item.mtime = source_date()
    return item
