"""Conversion of reports of nnapi_shim.tools to colours of operations."""

from nnapi_shim.pictures.shades import MICROSECONDS, Shades
from nnapi_shim.tools.diff import Diff
from nnapi_shim.tools.explain import Explanation
from nnapi_shim.tools.observed_run import times_and_notes
from nnapi_shim.tools.profile import Profile


def devices(explanation: Explanation) -> Shades:
    """The device that runs each operation; white if none does."""
    runs = {item.number: item.device for item in explanation.operations if item.device}
    return Shades("device", "device", "", runs)


def partitions(explanation: Explanation) -> Shades:
    """The step of the plan that contains each operation, in execution order."""
    steps = {
        item.number: f"{item.step}: {item.device}"
        for item in explanation.operations
        if item.step is not None
    }
    ordered = dict(sorted(steps.items(), key=lambda item: int(item[1].partition(":")[0])))
    return Shades("partition", "partition", "", ordered)


def times(profile: Profile) -> Shades:
    """The time of each operation; white if it cannot be observed, or if another operation does
    its work.
    """
    microseconds, fused = times_and_notes(profile.operations)
    return Shades("time", "time in a run", MICROSECONDS, microseconds, fused)


def errors(comparison: Diff) -> Shades:
    """The largest error of each operation: in quantization steps if all outputs are quantized;
    white if there are no numbers to compare, green within the tolerance.
    """
    compared = [
        (item.number, item.difference)
        for item in comparison.operands
        if item.difference is not None
    ]
    in_steps = bool(compared) and all(value.steps is not None for _, value in compared)
    largest: dict[int, float] = {}
    for number, value in compared:
        error = float(value.steps) if in_steps and value.steps is not None else value.largest
        largest[number] = max(largest.get(number, 0.0), error)
    beyond = frozenset(item.number for item in comparison.operands if item.is_beyond)
    what = "largest error" if not in_steps else "largest error, quantization steps"
    how = " of the operation alone" if comparison.is_isolated else ""
    return Shades(
        "error", f"{what}{how}, {comparison.a} to {comparison.b}", "", largest, {}, beyond
    )
