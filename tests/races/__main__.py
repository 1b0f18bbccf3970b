"""The long run: executions of every operation while another thread writes to its inputs.

python -m tests.races --minutes 10 [--device nnapi-cpu] [OPERATION ...]

Prints the use that is run before it is run, because what goes wrong ends the process, and at the
end what was counted. NNAPI_SHIM_TIER chooses the kernels.
"""

import argparse
import sys
import time
from collections import Counter
from zlib import crc32

import numpy as np

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from tests.drivers.cpu.guard_pages import Guarded
from tests.operations.cases import USES, Use, example
from tests.races.running import Broken, Case
from tests.races.writer import Marked, Writer

DEVICES = {"nnapi-cpu": CpuDevice, "nnapi-reference": ReferenceDevice}

SEEKERS = """
    GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION TOPK_V2 ARGMAX ARGMIN SELECT SOFTMAX SIN
    HEATMAP_MAX_KEYPOINT DETECTION_POSTPROCESSING AXIS_ALIGNED_BBOX_TRANSFORM BOX_WITH_NMS_LIMIT
    GENERATE_PROPOSALS ROI_ALIGN ROI_POOLING RANDOM_MULTINOMIAL QUANTIZED_LSTM QUANTIZED_16BIT_LSTM
    PAD PAD_V2 MIRROR_PAD SLICE STRIDED_SLICE TILE BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE
    RESHAPE SQUEEZE REVERSE MEAN REDUCE_SUM FILL
"""
"""Operations whose inputs decide an address, a shape or the end of a loop, or look something up."""

ROUNDS = 100
"""Turns in which an operation that is run for minutes gets new examples."""


def race(
    names: list[str], devices: list[str], seconds: float, seed: int = 0, is_told: bool = True
) -> Counter[str]:
    """Run all uses of the operations named for that long together; the outcomes by number.

    Raises Broken for what no crash tells of.
    """
    chosen = [use for use in USES if use.operation.type.name in names]
    writer, outcomes = Writer(), Counter[str]()
    cases = [(use, device) for device in devices for use in chosen]
    turns = max(1, min(ROUNDS, int(seconds / len(cases))))
    for turn in range(turns):
        for use, device in cases:
            if is_told:
                print(use, "on", device, flush=True)
            _race(use, device, seconds / turns / len(cases), seed + turn, writer, outcomes)
    outcomes["writes"] = writer.rounds
    return outcomes


def _race(
    use: Use, device: str, seconds: float, seed: int, writer: Writer, outcomes: Counter[str]
) -> None:
    rng = np.random.default_rng(crc32(f"{use} {seed}".encode()))
    sample = example(use, rng)
    kinds = (Guarded, False), (Marked, False), (Guarded, True)
    for kind, constants in kinds:
        try:
            case = Case(DEVICES[device](), sample, kind, rng, constants)
        except Exception as error:
            raise Broken(f"{use} on {device} is not prepared: {error!r}") from error
        case.run(writer, seconds / len(kinds), outcomes)


def main() -> int:
    """Run it; 1 if a device breaks its promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.races")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--device", choices=DEVICES, action="append")
    parser.add_argument("--all", action="store_true", help="all operations, not only seekers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args()
    every = [use.operation.type.name for use in USES]
    names = options.names or (every if options.all else SEEKERS.split())
    began = time.monotonic()
    try:
        counted = race(names, options.device or [*DEVICES], 60 * options.minutes, options.seed)
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    messages = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.items()))
    print(f"done in {time.monotonic() - began:.0f} s: {messages}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
