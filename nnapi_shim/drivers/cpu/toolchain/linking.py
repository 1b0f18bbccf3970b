"""Link the object files of a tier into its kernel library with the C compiler."""

import errno
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from nnapi_shim.drivers.cpu.program.library import SYMBOL_PREFIX, VERSION_SYMBOL
from nnapi_shim.drivers.cpu.toolchain.objects import PACKAGE, write_atomically
from nnapi_shim.folders import different_architecture

HARDENING = PACKAGE / "native" / "flags"


def flags(machine: str) -> list[str]:
    """The flags of a library for an architecture."""
    files = [
        HARDENING / f"{kind}{suffix}"
        for kind in ("compile", "link", "library")
        for suffix in ("", f"-{machine}")
    ]
    return [
        "-shared",
        "-fPIC",
        "-O2",
        "-g0",
        "-nostdlib",
        "-Wl,-z,defs",
        "-Wl,--gc-sections",
        *(f"@{path}" for path in files if path.exists()),
    ]


def try_linker(folder: Path, machine: str) -> None:
    """Link an empty library before the long part of a build; ends the program if that fails."""
    with tempfile.TemporaryDirectory(dir=folder) as where:
        empty = Path(where, "empty.so")
        _run_linker([], Path(where), empty, machine)
        if made := different_architecture(str(empty), machine):
            raise SystemExit(
                f"kernels: {' '.join(_compiler())} compiles for {made}, not for {machine}: name a "
                f"compiler for {machine} with CC"
            )


def link_tier(families: Mapping[str, Path], folder: Path, library: Path, machine: str) -> bool:
    """Link a tier's objects if they are newer than the library; whether it was necessary.

    families: the folder of each family's object. folder: that of the tier.
    """
    objects = [where / f"{family}.o" for family, where in families.items()]
    inputs = _inputs(families, machine)
    current = library.exists() and _recorded_inputs(folder) == inputs
    if current and all(o.stat().st_mtime <= library.stat().st_mtime for o in objects):
        return False
    temporary = library.with_suffix(f".{os.getpid()}")
    try:
        _run_linker([str(path) for path in objects], folder, temporary, machine)
        temporary.replace(library)
    finally:
        temporary.unlink(missing_ok=True)
    write_atomically(folder / "linked.json", json.dumps(inputs).encode())
    return True


def _inputs(families: Mapping[str, Path], machine: str) -> list[str]:
    """What a library is linked from: its version, the families with their tiers, the flags."""
    return [
        VERSION_SYMBOL,
        *(f"{where.name} {family}" for family, where in families.items()),
        *(Path(f[1:]).read_text() if f[0] == "@" else f for f in flags(machine)),
    ]


def _recorded_inputs(folder: Path) -> list[str]:
    stamp = folder / "linked.json"
    return json.loads(stamp.read_text()) if stamp.exists() else []


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or "cc")


def _run_linker(inputs: Sequence[str], folder: Path, library: Path, machine: str) -> None:
    """Link all inputs; fails on a symbol that neither libm nor libc defines."""
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: {SYMBOL_PREFIX}*; local: *; }};\n")
    mark = folder / "version.c"
    mark.write_text(f"int {VERSION_SYMBOL}(void);\nint {VERSION_SYMBOL}(void) {{ return 0; }}\n")
    command = [*_compiler(), *flags(machine), f"-Wl,--version-script={exports}", "-o", str(library)]
    try:
        subprocess.run(
            [*command, *inputs, str(mark), "-lm", "-lc"], check=True, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise SystemExit(
            f"kernels: there is no C compiler {command[0]}; install one (Debian: apt install gcc "
            "libc6-dev), or name it with CC"
        ) from None
    except subprocess.CalledProcessError:
        if shutil.disk_usage(folder).free < 4 << 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(library)) from None
        raise SystemExit(
            f"kernels: {' '.join(_compiler())} could not link {library.name} (see above); it has "
            "to be a C compiler for this machine with its C library (Debian: apt install gcc "
            "libc6-dev)"
        ) from None
