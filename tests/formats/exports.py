"""Conformance vectors exported to another format and computed there.

    python -m tests.formats.exports tflite [NAME ...] [--every N]

prints how many examples of each operation agree, are refused with a reason, or differ.
"""

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.graph.rule import Rule
from nnapi_shim.formats.onnx.exporting.table import RULES as ONNX
from nnapi_shim.formats.tflite.exporting.table import RULES as TFLITE
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from tests.conformance.vectors import Example, examples
from tests.formats import peers

STEPS = 1
"""Steps by which quantized results may differ."""


def rules(format: str) -> Mapping[str, Rule]:
    """What becomes of each operation in a format."""
    return TFLITE if format == "tflite" else ONNX


class Outcome(NamedTuple):
    """What became of an example: equal, refused, or differs; and why."""

    name: str
    what: str
    why: str


def model_of(example: Example, with_omitted: bool = False) -> Model:
    """The model of an example, built call by call.

    with_omitted: whether inputs that its request omits stay inputs; else they are omitted operands.
    """
    built: list[Model] = []
    order = _order(example)
    for number in order:
        before = dict(zip(order, built, strict=False))
        built.append(_graph(example, example.graphs[number], before, with_omitted))
    return built[-1]


def _order(example: Example) -> list[int]:
    """Graphs, those that others refer to first; the main one, 0, last."""
    actual: list[int] = []

    def visit(number: int) -> None:
        for operand in example.graphs[number]["operands"]:
            if operand["lifetime"] == "model":
                visit(operand["model"] + 1)
        if number not in actual:
            actual.append(number)

    visit(0)
    return actual


def _graph(
    example: Example, graph: dict[str, Any], built: dict[int, Model], with_omitted: bool
) -> Model:
    model = Model()
    is_main = graph is example.model["main"] and not with_omitted
    omitted = omitted_inputs(example) if is_main else set()
    for index, operand in enumerate(graph["operands"]):
        kind = T(operand["type"])
        model.add_operand(
            kind, operand["dims"], operand.get("scale", 0.0), operand.get("zero_point", 0)
        )
        if "channel" in operand:
            channel = operand["channel"]
            model.set_operand_symm_per_channel_quant_params(
                index, channel["dim"], channel["scales"]
            )
        if operand["lifetime"] in ("constant", "constant_memory"):
            data = np.frombuffer(example.bytes_at(operand["data"]), DTYPES[kind])
            model.set_operand_value(index, data.reshape(operand["dims"]).copy())
        elif operand["lifetime"] == "omitted" or index in omitted:
            model.set_operand_value(index, None)
        elif operand["lifetime"] == "model":
            model.set_operand_value_from_model(index, built[operand["model"] + 1])
    for code, inputs, outputs in graph["operations"]:
        model.add_operation(code, inputs, outputs)
    inputs = [index for index in graph["inputs"] if index not in omitted]
    model.identify_inputs_and_outputs(inputs, graph["outputs"])
    if example.entry["relaxed"] and graph is example.model["main"]:
        model.relax_computation_float32_to_float16()
    model.finish()
    return model


def suitable() -> list[Example]:
    """Examples that have a result, without those that only add 0 to inputs or outputs."""
    return [
        example
        for example in examples()
        if not example.entry["expect_failure"]
        and "all_inputs_as_internal" not in example.entry["tags"]
        and "all_outputs_as_internal" not in example.entry["tags"]
    ]


def omitted_inputs(example: Example) -> set[int]:
    """Inputs of the model that are left out: an export has none of them."""
    graph = example.model["main"]
    pairs = zip(graph["inputs"], example.entry["inputs"], strict=True)
    return {at for at, location in pairs if not location[1]}


def arrays(example: Example, what: str) -> list[Any]:
    """Inputs or expected outputs as arrays."""
    graph = example.model["main"]
    actual = []
    for index, location in zip(graph[what], example.entry[what], strict=True):
        operand = graph["operands"][index]
        if what == "inputs" and index in omitted_inputs(example):
            continue
        data = np.frombuffer(example.bytes_at(location), DTYPES[T(operand["type"])])
        actual.append(data.reshape(operand["dims"]).copy())
    return actual


def compared(example: Example, format: str) -> Outcome:
    """Export an example, compute it in the peer, and compare."""
    try:
        content = peers.exported(model_of(example), format)
    except NnapiError as error:
        return Outcome(example.name, "refused", error.message)
    try:
        results = peers.RUNS[format](content, arrays(example, "inputs"))
    except Exception as error:
        return Outcome(example.name, "differs", f"{type(error).__name__}: {str(error)[:300]}")
    return Outcome(example.name, *_difference(example, results))


def _difference(example: Example, results: Sequence[Any]) -> tuple[str, str]:
    graph = example.model["main"]
    half = example.entry["relaxed"] or any(
        o["type"] == T.TENSOR_FLOAT16 for g in example.graphs for o in g["operands"]
    )
    if OperationType.RANDOM_MULTINOMIAL in example.operations:
        return "equal", "not compared"
    for at, (index, expected) in enumerate(
        zip(graph["outputs"], arrays(example, "outputs"), strict=True)
    ):
        operand = graph["operands"][index]
        if operand.get("ignored"):
            continue
        result = np.asarray(results[at])
        if result.size != expected.size:
            return "differs", f"output {at} has shape {result.shape}, expected {expected.shape}"
        a, e = (v.astype(np.float64).ravel() for v in (result, expected))
        kind = T(operand["type"])
        if kind in (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16):
            loose = 5 * 2.0**-10 if half else 1e-4
            bound = loose + (loose if half else 1e-5) * np.abs(e)
        elif kind in (T.TENSOR_BOOL8, T.TENSOR_INT32):
            bound = np.zeros(1)
        else:
            bound = np.full(1, max(STEPS, example.entry["quant8_tolerance"]))
        with np.errstate(invalid="ignore"):
            wrong = ~((a == e) | (np.abs(a - e) <= bound) | (np.isnan(a) & np.isnan(e)))
        if wrong.any():
            where = int(np.flatnonzero(wrong)[0])
            return (
                "differs",
                f"output {at}[{where}] is {a[where]:g}, expected {e[where]:g}; "
                f"{wrong.sum()} of {wrong.size}",
            )
    return "equal", ""


def main() -> None:
    """The command line; a child process computes, so that a peer that crashes is told of."""
    parser = argparse.ArgumentParser()
    parser.add_argument("format", choices=sorted(peers.RUNS))
    parser.add_argument("names", nargs="*", help="operations; all by default")
    parser.add_argument("--every", type=int, default=1, help="take one in so many examples")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    reference = {OperationType[name] for name in arguments.names}
    chosen = [e for e in suitable() if not reference or reference & set(e.entry["ops"])][
        :: arguments.every
    ]
    if not chosen:
        parser.error("no vector has these operations, so nothing is compared")
    outcomes = in_children(chosen, arguments.format)
    report(chosen, outcomes, arguments.verbose)
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=0))
    sys.exit(any(outcome.what == "differs" for outcome in outcomes))


def in_children(chosen: Sequence[Example], format: str) -> list[Outcome]:
    """Outcomes of all; a child that dies gives its example one, and the next takes over."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(chosen):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            with os.fdopen(write, "w") as pipe:
                for example in chosen[len(outcomes) :]:
                    print(json.dumps(compared(example, format)), file=pipe, flush=True)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            outcomes += [Outcome(*json.loads(line)) for line in pipe]
        _, status = os.waitpid(child, 0)
        if status:
            outcomes.append(Outcome(chosen[len(outcomes)].name, "differs", f"status {status}"))
    return outcomes


def report(
    chosen: Sequence[Example],
    outcomes: Sequence[Outcome],
    verbose: bool,
    tell: Callable[[str], None] = print,
) -> None:
    """Counts by operation, and reasons."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example, outcome in zip(chosen, outcomes, strict=True):
        for code in example.entry["ops"] or [example.model["main"]["operations"][0][0]]:
            counts[OperationType(code).name][outcome.what] += 1
    for name, count in counts.items():
        tell(f"{name:32} " + " ".join(f"{what} {n}" for what, n in sorted(count.items())))
    messages: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.what == "differs" or (outcome.what == "refused" and verbose):
            key = outcome.why[:60]
            messages[key] += 1
            if messages[key] <= 3:
                tell(f"{outcome.what}: {outcome.name}: {outcome.why}")
    tell(f"{dict(Counter(outcome.what for outcome in outcomes))}")


if __name__ == "__main__":
    main()
