"""zig's C compiler, as CC of a wheel: `python install/zig_cc.py -target x86_64-linux-gnu.2.28 ...`.

zig refuses some flags of linkers that its own linker knows. Here they are left out of what zig is
asked, and what zig then tells its linker is said once more, with those that it has not said itself.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ZIG = (sys.executable, "-m", "ziglang")
REFUSED = {
    "-Wl,-z,separate-code": ["-z", "separate-code"],
    # What zig adds of the C library is not marked for CET, but only called by name.
    "-Wl,-z,ibt": ["-z", "force-ibt"],
    "-Wl,-z,shstk": ["-z", "shstk"],
    "-Wl,-init,none": [],  # zig links no start files
    "-Wl,-fini,none": [],
}
"""Flag -> what its linker is told."""


def expanded(words: list[str]) -> list[str]:
    """The words, with those of @files in their place."""
    files = (shlex.split(Path(w[1:]).read_text()) if w.startswith("@") else [w] for w in words)
    return [word for words in files for word in words]


def linked_with(line: str, more: list[str]) -> None:
    """Links again, with more flags, what zig has linked with the command `line`.

    Where the names in it have spaces, which zig does not quote, the library stays as it is.
    """
    command = line.split()
    output = command.index("-o") + 1
    result, command[output] = command[output], command[output] + ".new"
    new = Path(command[output])
    try:
        if subprocess.run([*ZIG, *command, *more], stderr=subprocess.DEVNULL).returncode == 0:
            new.replace(result)
    finally:
        new.unlink(missing_ok=True)


def main() -> int:
    """Compiles and links as zig does; its exit status."""
    words = expanded(sys.argv[1:])
    more = [flag for word in words for flag in REFUSED.get(word, [])]
    done = subprocess.run(
        [*ZIG, "cc", *(word for word in words if word not in REFUSED)],
        env={**os.environ, "ZIG_VERBOSE_LINK": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    links = [line for line in done.stderr.splitlines() if line.startswith("ld.lld ")]
    messages = [line for line in done.stderr.splitlines() if line not in links]
    sys.stderr.write("".join(f"{line}\n" for line in messages))
    if done.returncode == 0 and more:
        for line in links:
            linked_with(line, more)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
