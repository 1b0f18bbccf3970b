"""Makes a processor with AVX2 run the kernels of the tier v3vnni: see emulator.c."""

import signal
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("emulator.c")
TIER = "v3vnni"
NEEDED = "v3"
"""The tier of the processors that it makes run them."""


def environment(folder: Path) -> dict[str, str]:
    """The variables that make a process choose the tier. folder: where the emulator is compiled."""
    library = folder / "emulator.so"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(SOURCE)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return {"LD_PRELOAD": str(library), "NNAPI_SHIM_TIER": TIER}


def is_native(folder: Path) -> bool:
    """Whether the processor executes the instructions itself, announced or not."""
    program = folder / "probe"
    subprocess.run(["cc", "-DPROBE", str(SOURCE), "-o", str(program)], check=True)
    code = subprocess.run([program], check=False).returncode
    if code not in (0, -signal.SIGILL):
        raise AssertionError(f"the probe ended with {code}")
    return code == 0
