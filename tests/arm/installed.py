"""The wheel in the emulated root: a Python program, the C examples, the vectors."""

import time
from collections.abc import Mapping
from pathlib import Path

from tests.arm.emulated_root import CONFORMANCE, ROOT, SITE, VECTORS, enter, output, run
from tests.arm.parts import Outcome, Setting, together

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
EXAMPLES = "/examples"
LIBRARIES = f"/{SITE}/nnapi_shim/lib"
EXACT = ["--vectors", f"{VECTORS}/exact"]
QUICK = (("vectors", ["--file", "V1_0/*"]), ("exact results", [*EXACT, "--op", "CONV_2D"]))
WHOLE = (("vectors", []), ("exact results", EXACT))
"""What of the vectors: a title, and arguments of their runner."""
ABSENT = Outcome(True, "the conformance vectors, ../shared/conformance, are not here")


def compile_examples(root: Path) -> None:
    """The C examples with an expected output, compiled into the root for the wheel."""
    package = root / SITE / "nnapi_shim"
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


def check_examples(
    setting: Setting, mounts: Mapping[str, Path] | None = None, **environment: str
) -> Outcome:
    """Whether a Python program and the C examples print what they should."""
    root, tier = setting.root, setting.tier

    def printed_by(*command: str) -> tuple[int, str]:
        return output(enter(root, command, tier, mounts, **environment))

    code, printed = printed_by("python3", "-c", PROGRAM)
    wrong = [] if (code, printed.strip()) == (0, tier) else [f"Python: {code}, {printed.strip()}"]
    files = sorted((ROOT / "c_examples").glob("*.expected"))
    for expected in files:
        code, printed = printed_by(f"{EXAMPLES}/{expected.stem}")
        if code or printed != expected.read_text():
            wrong.append(f"{expected.stem}: {code}, {printed}")
    return Outcome(not wrong, "; ".join(wrong) or f"Python, {len(files)} C examples")


def check_vectors(setting: Setting) -> Outcome:
    """Whether the conformance vectors pass, and exact results of quantized operations."""
    if not CONFORMANCE.is_dir():
        return ABSENT
    sets = QUICK if setting.is_quick else WHOLE
    return together(
        run_vectors(setting, title, "static" if "exact" in title else setting.checks, arguments)
        for title, arguments in sets
    )


def run_vectors(
    setting: Setting,
    title: str,
    checks: str,
    arguments: list[str],
    mounts: Mapping[str, Path] | None = None,
    **environment: str,
) -> Outcome:
    """What the runner of the vectors says."""
    began = time.monotonic()
    words = ["python3", f"{VECTORS}/run.py", "--lib", f"{LIBRARIES}/libneuralnetworks.so"]
    words += ["-j", str(setting.jobs), "--fail-list", "--timeout", "600", "--checks", checks]
    settings = {"DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu", "NNAPI_SHIM_TIER": setting.tier}
    everything = {VECTORS: CONFORMANCE, **(mounts or {})}
    command = enter(
        setting.root, [*words, *arguments], setting.tier, everything, **settings, **environment
    )
    code, printed = output(command)
    lines = printed.strip().splitlines() or ["nothing was printed"]
    print(*lines, sep="\n", flush=True)
    took = f"{time.monotonic() - began:.0f} s"
    return Outcome(code == 0, f"{title}, {checks}: {lines[-1]} in {took}")
