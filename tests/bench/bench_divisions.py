"""Times of the divisions that a calibration makes of models, in turns with those by figures.

`python -m tests.bench.bench_divisions MODEL...`: .tflite or .onnx files. The devices are those that
NNAPI_SHIM_ENGINES lists; `nnapi-shim calibrate` goes first. For each model: the devices by figures
and by the calibration, the estimated and the measured times, and their ratios.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import nnapi_shim
from nnapi_shim import Compilation
from nnapi_shim.settings import CALIBRATION
from nnapi_shim.tools.bench import bound
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.explanation import Explanation
from nnapi_shim.tools.inputs import read_or_made_up
from nnapi_shim.tools.latency import no_collection, timed
from nnapi_shim.tools.profile import all_inputs
from nnapi_shim.units import duration

ROUNDS, SECONDS = 9, 0.15
"""Rounds in which all divisions run in turns, and the time of each in a round."""


def compiled(model: nnapi_shim.Model, devices: str | None, setting: str) -> Compilation:
    """A compilation with the calibration on or off."""
    before = CALIBRATION.put(setting)
    try:
        return Compilation(model, devices)
    finally:
        CALIBRATION.put(before)


def in_turns(calls: Sequence[object]) -> list[float]:
    """The median of the least times of all rounds, of each call, in seconds."""
    least: list[list[float]] = [[] for _ in calls]
    with no_collection():
        for _ in range(ROUNDS):
            for call, times in zip(calls, least, strict=True):
                timed(call, 2)
                one = min(timed(call, 2))
                times.append(min(timed(call, max(3, int(SECONDS / one)))))
    return [median(times) for times in least]


def shown(compilation: Compilation) -> str:
    """The devices of the steps; of many the first ones."""
    names = [device.name for device in compilation.runtime.devices]
    more = f" and {len(names) - 3} more steps" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def compare(path: Path) -> None:
    """Print the times of one model."""
    model = nnapi_shim.load(path)
    explained: Explanation = explain(model)
    estimates = {item.what: item.seconds for item in explained.divisions}
    if not estimates:
        raise SystemExit("there is no calibration that is used; `nnapi-shim calibrate` makes one")
    made = {
        "chosen": compiled(model, None, "on"),
        "by figures": compiled(model, None, "off"),
    }
    for what in estimates:
        if what.endswith(" alone") and not what.startswith("nnapi-reference"):
            made[what] = compiled(model, what.removesuffix(" alone"), "on")
    calls = []
    for compilation in made.values():
        arrays = read_or_made_up(compilation, (), None, 0)
        calls.append(bound(compilation, all_inputs(model, compilation, arrays))[0])
    times = in_turns(calls)
    print(path.name)
    for (what, compilation), seconds in zip(made.items(), times, strict=True):
        print(
            f"  {what:22} {duration(seconds):>9} (estimated {duration(estimates[what]):>9}), "
            f"{seconds / times[0]:5.2f} of the chosen: {shown(compilation)}"
        )


def main() -> None:
    """Compare the divisions of all models that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    for path in parser.parse_args().models:
        compare(path)


if __name__ == "__main__":
    main()
