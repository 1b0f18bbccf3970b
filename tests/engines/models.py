"""The trained models on devices of engines; nnapi-reference computes what these decline.

    python -m tests.engines.models DEVICE ... [--models NAME ...]

prints for each model the partitions, how many operations each device has, the largest difference to
LiteRT, and whether this is as near as the folder of the models asks.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

FALLBACK = "nnapi-reference"
"""Its figures are the worst, so that the engine gets all that it takes."""


def on(device: str, name: str) -> tuple[bool, str]:
    """Whether a model is right on a device, and a line about it."""
    from nnapi_shim import NnapiError
    from nnapi_shim.tools.explain import explain
    from tests.trained_models.distance import largest, optimised, outputs_on, require_near
    from tests.trained_models.manifest import trained

    model, devices = trained(name), [device, FALLBACK]
    explained = explain(model.model, devices)
    counts = Counter(operation.device for operation in explained.operations)
    began = time.monotonic()
    try:
        outputs = outputs_on(model, devices)
        told = f"difference {max(largest(outputs, optimised(model))):g}"
        require_near(model, outputs)
        is_right = True
    except (AssertionError, NnapiError) as error:
        is_right, told = False, " ".join(str(error).split())[:200]
    placed = ", ".join(f"{count} on {where}" for where, count in counts.most_common())
    return is_right, (
        f"{device} {name}: {'right' if is_right else 'WRONG'}, {len(explained.steps)} partitions "
        f"({placed}), {told}, {time.monotonic() - began:.1f} s"
    )


def main(arguments: Sequence[str]) -> int:
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(prog="tests.engines.models")
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--models", nargs="*", default=[], help="names, or parts of them")
    chosen = parser.parse_args(arguments)
    engines = dict.fromkeys(name.partition("-")[0] for name in chosen.devices)
    os.environ["NNAPI_SHIM_ENGINES"] = ",".join(engines)
    from tests.trained_models.distance import MODELS
    from tests.trained_models.manifest import WHY_SKIPPED

    if not MODELS:
        print(f"skipped: {WHY_SKIPPED}")
        return 0
    names = [n for n in MODELS if not chosen.models or any(part in n for part in chosen.models)]
    wrong = 0
    for device in chosen.devices:
        for name in names:
            is_right, line = on(device, name)
            wrong += not is_right
            print(line, flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
