"""Conformance vectors on the devices of engines.

    python -m tests.engines.vectors DEVICE ... [--operations NAME ...] [--every N]
        [--rows | --memory]

prints for each device how many examples are right, are declined with a reason, or are wrong. With
--memory it computes each a second time, with arguments in memory of the device, and the bits must
be the same. With --rows it takes each row of what the engine declines away, computes the examples
that it declined, and names the rows without which they all are right.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.drivers.engine_devices import of_engines
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, OperationType, Priority
from nnapi_shim.hal.enums import OperandType as T
from tests.conformance.vectors import Example, examples
from tests.engines.children import computed, end_of
from tests.formats.exports import model_of

WITHIN = {
    "float32": (1e-5, 5 * 2.0**-23),
    "float16": (5 * 2.0**-10, 5 * 2.0**-10),
    "steps": 1.0,
}
"""What a result may differ by, absolutely and relatively: as the reference runtime's own tests have
it, for all engines. float16: also float32 of relaxed models, and of models with float16 tensors.
"""
LOOP_NS = 100_000_000


class Outcome(NamedTuple):
    """What became of an example: right, declined or wrong; and why."""

    name: str
    what: str
    why: str
    operations: list[str]
    types: list[str]


@cache
def device(name: str) -> Any:
    """The device of an engine, guarded as in a program."""
    for entry in of_engines(name.partition("-")[0]):
        if entry.name == name:
            return entry.load()
    sys.exit(f"there is no device {name}; its engine is not installed, or has none of this name")


def outcome(example: Example, name: str, by_memory: bool = False) -> Outcome:
    """Compute an example on a device."""
    try:
        what, why = _outcome(example, device(name), by_memory)
    except AssertionError as error:
        what, why = "wrong", str(error)
    operations = sorted(OperationType(code).name for code in example.operations)
    kinds = {T(o["type"]).name for g in example.graphs for o in g["operands"]}
    return Outcome(example.name, what, why, operations, sorted(kinds))


def _outcome(example: Example, of: Any, by_memory: bool = False) -> tuple[str, str]:
    fails = example.entry["expect_failure"]
    try:
        model = model_of(example, with_omitted=True).finished
    except NnapiError as error:
        return (
            ("declined", f"the model is refused: {error.message}")
            if fails
            else ("wrong", str(error))
        )
    all_reasons = of.getReasons(model)
    assert [not reason for reason in all_reasons] == of.getSupportedOperations(model)
    reasons = [reason for reason in all_reasons if reason]
    if reasons:
        return "declined", reasons[0]
    request, buffers = _request(example)
    try:
        prepared = of.prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
        )
        result = prepared.execute(request, False, None, LOOP_NS)
    except NnapiError as error:
        return ("right", "") if fails else ("wrong", str(error))
    assert not fails, "it succeeds, and has to fail"
    assert result.status is ErrorStatus.NONE, result
    for at, buffer in enumerate(buffers):
        _compare(example, at, buffer, result.output_shapes[at].dimensions)
    if by_memory:
        _compute_by_memory(of, model.main, prepared, request, buffers)
    return "right", ""


def _compute_by_memory(
    of: Any, main: hal.Subgraph, prepared: Any, request: hal.Request, expected: Sequence[Any]
) -> None:
    """Compute with arguments in memory of the device, if it has any, twice, and compare bits."""
    allocate = getattr(of, "allocate", None)

    def moved(argument: hal.RequestArgument, index: int) -> hal.RequestArgument:
        operand = main.operands[index]._replace(dimensions=argument.dimensions)
        if (
            allocate is None
            or argument.has_no_value
            or not hal.is_known(operand.type, operand.dimensions)
        ):
            return argument
        buffer = allocate(operand)
        if buffer is None:
            return argument
        buffer.copyFrom(argument.address, hal.byte_size(operand))
        return argument._replace(address=0, length=hal.byte_size(operand), buffer=buffer)

    there = hal.Request(
        tuple(map(moved, request.inputs, main.input_indexes)),
        tuple(map(moved, request.outputs, main.output_indexes)),
    )
    execution = prepared.createReusableExecution(there, False, LOOP_NS)
    for _ in range(2):
        assert execution.compute(None).status is ErrorStatus.NONE
    for at, (argument, right) in enumerate(zip(there.outputs, expected, strict=True)):
        if argument.buffer is not None:
            actual = np.zeros(argument.length, np.uint8)
            argument.buffer.copyTo(actual.ctypes.data, argument.length)
            assert np.array_equal(actual, right[: argument.length]), f"output {at} by memory"


def _request(example: Example) -> tuple[hal.Request, list[Any]]:
    main, entry = example.model["main"], example.entry
    inputs = []
    for index, location in zip(main["inputs"], entry["inputs"], strict=True):
        data = np.frombuffer(example.bytes_at(location) + bytes(64), np.uint8).copy()
        _kept.append(data)
        dims = tuple(main["operands"][index]["dims"])
        inputs.append(hal.RequestArgument(data.ctypes.data, location[1], dims, not location[1]))
    outputs, buffers = [], []
    for index, location in zip(main["outputs"], entry["outputs"], strict=True):
        buffer = np.full(location[1] + 64, 0xA5, np.uint8)
        buffers.append(buffer)
        dims = tuple(main["operands"][index]["dims"])
        outputs.append(hal.RequestArgument(buffer.ctypes.data, max(location[1], 1), dims))
    return hal.Request(tuple(inputs), tuple(outputs)), buffers


_kept: list[Any] = []


def _compare(example: Example, at: int, buffer: Any, dimensions: Sequence[int]) -> None:
    main = example.model["main"]
    operand = main["operands"][main["outputs"][at]]
    location = example.entry["outputs"][at]
    size = location[1]
    assert (buffer[size:] == 0xA5).all(), f"output {at}: bytes behind the buffer were changed"
    if operand.get("ignored"):
        return
    assert list(dimensions) == operand["dims"], f"output {at} has dimensions {list(dimensions)}"
    kind = T(operand["type"])
    dtype = hal_dtype(kind)
    actual = buffer[:size].view(dtype)
    expected = np.frombuffer(example.bytes_at(location), dtype)
    absolute, relative = _within(example, kind)
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.isfinite(a) & np.isfinite(e) & (np.abs(a - e) <= absolute + relative * abs(e))
    wrong = ~((a == e) | near)
    where = int(np.flatnonzero(wrong)[0]) if wrong.any() else 0
    assert not wrong.any(), (
        f"output {at}: {wrong.sum()} of {wrong.size}; [{where}] is {actual[where]}, expected "
        f"{expected[where]}"
    )


def _within(example: Example, kind: T) -> tuple[float, float]:
    if kind in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM):
        return max(float(example.entry["quant8_tolerance"]), WITHIN["steps"]), 0.0
    halves = any(o["type"] == T.TENSOR_FLOAT16 for g in example.graphs for o in g["operands"])
    return within(kind, bool(example.entry["relaxed"] or halves))


def within(kind: T, is_relaxed: bool = False) -> tuple[float, float]:
    """What elements of a type may differ by, absolutely and relatively."""
    if kind is T.TENSOR_FLOAT16 or (kind is T.TENSOR_FLOAT32 and is_relaxed):
        return WITHIN["float16"]
    if kind is T.TENSOR_FLOAT32:
        return WITHIN["float32"]
    return (0.0 if kind in (T.TENSOR_INT32, T.INT32, T.TENSOR_BOOL8) else WITHIN["steps"]), 0.0


def hal_dtype(kind: T) -> Any:
    """The numpy type of an output as it is stored."""
    from nnapi_shim.hal.quantization import STRUCT_CODES

    return np.dtype(STRUCT_CODES[kind])


def main() -> None:
    """The command line; a child computes, so that an engine that crashes is told of."""
    parser = argparse.ArgumentParser()
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--operations", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1, help="take one in so many examples")
    parser.add_argument("--start", type=int, default=0, help="leave out so many examples")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", action="store_true", help="find rows that are not needed")
    parser.add_argument("--memory", action="store_true", help="arguments in memory of the device")
    arguments = parser.parse_args()
    codes = {OperationType[name] for name in arguments.operations}
    chosen = [e for e in examples() if not codes or codes & e.operations][
        arguments.start :: arguments.every
    ]
    wrong, everything = 0, {}
    for name in arguments.devices if arguments.rows else ():
        rows = unneeded(chosen, name)
        wrong += len(rows)
        print(*(f"{name}: {row}" for row in rows), sep="\n")
        print(f"{name}: {len(rows)} rows are not needed")
    for name in () if arguments.rows else arguments.devices:
        outcomes = in_children(chosen, name, arguments.memory)
        everything[name] = outcomes
        counts = Counter(item.what for item in outcomes)
        wrong += counts["wrong"]
        for item in outcomes:
            if item.what == "wrong":
                print(f"wrong: {item.name} {item.operations}: {item.why}")
        if arguments.verbose:
            reasons = Counter(item.why[:120] for item in outcomes if item.what == "declined")
            for why, count in reasons.most_common():
                print(f"declined {count}: {why}")
        print(f"{name}: " + ", ".join(f"{counts[w]} {w}" for w in ("right", "declined", "wrong")))
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=0))
    sys.exit(bool(wrong))


def unneeded(chosen: Sequence[Example], name: str) -> list[str]:
    """The rows of a device that the installed version does not need: without them the examples
    that they decline are right.
    """
    engine = name.partition("-")[0]
    device(name)  # imports it
    module = sys.modules[f"nnapi_shim.drivers.engines.{engine}"]
    rows = module.DECLINED
    found = []
    for row in [each for each in rows if each.in_vectors and name.startswith(each.devices)]:
        operations = {OperationType[kind] for kind in row.operations}
        concerned = [
            example
            for example in chosen
            if operations & example.operations and row.why in _outcome(example, device(name))[1]
        ]
        module.DECLINED = tuple(other for other in rows if other is not row)
        outcomes = in_children(concerned, name)
        module.DECLINED = rows
        if not any(item.what == "wrong" for item in outcomes):
            found.append(
                f"{', '.join(row.operations)} {row.when}: {row.why} (seen in {row.seen}) "
                f"is not needed for {len(concerned)} examples"
            )
    return found


def in_children(chosen: Sequence[Example], name: str, by_memory: bool = False) -> list[Outcome]:
    """Outcomes of all; an example with which the engine crashes or hangs gets one, too."""

    def compute(example: Example) -> Outcome:
        _kept.clear()
        return outcome(example, name, by_memory)

    def died(example: Example, status: int) -> Outcome:
        return Outcome(example.name, "wrong", end_of(status), [], [])

    return [Outcome(*item) for item in computed(chosen, compute, died)]


if __name__ == "__main__":
    main()
