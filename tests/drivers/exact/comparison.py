"""How far nnapi-cpu is from nnapi-reference where both have to give the same.

    python -m tests.drivers.exact.comparison [--examples N] [--seed N] [OPERATION ...]

prints a line per use, and the first example that differs.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch
from zlib import crc32

import numpy as np

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.drivers.exact.parameters import KINDS, variation
from tests.operations.cases import USES, Example, Use
from tests.single import build, run

QUANTIZED_USES = [use for use in USES if {*use.inputs, *use.outputs} & {*QUANTIZED_RANGE}]

EXACT_FLOATS = ("DEQUANTIZE", "CAST")
"""Operations whose floating-point outputs have to be equal, too."""

FAILED = 1 << 31
"""The difference between a result and an error, or between two errors."""


class Worst(NamedTuple):
    """The largest difference found, over how many examples, and where it was."""

    difference: int = 0
    examples: int = 0
    computed: int = 0
    where: str = ""


def tiers() -> list[str]:
    """All tiers that are built and run on this processor."""
    return library.processor_tiers()


@cache
def kernels(tier: str) -> library.KernelLibrary:
    """Those of a tier."""
    with patch.dict("os.environ", {"NNAPI_SHIM_TIER": tier}):
        result = library.KernelLibrary()
    assert result.tier == tier
    return result


@contextmanager
def tier(name: str) -> Iterator[None]:
    """nnapi-cpu with the kernels of a tier."""
    with patch.object(library, "_current", kernels(name)):
        yield


def worst(
    use: Use, examples: int, seed: int = 0, on: Sequence[str] | None = None
) -> dict[str, Worst]:
    """Compare random examples of a use on the two devices: tier -> the largest difference.

    on: the tiers; all that this processor has by default.
    """
    seed = crc32(f"{use} {seed}".encode())
    result = dict.fromkeys(on or tiers(), Worst())
    for number in range(examples):
        sample = variation(use, seed, number)
        expected = outcome(ReferenceDevice(), sample)
        computed = not isinstance(expected, str)
        for name, so_far in result.items():
            with tier(name):
                arguments = outcome(CpuDevice(), sample)
            difference, detail = _difference(use, expected, arguments)
            where = so_far.where
            if difference > so_far.difference:
                where = f"example {number} ({KINDS[number % len(KINDS)]}): {detail}"
            result[name] = Worst(
                max(difference, so_far.difference),
                so_far.examples + 1,
                so_far.computed + computed,
                where,
            )
    return result


def outcome(device: Any, sample: Example) -> Any:
    """The outputs, or the name of the result code."""
    built = build(sample.use.operation.type, sample.inputs, sample.outputs)
    try:
        return run(device, built)
    except NnapiError as error:
        return error.code.name


def _difference(use: Use, expected: Any, arguments: Any) -> tuple[int, str]:
    """In steps, or in numbers of the type between two floating-point numbers; and where."""
    if isinstance(expected, str) or isinstance(arguments, str):
        same = isinstance(expected, str) and isinstance(arguments, str) and expected == arguments
        names = [x if isinstance(x, str) else "a result" for x in (expected, arguments)]
        return (0 if same else FAILED), f"{names[1]} where {names[0]} is expected"
    largest, detail = 0, ""
    for index, (goal, result) in enumerate(zip(expected, arguments, strict=True)):
        if goal.shape != result.shape:
            return FAILED, f"output {index} has shape {result.shape}, not {goal.shape}"
        if goal.dtype.kind == "f" and use.operation.type.name not in EXACT_FLOATS:
            continue
        steps = np.abs(_whole(result) - _whole(goal))
        if steps.size and steps.max() > largest:
            at = np.unravel_index(np.argmax(steps), steps.shape)
            largest = int(steps.max())
            detail = f"output {index}{list(map(int, at))} is {result[at]}, not {goal[at]}"
    return largest, detail


def _whole(array: np.ndarray) -> np.ndarray:
    """Integers as int64; floating-point numbers as integers in their order, all NaN as one."""
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    bits = array.view(f"i{array.itemsize}").astype(np.int64)
    lowest = np.int64(-(2 ** (8 * array.itemsize - 1)))
    return np.where(np.isnan(array), 2**40, np.where(bits < 0, lowest - bits - 1, bits))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, usage="see the module")
    parser.add_argument("--examples", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("operations", nargs="*")
    options = parser.parse_args()
    for use in QUANTIZED_USES:
        if not options.operations or use.operation.type.name in options.operations:
            print(line(use, worst(use, options.examples, options.seed)), flush=True)


def line(use: Use, result: dict[str, Worst]) -> str:
    """The result of a use in a line."""
    first = next(iter(result.values()))
    differences = " ".join(f"{name} {item.difference}" for name, item in result.items())
    where = next((f"; {name}, {x.where}" for name, x in result.items() if x.where), "")
    return f"{use}: {first.computed} of {first.examples} computed, {differences}{where}"


if __name__ == "__main__":
    main()
