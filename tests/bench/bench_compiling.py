"""Time of the processor that nnapi-cpu takes to compile an operation: each kind and type, often.

    PYTHONPATH=. .venv/bin/python tests/bench/bench_compiling.py --count 10000 [ADD CONV_2D]

Prints microseconds per operation, the slowest first. Two models for each: operations that read the
same operands, and, where the result can be read by the next one, a chain of them.

    tests/bench/bench_compiling.py --table < OUTPUT

Prints the table of docs/performance.md from such output: of each operation, the slowest type.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, OperandLifeTime, OperationType, Priority
from nnapi_shim.hal.types import Model, Operand, Operation
from tests.operations.cases import USES, Use, example
from tests.single import build, run

LIMIT_US = 150
"""For an operation, on average."""
HOW = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
SEEDS = 20


def main() -> int:
    """Measure; 1 if any takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", help="names; default: all there are")
    parser.add_argument("--count", type=int, default=10_000, help="operations of a model")
    parser.add_argument("--table", action="store_true", help="make a table of output on stdin")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(sys.stdin)))
        return 0
    actual = []
    for use in _uses(options.operations):
        one = single(use)
        if one is None:
            print(f"{use}: no example runs", file=sys.stderr)
            continue
        times = [_seconds(many(one, options.count, chained)) for chained in (False, True)]
        actual.append((max(times) / options.count * 1e6, str(use)))
    for microseconds, name in sorted(actual, reverse=True):
        print(f"{microseconds:8.1f} us  {name}")
    slow = sum(microseconds > LIMIT_US for microseconds, _ in actual)
    print(f"{len(actual)} kinds and types, {slow} take longer than {LIMIT_US} us an operation")
    return int(slow > 0)


COLUMNS = 3
"""Operations in a row of the table."""


def table(lines: Iterable[str]) -> list[str]:
    """The table, in Markdown, of lines of output: operation, microseconds and type."""
    slowest: dict[str, tuple[float, str]] = {}
    for line in lines:
        match = re.fullmatch(r" *([0-9.]+) us  (\w+)-(\w+)-\d+in\n?", line)
        if match is not None:
            name, here = match[2], (float(match[1]), match[3])
            slowest[name] = max(here, slowest.get(name, here))
    ranked = sorted(slowest.items(), key=lambda pair: pair[1], reverse=True)
    cells = [f"{name} | {type} | {time:.0f}" for name, (time, type) in ranked]
    rows = -(-len(cells) // COLUMNS)
    cells += [" |  | "] * (rows * COLUMNS - len(cells))
    columns = [cells[at : at + rows] for at in range(0, len(cells), rows)]
    head = ["| operation | type | us " * COLUMNS + "|", "|---|---|---" * COLUMNS + "|"]
    return head + ["| " + " | ".join(row) + " |" for row in zip(*columns, strict=True)]


def _uses(names: Sequence[str]) -> Iterator[Use]:
    """For each operation and type that can run on its own, the use of most operands."""
    last: dict[tuple[OperationType, str], Use] = {}
    for use in USES:
        last[use.operation.type, use.variant] = use
    for (type, _), use in last.items():
        if not names or type.name in names:
            yield use


def single(use: Use) -> Model | None:
    """A model of one small operation, that the device runs."""
    for seed in range(SEEDS):
        try:
            sample = example(use, np.random.default_rng(seed), 1)
            built = build(use.operation.type, sample.inputs, sample.outputs)
            outputs = run(CpuDevice(), built)
        except (NnapiError, AssertionError):
            continue
        operands = list(built.model.main.operands)
        for index, output in zip(built.model.main.output_indexes, outputs, strict=True):
            operands[index] = operands[index]._replace(dimensions=output.shape)
        return built.model._replace(main=built.model.main._replace(operands=tuple(operands)))
    return None


def many(model: Model, count: int, chained: bool) -> Model:
    """So many of a model's operation, in one. chained: each reads what the one before gives, in
    the place of an input that is like it.
    """
    main = model.main
    (item,) = main.operations
    operands = list(main.operands)
    outputs = item.outputs
    like = _place_of_like(operands, item) if chained else None
    operations = [item]
    for number in range(1, count):
        inputs = item.inputs
        if like is not None:
            inputs = (*inputs[:like], outputs[0], *inputs[like + 1 :])
        first = len(operands)
        operands += [
            operands[index]._replace(lifetime=OperandLifeTime.SUBGRAPH_OUTPUT)
            for index in item.outputs
        ]
        for index in outputs:
            temporary = OperandLifeTime.TEMPORARY_VARIABLE
            operands[index] = operands[index]._replace(lifetime=temporary)
        outputs = tuple(range(first, len(operands)))
        operations.append(Operation(item.type, inputs, outputs, number))
    graph = main._replace(
        operands=tuple(operands), operations=tuple(operations), output_indexes=outputs
    )
    return model._replace(main=graph)


def _place_of_like(operands: Sequence[Operand], item: Operation) -> int | None:
    """Which input has the type, dimensions and parameters of the first output."""
    output = operands[item.outputs[0]]
    for location, index in enumerate(item.inputs):
        if operands[index][:4] == output[:4] and operands[index].dimensions:
            return location
    return None


def _seconds(model: Model) -> float:
    began = time.process_time()
    CpuDevice().prepareModel(model, *HOW)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
