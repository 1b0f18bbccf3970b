"""`make check-native`: the C parts under three sanitizers and valgrind, and every C function.

    python tests/memory/run_sanitized.py [ROUNDS]

Builds the library and its companions twice more, with the sanitizers for addresses and for
undefined behaviour, and with the one for threads; and runs with both every_function.c and the
tests' C programs that use threads, forks and what is hostile. Then every_function.c with the
ordinary libraries under valgrind, if that is installed. Python is part of the process and is not
looked at: what it leaves allocated at the end is no finding. Programs that limit their memory
(hostile/scarcity.c) and those of test_privileges.py are left out: sanitizers need much of the one,
and are told what to do by the environment, which the other ignores.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import build_ffi  # noqa: E402
from tests.emulation import reason_in_emulator  # noqa: E402
from tests.memory.sanitizing import (  # noqa: E402
    ADDRESS,
    DEVICES,
    THREAD,
    Program,
    Sanitized,
    Sanitizer,
    companion_programs,
    library_programs,
    pool_programs,
    reason_it_does_not_work,
    reason_to_leave_out_forks,
)

PROGRAM = Path(__file__).with_name("every_function.c")
SUPPRESSIONS = ROOT / "nnapi_shim" / "debugging" / "valgrind.supp"
SANITIZED = ROOT / "build" / "sanitized"
ASKED = re.compile(r"^--\d+-- sigprocmask: unknown 'how' field -1\n", re.MULTILINE)
"""What valgrind says when the library asks whether there is memory (address.py)."""


def all_functions_are_called() -> None:
    """End with a message if the program leaves out a function of the headers."""
    text = PROGRAM.read_text()
    names = [function.name for function in build_ffi.read_headers()[1]]
    missing = [name for name in names if not re.search(rf"\b{name}\(", text)]
    if missing:
        sys.exit(f"{PROGRAM.name} does not call {', '.join(missing)}")


def runs_well(sanitizer: Sanitizer, rounds: int) -> bool:
    """Whether a sanitizer finds nothing in any program."""
    if reason := reason_it_does_not_work(sanitizer):
        print(f"left out: {reason}")
        return True
    built = Sanitized(sanitizer, SANITIZED / sanitizer.name)
    every_function = [Program("memory/every_function", (device, str(rounds))) for device in DEVICES]
    forks_fail = reason_to_leave_out_forks(sanitizer)
    count = failed = 0
    for program in [*every_function, *pool_programs(), *library_programs(), *companion_programs()]:
        reason = (forks_fail if program.forks else "") or reason_in_emulator(program.unemulated)
        if reason:
            print(f"{sanitizer.name}, {program.title}: left out: {reason}", flush=True)
            continue
        count += 1
        if actual := built.run(program):
            failed += 1
            print(f"{sanitizer.name}, {program.title}: FOUND\n{actual}", flush=True)
    print(f"{sanitizer.name}: {count} programs, {failed} with findings", flush=True)
    return failed == 0


def runs_well_in_valgrind() -> bool:
    """Whether valgrind finds nothing in every_function.c, if it is there."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed; its part is left out")
        return True
    libraries = ROOT / "build" / "lib"
    program = SANITIZED / "every_function_plain"
    command = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", PROGRAM, "-o", program]
    command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'companion'}"]
    command += [libraries / "libneuralnetworks.so", libraries / "libnativewindow.so"]
    subprocess.run([*command, f"-Wl,-rpath,{libraries}"], check=True)
    well = True
    for device in DEVICES:
        command = ["valgrind", "-q", "--error-exitcode=9", f"--suppressions={SUPPRESSIONS}"]
        result = subprocess.run(
            [*command, program, device, "1"],
            env={"NNAPI_SHIM_LOG": "silent"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        said = ASKED.sub("", result.stdout)
        actual = result.returncode != 0 or said != ""
        print(f"valgrind, {device}: {'FOUND' if actual else 'ok'}", flush=True)
        if actual:
            print(f"{said}exit status {result.returncode}")
            well = False
    return well


def main() -> int:
    """The command line."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    all_functions_are_called()
    well = [runs_well(sanitizer, rounds) for sanitizer in (ADDRESS, THREAD)]
    return 0 if all([*well, runs_well_in_valgrind()]) else 1


if __name__ == "__main__":
    sys.exit(main())
