"""Files that machines of both architectures use: a folder of cached models, and captures."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from tests.arm.emulated_root import BUILD, PROCESSORS, ROOT, enter, output
from tests.arm.parts import Outcome, Setting

SHARED = BUILD / "shared"
INSIDE = "/shared"
CACHED = """
import sys
import numpy as np
import nnapi_shim
folder = sys.argv[1]
model = nnapi_shim.load(f"{folder}/int8.tflite")
compilation = model.compile("nnapi-cpu", cache=(f"{folder}/models", bytes(range(32))))
operand = compilation.inputs[0]
pixels = np.random.default_rng(1).integers(-128, 128, operand.dimensions).astype(np.int8)
print(np.asarray(compilation.run(pixels)).ravel().tolist())
"""
"""Compiles a quantized model with a cache folder, runs it, and prints the results."""
REPLAY = """
import sys
from nnapi_shim.tools.replay import replay
for path in sys.argv[1:]:
    report = replay(path)
    if report.differences or report.skipped or report.repeated != report.calls:
        print(path.rpartition("/")[2])
"""
"""Repeats captures, and prints those that differ."""
Machine = tuple[str, list[str | Path], str]
"""A name, how its commands begin, and its path of the shared folder."""


def check(setting: Setting) -> Outcome:
    """Whether folders of cached models and captures are good on both architectures."""
    shutil.rmtree(SHARED, ignore_errors=True)
    for folder in ("models", "state"):
        (SHARED / folder).mkdir(parents=True, mode=0o700)
    wrong = [*cached_models(setting.root), *captures(setting.root, setting.tier)]
    captured = 2 * len(names_of_examples())
    text = f"a model that {len(PROCESSORS) + 1} processors cache, {captured} captures"
    return Outcome(not wrong, "; ".join(wrong) or text)


def names_of_examples() -> list[str]:
    """The C examples that captures are made of."""
    return [path.stem for path in sorted((ROOT / "c_examples").glob("*.expected"))]


def here() -> list[str | Path]:
    """How commands on this machine begin, with the libraries that `make` has built."""
    variables = {
        "LD_LIBRARY_PATH": ROOT / "build" / "lib",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ROOT,
        "XDG_STATE_HOME": SHARED / "state",
    }
    return ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]


def emulated(root: Path, tier: str) -> list[str | Path]:
    """How commands in the root begin."""
    return enter(root, [], tier, {INSIDE: SHARED}, XDG_STATE_HOME=f"{INSIDE}/state")


def cached_models(root: Path) -> list[str]:
    """What is wrong when each processor compiles a model into the same folder, and then loads it.

    They share the key that signs the files, too: only the name of a file keeps them apart.
    """
    shutil.copy(ROOT / "examples" / "shapes" / "int8.tflite", SHARED)
    machines: list[Machine] = [(os.uname().machine, [*here(), sys.executable], str(SHARED))]
    machines += [(tier, [*emulated(root, tier), "python3"], INSIDE) for tier in PROCESSORS]
    wrong, results = [], set()
    for is_second in (False, True):
        for count, (name, start, folder) in enumerate(machines, 1):
            before = state_of(SHARED / "models")
            code, printed = output([*start, "-c", CACHED, folder])
            if code:
                wrong.append(f"{name} ends with {code}")
            results.add(printed)
            after = state_of(SHARED / "models")
            if is_second and after != before:
                wrong.append(f"{name} compiles again")
            if not is_second and (len(after) != count or not before.items() <= after.items()):
                wrong.append(f"{name} uses the file of another processor")
    if len(results) != 1:
        wrong.append(f"results differ: {results}")
    return wrong


def state_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Name of a file -> when it was written, and a digest."""
    return {
        path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.iterdir()
    }


def captures(root: Path, tier: str) -> list[str]:
    """What is wrong when the C examples are recorded on one machine and repeated on the other."""
    names = names_of_examples()
    machines = {
        "here": (here(), str(SHARED), ROOT / "build" / "c_examples", sys.executable),
        "there": (emulated(root, tier), INSIDE, Path("/examples"), "python3"),
    }
    wrong = []
    for where, (start, folder, programs, _) in machines.items():
        for name in names:
            setting = f"NNAPI_SHIM_CAPTURE={folder}/{where}_{name}.zip"
            code, _ = output([*start, "/usr/bin/env", setting, programs / name])
            if code:
                wrong.append(f"{name}, recorded {where}, ends with {code}")
    for where, other in (("here", "there"), ("there", "here")):
        files = [path.name for path in sorted(SHARED.glob(f"{other}_*.zip"))]
        at_home, away = (repeated(machines[machine], files) for machine in (other, where))
        if away - at_home or len(files) != len(names):
            wrong.append(f"{len(files)} captures, repeated {where}: {'; '.join(away - at_home)}")
        for line in at_home:
            print(f"not compared, because it differs where it was recorded: {line}")
    return wrong


def repeated(machine: tuple[list[str | Path], str, Path, str], files: list[str]) -> set[str]:
    """The captures that differ when a machine repeats them."""
    start, folder, _, python = machine
    code, printed = output([*start, python, "-c", REPLAY, *(f"{folder}/{file}" for file in files)])
    return {f"exit status {code}"} - {"exit status 0"} | {*printed.splitlines()}
