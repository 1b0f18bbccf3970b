"""zig's C compiler, as CC of a wheel: `python install/zig_cc.py -target x86_64-linux-gnu.2.28 ...`.

zig rejects some linker flags that its own linker supports. This wrapper removes them from zig's
command line, and then repeats zig's linker command with the missing flags added.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

GLIBC = "2.28"
"""The oldest C library that compiled files run with."""
ZIG = (sys.executable, "-m", "ziglang")
REFUSED = {
    "-Wl,-z,separate-code": ["-z", "separate-code"],
    # zig's parts of the C library are not marked for CET, but are only called directly.
    "-Wl,-z,ibt": ["-z", "force-ibt"],
    "-Wl,-z,shstk": ["-z", "shstk"],
    "-Wl,-init,none": [],  # zig links no start files
    "-Wl,-fini,none": [],
}
"""Compiler flag -> linker flag."""
# As with CET, the parts of the C library are only called directly.
AARCH64 = ["-z", "force-bti"]
"""Linker flags of libraries for AArch64, which mark them for BTI. `-z pac-plt` would mark them for
PAC, too, but its calls authenticate addresses that glibc's loader does not sign.
"""


def expanded(words: list[str]) -> list[str]:
    """The arguments, with @files replaced by their content."""
    files = (shlex.split(Path(w[1:]).read_text()) if w.startswith("@") else [w] for w in words)
    return [word for words in files for word in words]


def linked_with(line: str, more: list[str]) -> None:
    """Repeat zig's linker command `line` with more flags.

    If file names contain spaces, which zig does not quote, the library stays unchanged.
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


def compiler(machine: str) -> str:
    """CC: this script, for GLIBC and an architecture, as `uname -m` names it."""
    target = f"{machine}-linux-gnu.{GLIBC}"
    return shlex.join([sys.executable, __file__, "-target", target])


def main() -> int:
    """Compile and link with zig; return its exit status."""
    words = expanded(sys.argv[1:])
    more = [flag for word in words for flag in REFUSED.get(word, [])]
    if "-shared" in words and any(word.startswith("aarch64-") for word in words):
        more += AARCH64
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
