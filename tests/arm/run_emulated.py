"""`make test-arm`: the aarch64 wheel on every tier, in a Debian for arm64 that QEMU emulates.

    .venv/bin/python -m tests.arm.run_emulated [--quick] [--tiers neon ...] [--jobs N] [--root DIR]
        [--wheel FILE]

Makes a root of Debian 12 for arm64 once (build/aarch64/root), builds the wheel with zig, installs
it there with cffi and numpy from PyPI, and runs for each tier, on a processor that has no more than
it needs: the C examples, whose output has to be the expected one, a Python program, and the
conformance vectors, with exact results of quantized operations. --quick takes a few vectors.

It needs root rights (chroot, mount), binfmt_misc, and the packages that a message names.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "aarch64"
CONFORMANCE = ROOT.parent / "shared" / "conformance"
PYTHON = "3.11"
PACKAGES = "python3,libpython3.11,libstdc++6"
SITE = Path(f"usr/local/lib/python{PYTHON}/dist-packages")
VECTORS = "/vectors"
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
mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" || exit 1
[ -d "$2" ] && { mkdir -p "$1/vectors"; mount --bind "$2" "$1/vectors" || exit 1; }
root=$1; shift 2
exec chroot "$root" "$@"
"""
PROGRAM = """
import numpy as np
from nnapi_shim import Compilation, Model
from nnapi_shim.capi import ffi, nnapi_shim_getProcessorTier
with Model() as model:
    x = model.input("TENSOR_FLOAT32", [2, 3])
    model.outputs(model.softmax(x))
result = Compilation(model, devices=["nnapi-cpu"]).run(np.ones((2, 3), np.float32))
assert np.allclose(result, 1 / 3), result
print(ffi.string(nnapi_shim_getProcessorTier()).decode())
"""
QUICK = (
    ("static vectors", ["--checks", "static", "--file", "V1_0/*"]),
    ("exact results", ["--checks", "static", "--vectors", f"{VECTORS}/exact", "--op", "CONV_2D"]),
)
WHOLE = (
    ("all vectors, all checks", ["--checks", "all"]),
    ("exact results", ["--checks", "static", "--vectors", f"{VECTORS}/exact"]),
)


def missing() -> list[str]:
    """What is missing on this machine, a line with a remedy each."""
    lines = []
    packages = [package for command, package in NEEDED.items() if not shutil.which(command)]
    if packages:
        lines.append(f"packages are missing; as root: apt install {' '.join(packages)}")
    if os.geteuid() != 0:
        lines.append("root rights are needed, to enter an arm64 root: sudo make test-arm")
    elif os.uname().machine != "aarch64" and not (BINFMT / "qemu-aarch64").exists():
        lines.append(
            f"programs for aarch64 do not run here: mount -t binfmt_misc binfmt_misc {BINFMT} and "
            f"cat /usr/lib/binfmt.d/qemu-aarch64.conf > {BINFMT}/register"
        )
    return lines


def make_root(folder: Path) -> None:
    """A Debian for arm64 with Python, made once."""
    if (folder / "etc/debian_version").exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    include = f"--include={PACKAGES}"
    run(["mmdebstrap", "--quiet", "--arch=arm64", "--variant=minbase", include, "bookworm", folder])


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


def install(wheel: Path, root: Path) -> None:
    """The wheel, and what it requires, for the root's Python."""
    site = root / SITE
    shutil.rmtree(site, ignore_errors=True)
    tags = ("2_28", "2_27", "2_17")
    platforms = [part for tag in tags for part in ("--platform", f"manylinux_{tag}_aarch64")]
    target = [
        "--python-version",
        PYTHON,
        "--implementation",
        "cp",
        "--abi",
        "cp311",
        "--abi",
        "abi3",
    ]
    options = ["--quiet", "--no-compile", "--only-binary=:all:", "--target", site]
    run([sys.executable, "-m", "pip", "install", *options, *platforms, *target, wheel])


def enter(root: Path, command: Sequence[str], tier: str, **environment: str) -> list[str | Path]:
    """The command line that runs a command in the root, on the processor of a tier."""
    variables = {
        "QEMU_CPU": PROCESSORS[tier],
        "LD_LIBRARY_PATH": f"/{SITE}/nnapi_shim/lib",
        "NNAPI_SHIM_JIT": "off",
        "PATH": "/usr/bin:/bin",
        **environment,
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    inside = ["/usr/bin/env", "-i", *words, *command]
    return ["unshare", "--mount", "sh", "-c", ENTER, "enter", root, CONFORMANCE, *inside]


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


def compile_examples(root: Path) -> list[Path]:
    """The C examples with an expected output, compiled into the root for the wheel."""
    package, programs = root / SITE / "nnapi_shim", []
    (root / "examples").mkdir(exist_ok=True)
    for expected in sorted((ROOT / "c_examples").glob("*.expected")):
        (source,) = (p for p in expected.parent.glob(f"{expected.stem}.c*") if p.suffix != ".md")
        compiler = "g++" if source.suffix == ".cpp" else "gcc"
        include = package / "include"
        libraries = ["-landroid", "-llog"] if source.suffix == ".cpp" else []
        program = root / "examples" / expected.stem
        run(
            [
                *(f"aarch64-linux-gnu-{compiler}", "-O2", "-pthread", f"-I{include}"),
                *(f"-I{include}/companion", source, "-o", program, f"-L{package}/lib"),
                *(*libraries, "-lneuralnetworks", "-lm"),
            ]
        )
        programs.append(program)
    return programs


def check_programs(root: Path, tier: str, programs: Sequence[Path]) -> bool:
    """Whether a Python program and the C examples print what they should."""
    code, printed = output(enter(root, ["python3", "-c", PROGRAM], tier))
    wrong = [] if (code, printed.strip()) == (0, tier) else [f"Python: {code}, {printed.strip()}"]
    for program in programs:
        code, printed = output(enter(root, [f"/examples/{program.name}"], tier))
        if code or printed != (ROOT / "c_examples" / f"{program.name}.expected").read_text():
            wrong.append(f"{program.name}: {code}, {printed}")
    print(f"{tier}: Python, {len(programs)} C examples: {'; '.join(wrong) or 'ok'}", flush=True)
    return not wrong


def check_vectors(root: Path, tier: str, title: str, options: Sequence[str], jobs: int) -> bool:
    """Whether the conformance vectors pass."""
    began = time.monotonic()
    library = f"/{SITE}/nnapi_shim/lib/libneuralnetworks.so"
    command = ["python3", f"{VECTORS}/run.py", "--lib", library, "-j", str(jobs), "--fail-list"]
    settings = {"DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu", "NNAPI_SHIM_TIER": tier}
    code, printed = output(enter(root, [*command, "--timeout", "600", *options], tier, **settings))
    lines = printed.strip().splitlines() or ["nothing was printed"]
    print(*lines[:-1], sep="\n", end="\n" if lines[1:] else "")
    print(f"{tier}: {title}: {lines[-1]} in {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few vectors of each kind")
    parser.add_argument("--tiers", nargs="*", choices=PROCESSORS, default=[*PROCESSORS])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root", type=Path, default=BUILD / "root", help="an arm64 root")
    parser.add_argument("--wheel", type=Path, help="the wheel; default: it is built")
    options = parser.parse_args()
    if problems := missing():
        sys.exit("\n".join(f"test-arm: {line}" for line in problems))
    make_root(options.root)
    install(options.wheel or build_wheel(), options.root)
    programs = compile_examples(options.root)
    good = True
    for tier in options.tiers:
        good &= check_programs(options.root, tier, programs)
        if not CONFORMANCE.is_dir():
            print("test-arm: the conformance vectors, ../shared/conformance, are not here")
            continue
        for title, arguments in QUICK if options.quick else WHOLE:
            good &= check_vectors(options.root, tier, title, arguments, options.jobs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
