"""The trained models on devices of engines; nnapi-reference computes what these decline.

    python -m tests.engines.models DEVICE ... [--models NAME ...] [--each]

prints for each model the partitions, how many operations each device has, the largest difference to
LiteRT, and whether this is as near as the folder of the models asks. Engines round quantized
results in another way, a step at most for each operation, which networks amplify: those that are
farther apart, but give the same classes, are named and are no failure. --each gives each operation
of these, alone, what nnapi-reference gives it, and fails where a result is more than a step away.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

FALLBACK = "nnapi-reference"
"""Its figures are the worst, so that the engine gets all that it takes."""


def on(device: str, name: str, each: bool) -> tuple[bool, str]:
    """Whether a model is right on a device, and a line about it. each: see above."""
    from nnapi_shim import NnapiError
    from nnapi_shim.tools.explain import explain
    from tests.trained_models.distance import largest, optimised, outputs_on
    from tests.trained_models.manifest import trained

    model, devices = trained(name), [device, FALLBACK]
    explained = explain(model.model, devices)
    counts = Counter(operation.device for operation in explained.operations)
    placed = ", ".join(f"{count} on {where}" for where, count in counts.most_common())
    where = f"{len(explained.steps)} partitions ({placed})"
    began = time.monotonic()
    try:
        outputs = outputs_on(model, devices)
    except NnapiError as error:
        return False, f"{device} {name}: WRONG, {where}, {error}"
    apart = max(largest(outputs, optimised(model)))
    wrong, words = judged(model, outputs)
    if each and words != "right":
        differs, about = alone(model, device)
        wrong, words = wrong or differs, f"{words}; {about}"
    seconds = time.monotonic() - began
    line = f"{device} {name}: {words}, {where}, difference {apart:g}, {seconds:.1f} s"
    return not wrong, line


def alone(model: Any, device: str) -> tuple[bool, str]:
    """Whether an operation is wrong by itself, and words about all of them."""
    from nnapi_shim import NnapiError
    from nnapi_shim.tools.array_difference import Tolerance
    from nnapi_shim.tools.diff import diff

    try:
        compared = diff(model.model, FALLBACK, device, isolated=True, tolerance=Tolerance(steps=1))
    except NnapiError as error:  # it declines some of them
        return False, f"not each operation alone ({error.message[:60]})"
    found = [each.difference for each in compared.operands if each.difference is not None]
    steps = max(each.steps or 0 for each in found)
    return not compared.is_same, f"each operation alone within {steps} steps"


def judged(model: Any, outputs: Sequence[Any]) -> tuple[bool, str]:
    """Whether outputs are wrong, and what they are in words."""
    from tests.trained_models.distance import SSD, require_classes, require_near

    try:
        require_near(model, outputs)
        return False, "right"
    except AssertionError as error:
        why = " ".join(str(error).split())[:80]
    if model.name == SSD:
        has_same = all(
            sorted(ours[1].ravel()) == sorted(case.reference[1].ravel())
            for ours, case in zip(outputs, model.cases, strict=True)
        )
        return (False, "same classes in another order") if has_same else (True, f"WRONG ({why})")
    try:
        require_classes(model, outputs)
    except AssertionError:
        return True, "WRONG classes"
    if "top1" in model.entry:
        return False, "same classes, but farther apart"
    return True, f"WRONG ({why})"


def main(arguments: Sequence[str]) -> int:
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(prog="tests.engines.models")
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--models", nargs="*", default=[], help="names, or parts of them")
    parser.add_argument("--each", action="store_true", help="compare each operation alone, too")
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
            is_right, line = on(device, name, chosen.each)
            wrong += not is_right
            print(line, flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
