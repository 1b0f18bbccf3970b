"""Builds the C parts with a sanitizer, and the tests' C programs that are run with them.

Python is part of the processes and is not compiled with sanitizers: what it does is seen where it
calls the C library, so ThreadSanitizer knows its locks.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.emulation import (
    NO_FILTERS,
    NO_THREAD_SANITIZER,
    bare_environment,
    is_emulated,
    reason_in_emulator,
)
from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DEVICES = ("nnapi-cpu", "nnapi-reference")
DOES_NOTHING_S = 60
"""Seconds, at most, that compiling an empty program takes, and running it."""
FOLDER = "{folder}"
"""Stands for a folder of the run's own, among a program's arguments and its environment."""


@dataclass(frozen=True)
class Sanitizer:
    """How to compile with a sanitizer, and what its programs need in their environment."""

    name: str
    flags: str
    environment: dict[str, str]

    @property
    def all_flags(self) -> str:
        """With what both need; sanitizers look themselves at what FORTIFY would replace."""
        return f"{self.flags} -fno-omit-frame-pointer -g -U_FORTIFY_SOURCE"


ADDRESS = Sanitizer(
    "address",
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined",
    {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"},
)
# Programs here make threads in children of processes that have some.
THREAD_OPTIONS = (
    "die_after_fork=0",
    "print_suppressions=0",
    f"suppressions={Path(__file__).with_name('thread.supp')}",
)
THREAD = Sanitizer("thread", "-fsanitize=thread", {"TSAN_OPTIONS": ":".join(THREAD_OPTIONS)})


@dataclass(frozen=True)
class Program:
    """A C program of the tests and what it is run with."""

    source: str  # in tests/, without .c
    arguments: tuple[str, ...] = ()
    status: int = 0
    shell: str = "exec"  # what starts it
    environment: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    forks: bool = False  # while other threads of it allocate and free
    unemulated: str = ""  # what an emulator lacks for it

    @property
    def title(self) -> str:
        """What tells it from the others."""
        return " ".join([self.source, *self.arguments])


SCENARIOS = "separate_executions separate_compilations in_flight race_once race_reusable busy_burst"
SCENARIOS += " waiters fenced_waiters fence_waiters device_memory freed_in_flight run_again"
SCENARIOS += " last_errors"


def library_programs() -> Iterator[Program]:
    """Those of the Neural Networks API that run with either sanitizer."""
    yield Program("abi/race")
    yield Program("abi/other_python", flags=("-rdynamic",))
    for when in ("before", "idle", "busy", "starting", "ending"):
        yield Program("abi/forks", (when,), forks=when not in ("before", "idle"))
    yield Program("abi/hostile/zero_device")
    yield Program("abi/hostile/messages", ("refuse", "words"))
    yield Program(
        "abi/hostile/closed_descriptors",
        (f"{FOLDER}/file", *(["close"] if is_emulated() else [])),
        shell="exec <&- >&- 2>&-",
        environment=(("NNAPI_SHIM_LOG", "warning"),),
    )
    for device in DEVICES:
        for scenario in SCENARIOS.split():
            yield Program("abi/threads", (scenario, device))
        yield Program("abi/mixed", ("20", device))
        for name in ("cancelled", "cancelled_forks", "thread_ends"):
            yield Program(f"abi/hostile/{name}", (device,), forks=name == "cancelled_forks")
        layers = "250" if device == "nnapi-cpu" else "20"
        yield Program("abi/hostile/fork_in_flight", (device, layers), forks=True)
        yield Program("abi/hostile/forks", (device, "4", "15000"), forks=True)
        yield Program("abi/hostile/messages", ("descriptors", device))
        yield Program("abi/hostile/small_stacks", (device, "512"))
        yield Program("abi/hostile/scarcity", (device, "threads"), unemulated=NO_FILTERS)


NATIVE = ROOT / "nnapi_shim" / "native"
POOL_SOURCES = [
    NATIVE / f"{name}.c"
    for name in ("contention", "hybrid", "pool", "program", "region", "slot", "workers")
]
"""The threads that help runs: no other file of the library is needed."""
POOL = ("beside 100", "fail 200", "forks 10", "unhelped 10")
"""What the program of the pool alone does, and how often."""


def pool_programs() -> Iterator[Program]:
    """Those of the threads that help runs: compiled into the program."""
    flags = (f"-I{NATIVE}", *map(str, POOL_SOURCES))
    for what in POOL:
        forks = what.startswith("forks")
        yield Program("native/pool", tuple(what.split()), flags=flags, forks=forks)


def companion_programs() -> Iterator[Program]:
    """Those of the other libraries."""
    trace = (("NNAPI_SHIM_TRACE", f"{FOLDER}/%p.json"),)
    yield Program("native/companion_race", (f"{FOLDER}/assets",), environment=trace)
    yield Program("native/companion_hardware_buffer")
    yield Program("native/companion_shared_memory")
    yield Program("native/companion_jni")
    for what in ("formats", "threads"):
        yield Program("native/companion_log", (what,))
    for what in ("events", "threads", "exit", "fork"):
        yield Program("native/companion_trace", (what,), 3, environment=trace)


class Sanitized:
    """The libraries with a sanitizer, in a folder, and programs that are run with them."""

    def __init__(self, sanitizer: Sanitizer, folder: Path):
        """Builds the libraries."""
        self.sanitizer, self.folder = sanitizer, folder
        flags = sanitizer.all_flags
        environment = os.environ | {"CFLAGS": flags, "LDFLAGS": flags}
        command = [sys.executable, "build_ffi.py", "--out", folder]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
        make = ["make", "--no-print-directory", "--silent", f"LIB_DIR={folder}"]
        make += [f"COMPANION_OBJECT_DIR={folder}/objects", f"CFLAGS={flags}"]
        make += [f"LDFLAGS={flags} -Wl,-z,undefs", "companion"]
        subprocess.run(make, cwd=ROOT, check=True)

    def compile(self, program: Program) -> Path:
        """The compiled program."""
        target = self.folder / program.source.replace("/", "-")
        includes = (ROOT / "include", ROOT / "include" / "companion", TESTS / "abi")
        libraries = ["libneuralnetworks", "libandroid", "libnativewindow", "liblog"]
        command = ["cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra"]
        command += [*self.sanitizer.all_flags.split(), *(f"-I{path}" for path in includes)]
        command += [str(TESTS / f"{program.source}.c"), "-o", str(target), *program.flags]
        command += [str(self.folder / f"{library}.so") for library in libraries]
        subprocess.run([*command, f"-Wl,-rpath,{self.folder}", "-lm"], check=True)
        return target

    def run(self, program: Program) -> str:
        """What the sanitizer says of the program, or the program itself where it fails, or ""."""
        path = self.compile(program)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "assets").mkdir()
            (Path(folder) / "assets" / "digits.txt").write_text("0123456789")
            words = [word.replace(FOLDER, folder) for word in (str(path), *program.arguments)]
            chosen = {name: text.replace(FOLDER, folder) for name, text in program.environment}
            command = program.shell.replace("exec", 'exec "$@"', 1)
            said = f"log_path={folder}/said"  # also where the program has no stderr
            options = {k: f"{v}:{said}" for k, v in self.sanitizer.environment.items()}
            result = subprocess.run(
                ["sh", "-c", command, "sh", *words],
                env=bare_environment() | {"NNAPI_SHIM_LOG": "silent"} | chosen | options,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
                timeout=HANGS_S,
            )
            reports = "".join(path.read_text() for path in sorted(Path(folder).glob("said.*")))
        if result.returncode == program.status and not reports:
            return ""
        return f"{result.stdout}{reports}exit status {result.returncode}"


FORKS_UNSAFELY = """
#if defined(__clang__) ? __clang_major__ < 17 : __GNUC__ < 14
#error
#endif
"""
"""Does not compile where a child of a fork may find locks of AddressSanitizer's allocator taken.

Before these versions it did not take them itself around a fork, as the C library does
with those of its own allocator: what another thread holds in that moment is locked for good in the
child, and its next malloc or free waits for ever.
"""


def reason_to_leave_out_forks(sanitizer: Sanitizer) -> str:
    """Why programs that fork while their threads allocate are not for a sanitizer, or ""."""
    if sanitizer is not ADDRESS:
        return ""
    result = subprocess.run(
        ["cc", "-E", "-x", "c", "-"],
        input=FORKS_UNSAFELY,
        capture_output=True,
        text=True,
        check=False,
    )
    return "its allocator may be locked in a fork's child" if result.returncode else ""


def reason_it_does_not_work(sanitizer: Sanitizer) -> str:
    """Why programs cannot be made or run with a sanitizer here; "" if they can."""
    if sanitizer is THREAD and (reason := reason_in_emulator(NO_THREAD_SANITIZER)):
        return reason
    with tempfile.TemporaryDirectory() as name:
        source, program = Path(name) / "program.c", Path(name) / "program"
        source.write_text("int main(void) { return 0; }\n")
        for command in (
            ["cc", *sanitizer.flags.split(), source, "-o", program],
            [program],
        ):
            try:
                done = subprocess.run(
                    command,
                    env=os.environ | sanitizer.environment,  # leaks are not looked for in QEMU
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=DOES_NOTHING_S,
                )
            except subprocess.TimeoutExpired:
                return f"-fsanitize={sanitizer.name}: a program that does nothing does not end"
            if done.returncode != 0:
                return f"-fsanitize={sanitizer.name}: {done.stderr.strip() or done.returncode}"
    return ""
