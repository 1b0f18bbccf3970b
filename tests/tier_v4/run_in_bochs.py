"""Replays the conformance vectors on the kernels of tier v4, on a processor that Bochs emulates.

    .venv/bin/python tests/tier_v4/run_in_bochs.py [--kernels FOLDER] [--only REGEX] [--linux FILE]

Few machines have AVX-512 with VNNI, and neither valgrind nor QEMU emulates it; the PC emulator
Bochs does. This boots Debian's Linux in it, from a disc that is put together here: busybox, the C
library, Python and its standard library, this package, libneuralnetworks.so, the kernels of tier v4
and no others, and tests/conformance/replay.c with its vectors. The files lie where they lie on this
machine. What the emulated machine prints appears as it comes, failures first; the exit code is 0 if
every vector has passed. It takes about ten minutes and one processor.

It needs Debian 12 (bochs 2.7), the built libraries (`make`), the vectors in ../shared/conformance,
and the packages that a message names if they are missing. Linux is that of the package
linux-image-cloud-amd64: from /boot if it is installed, else apt-get downloads it.
"""

import argparse
import contextlib
import os
import platform
import pty
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import time
import tty
from collections.abc import Iterable, Iterator
from pathlib import Path

import _cffi_backend

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.conformance.flatten import flatten
from tests.conformance.test_replay import replayable

LIBRARIES = ROOT / "build" / "lib"
WORK = ROOT / "build" / "tier_v4"
GUEST = WORK / "guest"
DISC = WORK / "disc"

NEEDED = {
    "/usr/bin/bochs": "bochs",
    "/usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so": "bochs-term",
    "/usr/share/bochs/BIOS-bochs-latest": "bochsbios",
    "/usr/share/vgabios/vgabios.bin": "vgabios",
    "/usr/lib/ISOLINUX/isolinux.bin": "isolinux",
    "/usr/lib/syslinux/modules/bios/ldlinux.c32": "syslinux-common",
    "/usr/bin/xorriso": "xorriso",
    "/usr/bin/cpio": "cpio",
    "/bin/busybox": "busybox-static",
    "/usr/bin/cc": "gcc",
}
"""File -> Debian package."""

UNUSED_PYTHON = (
    *("__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip"),
    *("distutils", "pydoc_data", "unittest", "site-packages", "dist-packages", "config-*"),
    *("_test*", "_tkinter*", "_codecs_*"),
)
"""What the guest's copy of the standard library does without, for the sake of a small disc."""

MEGAHERTZ = 50
"""Speed of the emulated processor, by its own clock."""

# clearcpuid: Bochs announces pku, xsaves and xsavec with sizes of their state that Linux refuses,
# and with them all of AVX-512; and fsrm without erms, for which the memmove of Linux is not made.
# tsc_early_khz: its time stamp counter counts instructions, not what its cpuid says.
LINUX_ARGUMENTS = (
    "console=ttyS0,115200 loglevel=1 nokaslr mitigations=off nowatchdog lsm= "
    f"clearcpuid=pku,xsaves,xsavec,fsrm tsc_early_khz={MEGAHERTZ}000"
)

ISOLINUX = f"default linux\nlabel linux\n kernel linux\n append initrd=initrd {LINUX_ARGUMENTS}\n"

BOCHS = f"""\
display_library: term
cpu: model=corei7_icelake_u, ips={MEGAHERTZ}000000, ignore_bad_msrs=1
clock: sync=none
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
sound: driver=dummy
speaker: enabled=0
log: bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
"""

END = "The guest is done."

INIT = f"""\
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
exec >/dev/ttyS0 2>&1
/bin/busybox grep -m1 '^model name' /proc/cpuinfo
echo "AVX-512:" $(/bin/busybox grep -m1 ^flags /proc/cpuinfo | /bin/busybox grep -o 'avx512[^ ]*')
/dot_product
export LD_LIBRARY_PATH={LIBRARIES} NNAPI_SHIM_JIT=off NNAPI_SHIM_LOG=silent
export DEBUG_NN_ENABLED_DEVICES=nnapi-cpu
/replay /vectors.flat nnapi-cpu
echo "replay ended with $? after $(/bin/busybox cut -d. -f1 /proc/uptime) s of the guest"
echo "{END}"
/bin/busybox sleep 1000000
"""


def require(kernels: Path) -> None:
    """Ends the program with a message if something is missing."""
    if platform.machine() != "x86_64":
        sys.exit("Bochs is slow, and slower elsewhere: this test is for x86-64 machines")
    missing = [package for file, package in NEEDED.items() if not Path(file).exists()]
    if missing:
        sys.exit(f"missing Debian packages; as root: apt install {' '.join(missing)}")
    for file in (LIBRARIES / "libneuralnetworks.so", kernels):
        if not file.exists():
            sys.exit(f"{file} is not here: run `make` first")
    if not replayable():
        sys.exit("the conformance vectors, ../shared/conformance, are not here")


def linux() -> Path:
    """An image of Linux for virtual machines: the installed one, else a downloaded one."""
    name = "boot/vmlinuz-*-cloud-amd64"
    folder = WORK / "linux"
    result = sorted([*Path("/").glob(name), *folder.glob(name)])
    if not result:
        meta = "linux-image-cloud-amd64"
        depends = output("apt-cache", "depends", "--important", meta)
        package = re.search(r"Depends: (linux-image-\S+)", depends)
        if package is None:
            sys.exit(f"apt does not know {meta}: run `apt update`, or give --linux FILE")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", package.group(1)], cwd=folder, check=True)
        unpack = "dpkg-deb --fsys-tarfile *.deb | tar --extract --wildcards './boot/vmlinuz-*'"
        subprocess.run(unpack, shell=True, cwd=folder, check=True)
        result = sorted(folder.glob(name))
    return result[-1]


def output(*command: str | Path) -> str:
    """What the command prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def compile_c(source: Path, name: str, *arguments: str) -> None:
    """Compiles a program into the guest's top folder."""
    flags = ["-std=gnu99", "-O1", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'abi'}"]
    subprocess.run(["cc", *flags, source, "-o", GUEST / name, *arguments], check=True)


def in_guest(path: Path) -> Path:
    """Where the guest's file of that name is put together."""
    return GUEST / path.relative_to("/")


def give(path: Path) -> None:
    """Copies a file into the guest, symbolic links followed."""
    in_guest(path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, in_guest(path))


def give_python() -> None:
    """Copies the standard library, cffi's module and the package, compiled to bytecode."""
    give(Path(_cffi_backend.__file__))
    ignored = shutil.ignore_patterns(*UNUSED_PYTHON)
    for folder in (Path(sysconfig.get_config_var("LIBDEST")), ROOT / "nnapi_shim"):
        shutil.copytree(folder, in_guest(folder), ignore=ignored, dirs_exist_ok=True)
        options = ["-q", "-j0", "--invalidation-mode", "unchecked-hash", "-s", GUEST]
        command = [sys.executable, "-m", "compileall", *options, in_guest(folder)]
        subprocess.run(command, check=True)


def shared_libraries(files: Iterable[Path]) -> Iterator[Path]:
    """The libraries that these files load, and the loader."""
    listed = subprocess.run(["ldd", *files], stdout=subprocess.PIPE, text=True, check=False).stdout
    for path in sorted(set(re.findall(r"(?<!\S)(/\S+) \(0x", listed))):
        yield Path(path)


def make_guest(kernels: Path, chosen: re.Pattern[str]) -> None:
    """Puts together all files of the emulated machine."""
    shutil.rmtree(GUEST, ignore_errors=True)
    for folder in ("bin", "dev", "proc", "tmp"):
        (GUEST / folder).mkdir(parents=True)
    (GUEST / "init").write_text(INIT)
    (GUEST / "init").chmod(0o755)
    shutil.copy("/bin/busybox", GUEST / "bin")
    compile_c(ROOT / "tests" / "tier_v4" / "dot_product.c", "dot_product", "-static")
    compile_c(
        ROOT / "tests" / "conformance" / "replay.c",
        *("replay", f"-L{LIBRARIES}", "-lneuralnetworks", "-lm"),
    )
    examples = [example for example in replayable() if chosen.search(example.name)]
    (GUEST / "vectors.flat").write_bytes(flatten(examples))
    print(f"{len(examples)} vectors", flush=True)
    give_python()
    for name in ("libneuralnetworks.so", "libneuralnetworks.location"):
        give(LIBRARIES / name)
    shutil.copy(kernels, in_guest(LIBRARIES))
    for library in shared_libraries([GUEST / "replay", *GUEST.rglob("*.so*")]):
        if not in_guest(library).exists() and not library.is_relative_to(GUEST):
            give(library)
    for file in GUEST.rglob("*.so*"):
        subprocess.run(["strip", "--strip-debug", file], check=True)


def make_disc(image: Path) -> None:
    """Makes a disc that boots Linux with these files."""
    shutil.rmtree(DISC, ignore_errors=True)
    DISC.mkdir(parents=True)
    with (DISC / "initrd").open("wb") as file:
        names = output("find", GUEST, "-mindepth", "1", "-printf", "%P\\n")
        command = ["cpio", "--quiet", "--create", "--format=newc", "--owner=0:0"]
        subprocess.run(command, input=names.encode(), cwd=GUEST, stdout=file, check=True)
    shutil.copy(image, DISC / "linux")
    (DISC / "isolinux.cfg").write_text(ISOLINUX)
    for loader in ("/usr/lib/ISOLINUX/isolinux.bin", "/usr/lib/syslinux/modules/bios/ldlinux.c32"):
        shutil.copy(loader, DISC)
    command = [
        "xorriso",
        "-as",
        "mkisofs",
        "-o",
        "disc.iso",
        "-b",
        "isolinux.bin",
        "-c",
        "boot.cat",
    ]
    command += ["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", DISC]
    made = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(made.stderr)


class Terminals:
    """What Bochs shows: of no interest, but somebody has to read it, or Bochs waits.

    Its messages go to a terminal that is made here, the screen of the PC to one that Bochs makes
    and whose name is among the messages.
    """

    def __init__(self) -> None:
        self._terminal, self.bochs_end = pty.openpty()
        self._messages = b""
        self._screen: int | None = None

    def read(self, seconds: float) -> None:
        """Reads what is there, or waits for it."""
        terminals = [self._terminal, *([self._screen] if self._screen else [])]
        for terminal in select.select(terminals, [], [], seconds)[0]:
            with contextlib.suppress(OSError):  # when Bochs has ended
                shown = os.read(terminal, 1 << 16)
                if self._screen is None:
                    self._messages += shown
        name = re.search(rb'connected to screen "(.+?)"', self._messages)
        if name and self._screen is None:
            self._screen = os.open(name.group(1), os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self._screen)  # without echo, which would be key presses


def emulate(seconds: float) -> Iterator[str]:
    """Runs the emulator until the guest is done; the lines that the guest prints."""
    serial = WORK / "serial.txt"
    serial.write_text("")
    (WORK / "bochs.cfg").write_text(BOCHS)
    (WORK / "debugger.txt").write_text("c\n")  # Debian's Bochs starts in its debugger
    terminals = Terminals()
    bochs = subprocess.Popen(
        ["bochs", "-q", "-f", "bochs.cfg", "-rc", "debugger.txt"],
        cwd=WORK,
        env=os.environ | {"TERM": "linux"},
        stdin=terminals.bochs_end,
        stdout=terminals.bochs_end,
        stderr=terminals.bochs_end,
        start_new_session=True,
    )
    deadline = time.monotonic() + seconds
    try:
        with serial.open() as file:
            rest = ""
            while time.monotonic() < deadline and bochs.poll() is None:
                terminals.read(1)
                *lines, rest = (rest + file.read().replace("\r", "")).split("\n")
                yield from lines
                if END in lines or "Kernel panic" in "".join(lines):
                    return
        yield f"Bochs ended by itself or took longer than {seconds:.0f} s: see {WORK}/bochs.log"
    finally:
        bochs.kill()
        bochs.wait()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=Path, default=LIBRARIES, help="folder of the v4 kernels")
    parser.add_argument("--only", type=re.compile, default="", help="vectors of matching names")
    parser.add_argument("--linux", type=Path, help="image of Linux with a serial console")
    parser.add_argument("--seconds", type=float, default=3600, help="longest run of the emulator")
    options = parser.parse_args()
    kernels = options.kernels / "libnnapi_kernels_v4.so"
    require(kernels)
    make_guest(kernels, re.compile(options.only))
    make_disc(options.linux or linux())
    passed = False
    for line in emulate(options.seconds):
        print(line, flush=True)
        passed |= re.fullmatch(r"[1-9]\d* passed, 0 failed", line) is not None
    sys.exit(not passed)


if __name__ == "__main__":
    main()
