"""A Debian for arm64 that QEMU emulates: how it is made, what is put into it, how it is entered."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "aarch64"
CONFORMANCE = ROOT.parent / "shared" / "conformance"
VECTORS = "/vectors"
"""The conformance vectors: here, and in the root."""
PYTHON = "3.11"
SUITE = "bookworm"
PACKAGES = (
    "base-files bash coreutils dash findutils grep sed libc-bin util-linux mount make python3 "
    "libpython3.11 libpython3.11-dev libstdc++6 libasan8 libubsan1 libtsan2"
)
USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
TRIPLET = "aarch64-linux-gnu"
COMPILER_FOLDERS = ("/usr/lib/gcc-cross", f"/usr/{TRIPLET}", "/usr/lib/x86_64-linux-gnu", "/lib64")
"""Of this machine's compiler for aarch64, which is not emulated in the root: mounted there."""
SITE = Path(f"usr/local/lib/python{PYTHON}/dist-packages")
PROCESSORS = {"neon": "cortex-a72", "dotprod": "neoverse-n1", "i8mm": "max"}
"""Tier -> the emulated processor, for which the library chooses this tier."""
NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "qemu-aarch64-static": "qemu-user-static",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "unshare": "util-linux",
}
"""Command -> Debian package."""
BINFMT = Path("/proc/sys/fs/binfmt_misc")
ENTER = """
root=$1; shift
mount --bind "$root" "$root" || exit 1
mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" || exit 1
while [ "$1" != -- ]; do
    mkdir -p "$root$2" && mount --bind "$1" "$root$2" || exit 1
    shift 2
done
shift
exec chroot "$root" "$@"
"""
"""Root, pairs of a folder and where it is mounted, --, command. In a mount namespace of its own, so
nothing stays mounted. The root is a mount point, so that programs in it can have namespaces, too.
"""


def missing() -> list[str]:
    """What is missing on this machine, a line with a remedy each."""
    if os.uname().machine == "aarch64":
        return ["this machine needs no emulator: make test, and make check-threads for all vectors"]
    lines = []
    packages = [package for command, package in NEEDED.items() if not shutil.which(command)]
    if packages:
        lines.append(f"packages are missing; as root: apt install {' '.join(packages)}")
    if os.geteuid() != 0:
        lines.append("root rights are needed, to enter an arm64 root: sudo make test-arm")
    elif not (BINFMT / "qemu-aarch64").exists():
        lines.append(
            f"programs for aarch64 do not run here: mount -t binfmt_misc binfmt_misc {BINFMT} and "
            f"cat /usr/lib/binfmt.d/qemu-aarch64.conf > {BINFMT}/register"
        )
    return lines


def is_own(folder: Path, stamp: Path) -> bool:
    """Whether a root that is made anew may take the place of a folder: of one that does not exist
    or is empty, of a root that was made here, or of one in build/.
    """
    if not folder.exists() or stamp.exists() or BUILD.parent in folder.resolve().parents:
        return True
    return folder.is_dir() and not any(folder.iterdir())


def make_root(folder: Path) -> None:
    """A Debian for arm64 with Python and a compiler, made once; ends the program rather than remove
    what is no such root.

    Its packages are unpacked and not configured, which needs no emulator and takes seconds.
    """
    wanted = f"{SUITE} {PACKAGES}\n"
    stamp = folder / "etc/test-arm-packages"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not is_own(folder, stamp):
        sys.exit(f"test-arm: {folder} is no root of this command: name an empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        run(["rm", "-rf", "--one-file-system", folder])
    options = [
        "--quiet",
        "--arch=arm64",
        "--variant=extract",
        f"--include={','.join(PACKAGES.split())}",
    ]
    options.append("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr")
    run(["mmdebstrap", *options, SUITE, folder])
    (folder / "etc/passwd").write_text(USERS)
    for tool in Path("/usr/bin").glob(f"{TRIPLET}-*"):
        shutil.copy(tool, folder / "usr/bin")
    (folder / "usr/local/bin").mkdir(parents=True)
    (folder / "usr/local/bin/cc").symlink_to(f"/usr/bin/{TRIPLET}-gcc")
    stamp.write_text(wanted)


def pip_install(target: Path, packages: Sequence[str | Path], *options: str) -> None:
    """Packages from PyPI for the root's Python, into a folder that is empty before."""
    shutil.rmtree(target, ignore_errors=True)
    words = ["--quiet", "--no-compile", "--only-binary=:all:", "--target", target]
    words += ["--python-version", PYTHON, "--implementation", "cp"]
    for tag in ("2_28", "2_27", "2_17"):
        words += ["--platform", f"manylinux_{tag}_aarch64"]
    for abi in ("cp311", "abi3", "none"):
        words += ["--abi", abi]
    run([sys.executable, "-m", "pip", "install", *words, *options, *packages])


def pinned(*names: str) -> list[str]:
    """Packages at the versions that this environment has."""
    return [f"{name}=={version(name)}" for name in names]


def ready_root(root: Path, wheel: Path | None = None, installed: bool = False) -> None:
    """A root with a wheel in it, by default one that is built now; ends the program with a line for
    each thing that this machine lacks.

    installed: the root keeps the wheel that it has.
    """
    if problems := missing():
        sys.exit("\n".join(f"test-arm: {line}" for line in problems))
    make_root(root)
    package = root / SITE / "nnapi_shim"
    if not installed:
        pip_install(root / SITE, [wheel or build_wheel()])
    elif not package.is_dir():
        sys.exit(f"test-arm: no wheel is installed in {root}: leave --installed out")


def build_wheel() -> Path:
    """The wheel for aarch64, compiled on this machine."""
    folder = BUILD / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT]
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    run(command, env=environment | {"ARCH": "aarch64"})
    (wheel,) = folder.glob("*aarch64.whl")
    return wheel


def enter(
    root: Path,
    command: Sequence[str],
    tier: str,
    mounts: Mapping[str, Path] | None = None,
    **environment: str,
) -> list[str | Path]:
    """The command line that runs a command in the root, on the processor of a tier.

    mounts: path in the root -> folder of this machine.
    """
    variables = {
        "QEMU_CPU": PROCESSORS[tier],
        "LD_LIBRARY_PATH": f"/{SITE}/nnapi_shim/lib",
        "NNAPI_SHIM_JIT": "off",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPYCACHEPREFIX": "/pycache",  # not beside the sources, which may be this machine's
        **environment,
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    pairs: list[str | Path] = []
    for inside, folder in (mounts or {}).items():
        pairs += [folder, inside]
    start = ["unshare", "--mount", "sh", "-c", ENTER, "enter", root, *pairs, "--"]
    return [*start, "/usr/bin/env", "-i", *words, *command]


def run(command: Sequence[str | Path], **options: object) -> None:
    """Run a command; ends the program with a line if it fails."""
    done = subprocess.run([str(word) for word in command], check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"test-arm: {command[0]} failed with {done.returncode} (see above)")


def output(command: Sequence[str | Path]) -> tuple[int, str]:
    """Exit code and standard output of a command."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout
