"""`make count-instructions`: instructions per inference, of this library and of LiteRT, under QEMU.

    .venv/bin/python -m tests.arm.instructions [--models NAME ...] [--tiers neon ...] [--installed]
        [--root DIR] [--wheel FILE]

Both run in Debian's Python for arm64, on one thread, in the worker of `make bench-models`, with the
same .tflite file. A plugin of QEMU counts: the instructions of twice as many inferences, less those
of half as many, so that what is not an inference is not counted. It prints a line for each model
and fails if LiteRT needs fewer instructions.

Instructions are no time: an analysis, for want of a processor.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.arm.emulated_root import (
    BUILD,
    PROCESSORS,
    ROOT,
    SITE,
    pinned,
    pip_install,
    ready_root,
    run,
)
from tests.arm.options import add_root, check_root

MODELS = {
    "mobilenet_v1_025_224_quant": 8,
    "mobilenet_v1_025_224_float": 8,
    "kws_dscnn_int8": 64,
    "resnet8_cifar_int8": 32,
    "mobilenet_v2_224_quant": 2,
}
"""Model -> inferences that are counted; others take OTHERS."""
OTHERS = 4
TRAINED = ROOT.parent / "shared" / "models"
RUNTIMES = ("nnapi_shim", "litert")
EMULATOR = "qemu-aarch64"
"""With plugins, which Debian's static one lacks."""
WORKER = ROOT / "tests" / "bench" / "suite" / "worker.py"
PLUGIN = Path(__file__).with_name("count_instructions.c")
PEERS = BUILD / "peers"
PARTS = {
    "neon": ("0xd08", ""),
    "dotprod": ("0xd0c", " asimddp"),
    "i8mm": ("0xd49", " asimddp i8mm"),
}
"""Tier -> part number of a processor of Arm (Cortex-A72, Neoverse N1, Neoverse N2), features."""
DESCRIPTION = """\
processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm{}
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: {}
CPU revision\t: 1

"""
"""What Linux has in /proc/cpuinfo. QEMU shows that of this machine, and XNNPACK, which reads it to
choose kernels, is left out by LiteRT or crashes.
"""


def missing() -> list[str]:
    """What counting needs more than `make test-arm`, a line with a remedy each."""
    lines = []
    if not shutil.which(EMULATOR):
        lines.append(f"{EMULATOR} is missing; as root: apt install qemu-user")
    if not TRAINED.is_dir():
        lines.append("the models, ../shared/models, are not here")
    return lines


def known_models() -> list[str]:
    """The models that have inputs."""
    files = sorted(TRAINED.glob("*.tflite"))
    return [file.stem for file in files if file.with_suffix(".npz").exists()]


def compile_plugin() -> Path:
    """The plugin, for this machine."""
    plugin = BUILD / "count_instructions.so"
    plugin.parent.mkdir(parents=True, exist_ok=True)
    run(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", PLUGIN, "-o", plugin])
    return plugin


def install_peers() -> None:
    """LiteRT for aarch64, once."""
    wanted = " ".join(pinned("ai-edge-litert", "backports.strenum", "numpy"))
    stamp = PEERS / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    pip_install(PEERS, wanted.split())
    stamp.write_text(wanted)


def write_inputs(model: str, folder: Path) -> None:
    """A model's first inputs, as the worker reads them."""
    with np.load(TRAINED / f"{model}.npz") as cases:
        count = sum(key.startswith("in0_") for key in cases.files)
        for index in range(count):
            np.save(folder / f"input_{index}.npy", cases[f"in0_{index}"])


def describe_processor(root: Path, tier: str) -> None:
    """Files about the emulated processor, which the emulator opens in place of this machine's."""
    part, features = PARTS[tier]
    processors = root / "sys/devices/system/cpu"
    processors.mkdir(parents=True, exist_ok=True)
    for name in ("possible", "present"):
        (processors / name).write_text("0\n")
    (root / "proc/cpuinfo").write_text(DESCRIPTION.format(features, part))


def command_line(plugin: Path, counts: Path, tier: str, root: Path) -> list[str | Path]:
    """The emulator with the root's Python."""
    variables = {
        "LD_LIBRARY_PATH": "",
        "NNAPI_SHIM_JIT": "off",
        "NNAPI_SHIM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": f"{root / SITE}:{PEERS}",
    }
    words: list[str | Path] = [EMULATOR, "-cpu", PROCESSORS[tier], "-L", root]
    words += ["-plugin", f"{plugin},out={counts}"]
    for name, value in variables.items():
        words += ["-E", f"{name}={value}"]
    return [*words, root / "usr/bin/python3", "-s", "-P"]


def count(runtime: str, model: str, emulated: Sequence[str | Path], counts: Path) -> float:
    """Instructions of an inference."""
    calls = MODELS.get(model, OTHERS)
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(model, Path(folder))
        command = [*emulated, WORKER, runtime, TRAINED / f"{model}.tflite", "1", folder]
        done = subprocess.run(
            [str(word) for word in command],
            input=f"run 1 1\nrun {calls} 1\nrun {2 * calls} 1\n",
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"count-instructions: {model} in {runtime} ended with {done.returncode}")
    *_, begin, middle, end = map(int, counts.read_text().split())
    return ((end - middle) - (middle - begin)) / calls


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=[*MODELS])
    parser.add_argument("--tiers", nargs="+", choices=PROCESSORS, default=["dotprod"])
    add_root(parser)
    options = parser.parse_args()
    check_root(parser, options)
    if problems := missing():
        sys.exit("\n".join(f"count-instructions: {line}" for line in problems))
    known = known_models()
    for model in options.models:
        if model not in known:
            parser.error(f"there is no model {model}: choose from {', '.join(known)}")
    ready_root(options.root, options.wheel, options.installed)
    install_peers()
    plugin, counts = compile_plugin(), BUILD / "instructions"
    most = 0.0
    print("| tier | model | nnapi_shim | LiteRT | ratio |\n|---|---|---|---|---|")
    for tier in options.tiers:
        describe_processor(options.root, tier)
        emulated = command_line(plugin, counts, tier, options.root)
        for model in options.models:
            ours, peer = (count(runtime, model, emulated, counts) for runtime in RUNTIMES)
            most = max(most, ours / peer)
            figures = f"{ours / 1e6:.2f} M | {peer / 1e6:.2f} M | {ours / peer:.2f}"
            print(f"| `{tier}` | {model} | {figures} |", flush=True)
    return 0 if most <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
