"""From the reports of nnapi_shim.tools to what a picture of the model is coloured by."""

from nnapi_shim.pictures.shades import Shades
from nnapi_shim.tools.diff import Diff
from nnapi_shim.tools.explain import Explanation
from nnapi_shim.tools.profile import Profile


def devices(found: Explanation) -> Shades:
    """The device that runs each operation; white where none does."""
    runs = {item.number: item.device for item in found.operations if item.device}
    return Shades("device", "device", "", runs)


def partitions(found: Explanation) -> Shades:
    """The step of the plan that each operation is part of, in the order in which they run."""
    steps = {
        item.number: f"{item.step}: {item.device}"
        for item in found.operations
        if item.step is not None
    }
    ordered = dict(sorted(steps.items(), key=lambda item: int(item[1].partition(":")[0])))
    return Shades("partition", "partition", "", ordered)


def times(found: Profile) -> Shades:
    """How long each operation takes; white where that cannot be seen."""
    seen = {
        item.number: item.seconds * 1e6 for item in found.operations if item.seconds is not None
    }
    return Shades("time", "time in a run", "µs", seen)


def errors(found: Diff) -> Shades:
    """How far the two devices are apart behind each operation: in quantization steps where all of
    them are quantized, else the largest error; white where there are no numbers to compare.
    """
    compared = [
        (item.number, item.difference) for item in found.operands if item.difference is not None
    ]
    in_steps = bool(compared) and all(value.steps is not None for _, value in compared)
    largest: dict[int, float] = {}
    for number, value in compared:
        error = float(value.steps) if in_steps and value.steps is not None else value.largest
        largest[number] = max(largest.get(number, 0.0), error)
    what = "largest error" if not in_steps else "largest error, quantization steps"
    how = " of the operation alone" if found.is_isolated else ""
    return Shades("error", f"{what}{how}, {found.a} to {found.b}", "", largest)
