"""`make check-native`: the C parts under AddressSanitizer and valgrind, and every C function.

    python tests/memory/run_sanitized.py [ROUNDS]

Builds the library and its companions a second time, with the sanitizers for addresses and for
undefined behaviour, and runs every_function.c with them; then the same program with the ordinary
libraries under valgrind, if that is installed. Python is part of the process and is not looked at:
what it leaves allocated at the end is no finding.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import build_ffi  # noqa: E402

PROGRAM = Path(__file__).with_name("every_function.c")
SUPPRESSIONS = ROOT / "nnapi_shim" / "debugging" / "valgrind.supp"
SANITIZED = ROOT / "build" / "sanitized"
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"
FLAGS += " -U_FORTIFY_SOURCE"  # the sanitizers look at what it would replace
DEVICES = ("nnapi-cpu", "nnapi-reference")


def all_functions_are_called() -> None:
    """End with a message if the program leaves out a function of the headers."""
    text = PROGRAM.read_text()
    names = [function.name for function in build_ffi.read_headers()[1]]
    missing = [name for name in names if not re.search(rf"\b{name}\(", text)]
    if missing:
        sys.exit(f"{PROGRAM.name} does not call {', '.join(missing)}")


def compile_program(folder: Path, target: Path, *flags: str) -> Path:
    """The program, linked with the libraries in a folder."""
    command = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", *flags, PROGRAM]
    command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'companion'}", "-o", target]
    command += [folder / "libneuralnetworks.so", folder / "libnativewindow.so"]
    subprocess.run([*command, f"-Wl,-rpath,{folder}"], check=True)
    return target


def build_sanitized() -> Path:
    """The libraries with the sanitizers; the folder."""
    environment = os.environ | {"CFLAGS": FLAGS, "LDFLAGS": FLAGS}
    command = [sys.executable, "build_ffi.py", "--out", SANITIZED]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    objects = f"COMPANION_OBJECT_DIR={SANITIZED / 'objects'}"
    flags = (f"CFLAGS={FLAGS}", f"LDFLAGS={FLAGS} -Wl,-z,undefs")
    make = ["make", "--no-print-directory", f"LIB_DIR={SANITIZED}", objects, *flags]
    subprocess.run([*make, "companion"], cwd=ROOT, check=True)
    return SANITIZED


def run(program: Path, rounds: int, *prefix: str, **environment: str) -> bool:
    """Whether the program finds nothing, on each device."""
    silent = os.environ | {"NNAPI_SHIM_LOG": "silent"} | environment
    well = True
    for device in DEVICES:
        result = subprocess.run(
            [*prefix, program, device, str(rounds)],
            env=silent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        found = result.returncode != 0 or result.stdout != ""
        print(f"{prefix[0] if prefix else 'sanitizers'}, {device}: {'FOUND' if found else 'ok'}")
        if found:
            print(f"{result.stdout}exit status {result.returncode}")
            well = False
    return well


def main() -> int:
    """The command line."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    all_functions_are_called()
    folder = build_sanitized()
    program = compile_program(folder, SANITIZED / "every_function", *FLAGS.split())
    well = run(program, rounds, ASAN_OPTIONS="detect_leaks=0:abort_on_error=1")
    if shutil.which("valgrind") is None:
        print("valgrind is not installed; its part is left out")
        return 0 if well else 1
    plain = compile_program(ROOT / "build" / "lib", SANITIZED / "every_function_plain")
    valgrind = ("valgrind", "-q", "--error-exitcode=9", f"--suppressions={SUPPRESSIONS}")
    return 0 if run(plain, 1, *valgrind) and well else 1


if __name__ == "__main__":
    sys.exit(main())
