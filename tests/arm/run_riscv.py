"""`make test-riscv`: the portable tier for riscv64, in a Debian that QEMU emulates.

    .venv/bin/python -m tests.arm.run_riscv [--quick] [--jobs N] [--root DIR]

Makes a root of Debian 13 for riscv64 once (build/riscv64/root), with its numpy and cffi, as PyPI
has no wheels of them; puts the package and what `make ARCH=riscv64` has built there; and runs the C
examples, a program that rounds in all modes, and the conformance vectors. It needs what
`make test-arm` needs.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.arm.emulated_root import BINFMT, CONFORMANCE, ENTER, VECTORS, is_own, output, run
from tests.arm.options import add_jobs

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "riscv64"
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
"""The release alone: indexes of its updates change, and are not always whole on a mirror."""
PACKAGES = "python3,python3-numpy,python3-cffi,libpython3.13,libstdc++6"
SITE = Path("usr/local/lib/python3.13/dist-packages")
NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "qemu-riscv64-static": "qemu-user-static",
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
}
DEBIAN = Path("usr/lib/python3/dist-packages")
REQUIRED = ("numpy", "cffi", "_cffi_backend*.so", "pycparser")
LOCATION = "path=../..\n"
LIBRARIES = (
    "libneuralnetworks.so",
    "nnapi_shim_callbacks.abi3.so",
    "libnnapi_kernels_portable.so",
    *("libandroid.so", "libnativewindow.so", "liblog.so"),
)
EXAMPLES = [path.stem for path in sorted((ROOT / "c_examples").glob("*.expected"))]


def missing() -> list[str]:
    """What is missing on this machine, a line with a remedy each."""
    lines = []
    packages = [package for command, package in NEEDED.items() if not shutil.which(command)]
    if packages:
        lines.append(f"packages are missing; as root: apt install {' '.join(packages)}")
    if os.geteuid() != 0:
        lines.append("root rights are needed, to enter a root for riscv64: sudo make test-riscv")
    elif os.uname().machine != "riscv64" and not (BINFMT / "qemu-riscv64").exists():
        lines.append(
            f"programs for riscv64 do not run here: mount -t binfmt_misc binfmt_misc {BINFMT} and "
            f"cat /usr/lib/binfmt.d/qemu-riscv64.conf > {BINFMT}/register"
        )
    lacking = [name for name in LIBRARIES if not (BUILD / "lib" / name).exists()]
    lacking += [name for name in EXAMPLES if not (BUILD / "c_examples" / name).exists()]
    if lacking:
        lines.append(f"{', '.join(lacking)} not built for riscv64: make ARCH=riscv64")
    return lines


def make_root(folder: Path) -> None:
    """A Debian for riscv64 with Python and its packages, made once; it is whole with its stamp.

    Ends the program if another folder is there that no run of this script has finished.
    """
    wanted = f"{SUITE} {PACKAGES}\n"
    stamp = folder / "etc/test-riscv-packages"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not is_own(folder, stamp):
        sys.exit(f"test-riscv: {folder} is no root of this command: name an empty folder")
    if folder.exists():
        run(["rm", "-rf", "--one-file-system", folder])
    folder.parent.mkdir(parents=True, exist_ok=True)
    include = f"--include={PACKAGES}"
    command = ["mmdebstrap", "--quiet", "--arch=riscv64", "--variant=minbase", include, SUITE]
    run([*command, folder, MIRROR])
    stamp.write_text(wanted)


def install(root: Path) -> None:
    """The package with the libraries that were built for riscv64; and, in the same folder, which is
    the only one that the library looks in, what it requires.
    """
    for pattern in REQUIRED:
        for path in (root / DEBIAN).glob(pattern):
            link = root / SITE / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(Path("/") / DEBIAN / path.name)
    package = root / SITE / "nnapi_shim"
    shutil.rmtree(package, ignore_errors=True)
    unwanted = shutil.ignore_patterns("__pycache__", "lib")
    shutil.copytree(ROOT / "nnapi_shim", package, ignore=unwanted)
    (package / "lib").mkdir()
    for path in (BUILD / "lib").glob("*.so"):
        shutil.copy(path, package / "lib")
    (package / "lib" / "libneuralnetworks.location").write_text(LOCATION)
    shutil.copytree(BUILD / "c_examples", root / "examples", dirs_exist_ok=True)


def enter(root: Path, command: list[str], **environment: str) -> list[str | Path]:
    """The command line that runs a command in the root."""
    variables = {
        "LD_LIBRARY_PATH": f"/{SITE}/nnapi_shim/lib",
        "NNAPI_SHIM_JIT": "off",
        **environment,
        "PATH": "/usr/bin:/bin",
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    inside = ["/usr/bin/env", "-i", *words, *command]
    mounts = [CONFORMANCE, VECTORS] if CONFORMANCE.is_dir() else []
    return ["unshare", "--mount", "sh", "-c", ENTER, "enter", root, *mounts, "--", *inside]


def rounds_in_all_modes(root: Path) -> bool:
    """Whether tests/abi/rounding_mode.c succeeds on both devices."""
    folder, program = ROOT / "tests" / "abi", root / "examples" / "rounding_mode"
    command = ["riscv64-linux-gnu-gcc", "-O1", "-frounding-math", f"-I{ROOT / 'include'}"]
    command += [folder / "rounding_mode.c", f"-L{BUILD / 'lib'}", "-lneuralnetworks", "-lm"]
    run([*command, "-o", program])
    succeeds = True
    for device in ("nnapi-cpu", "nnapi-reference"):
        code, printed = output(enter(root, ["/examples/rounding_mode", device]))
        if code:
            succeeds = False
            print(f"rounding_mode {device}: {code}, {printed}")
    return succeeds


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the vectors of NNAPI 1.0 only")
    add_jobs(parser)
    parser.add_argument("--root", type=Path, default=BUILD / "root", help="a riscv64 root")
    options = parser.parse_args()
    if problems := missing():
        sys.exit("\n".join(f"test-riscv: {line}" for line in problems))
    make_root(options.root)
    install(options.root)
    wrong = 0
    for name in EXAMPLES:
        code, printed = output(enter(options.root, [f"/examples/{name}"]))
        if code or printed != (ROOT / "c_examples" / f"{name}.expected").read_text():
            wrong += 1
            print(f"{name}: {code}, {printed}")
    count = len(EXAMPLES)
    print(f"riscv64: C examples: {count - wrong} of {count} print what they should", flush=True)
    wrong += not rounds_in_all_modes(options.root)
    if not CONFORMANCE.is_dir():
        print("test-riscv: the conformance vectors, ../shared/conformance, are not here")
        return 1 if wrong else 0
    library = f"/{SITE}/nnapi_shim/lib/libneuralnetworks.so"
    command = ["python3", f"{VECTORS}/run.py", "--lib", library, "-j", str(options.jobs)]
    command += ["--checks", "static", "--fail-list", "--timeout", "600"]
    command += ["--file", "V1_0/*"] if options.quick else []
    inside = enter(options.root, command, DEBUG_NN_ENABLED_DEVICES="nnapi-cpu")
    failed = subprocess.run([str(each) for each in inside], check=False)
    return 1 if wrong or failed.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
