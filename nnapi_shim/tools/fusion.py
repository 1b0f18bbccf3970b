"""Operations whose work the steps of another operation do."""

import re
from collections.abc import Collection, Sequence

from nnapi_shim.api.view import OperationView

_NUMBER = re.compile(r"operation (\d+)")
_WHOLE_PATTERNS = ("fuse_gelu", "fuse_layer_norm", "tabulate_bytes")
"""Passes that name only the last of the operations that they join."""


def fused_into(
    rewrites: Sequence[tuple[str, str]],
    operations: Sequence[OperationView],
    observed: Collection[int],
) -> dict[int, int]:
    """Number of an operation without steps -> the operation with steps that does its work.

    rewrites: names of passes, and texts that name the operations they join. observed: operations
    with steps.
    """
    by_number = {view.number: view for view in operations}
    writers = {operand.index: view for view in operations for operand in view.outputs}
    result: dict[int, int] = {}
    for name, text in rewrites:
        named = [int(number) for number in _NUMBER.findall(text)]
        targets = [number for number in named if number in observed]
        if not targets:
            continue
        joined = [number for number in named if number not in observed]
        if name in _WHOLE_PATTERNS:
            joined += _before(by_number[targets[0]], writers, observed)
        for number in joined:
            result.setdefault(number, targets[0])
    return result


def _before(
    target: OperationView, writers: dict[int, OperationView], observed: Collection[int]
) -> list[int]:
    """The operations without steps that only lead to `target`."""
    numbers: dict[int, None] = {}
    waiting = [target]
    while waiting:
        for operand in waiting.pop().inputs:
            writer = writers.get(operand.index)
            if writer and writer.number not in observed and writer.number not in numbers:
                numbers[writer.number] = None
                waiting.append(writer)
    return list(numbers)
