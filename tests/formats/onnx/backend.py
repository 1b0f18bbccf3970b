"""The test cases of the ONNX package, computed by imported models.

A case whose input is a parameter that NNAPI needs at import, such as the shape of Reshape, is tried
again with such inputs as constants.
"""

import contextlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

import nnapi_shim
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.onnx.model import loaded
from tests.formats.onnx.partially import outcome_partially

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"

LEAST = {np.dtype(np.float16): 2e-3}
"""Absolute differences that float16 results may have; float32 ones have ATOL."""
ATOL = 1e-6
STEPS = 1
"""Steps by which quantized results may differ: NNAPI rounds halves otherwise."""


class Case(NamedTuple):
    """A model with inputs and the expected outputs. tolerance: relative, absolute."""

    name: str
    model: Any
    sets: list[tuple[list[Any], list[Any]]]
    tolerance: tuple[float, float]


class Outcome(NamedTuple):
    """What became of a case: equal, constant (equal with constant parameters), refused or wrong.

    partial: what became of a refused one in parts (`outcome_partially`), and why.
    """

    name: str
    operators: str
    kind: str
    why: str = ""
    partial: str = ""
    why_partial: str = ""


def node_cases(*operators: str) -> Iterator[Case]:
    """The cases that the package computes: of all operators, or those of their modules."""
    from onnx.backend.test.case import node as package

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in operators:
            with contextlib.suppress(ImportError):
                import_module(f"{package.__name__}.{name.lower()}")
        actual = list(package._NodeTestCases) if operators else package.collect_testcases()
    for case in actual:
        kinds = {node.op_type for node in case.model.graph.node}
        if operators and kinds.isdisjoint(operators):
            continue
        sets = [(list(a), list(b)) for a, b in case.data_sets or []]
        yield Case(case.name, case.model, sets, (case.rtol, case.atol))


def file_cases(*folders: str) -> Iterator[Case]:
    """The cases in folders of the package."""
    for folder in folders:
        for path in sorted((DATA / folder).iterdir()):
            model = onnx.load(path / "model.onnx")
            sets = []
            for data in sorted(path.glob("test_data_set_*")):
                pair = [
                    [
                        _array(data / f"{kind}_{at}.pb", value.type)
                        for at, value in enumerate(values)
                    ]
                    for kind, values in (("input", _inputs(model)), ("output", model.graph.output))
                ]
                sets.append((pair[0], pair[1]))
            yield Case(path.name, model, sets, (1e-3, 1e-7))


def light_cases() -> Iterator[Case]:
    """The whole models of the package, with constant weights."""
    for path in sorted((DATA / "light").glob("*.onnx")):
        model = onnx.load(path)
        expected = _array(path.with_name(f"{path.stem}_output_0.pb"), None)
        inputs = []
        for value in _inputs(model):
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            inputs.append((np.arange(size, dtype=np.float32) / size).reshape(shape))
        yield Case(path.stem, model, [(inputs, [expected])], (2e-3, 1e-7))


def _inputs(model: Any) -> list[Any]:
    constants = {item.name for item in model.graph.initializer}
    return [item for item in model.graph.input if item.name not in constants]


def _as_array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic | int | float) else value


def _array(path: Path, type: Any) -> Any:
    tensor = onnx.TensorProto()
    if type is not None and not type.HasField("tensor_type"):
        return None
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def outcome(case: Case, device: str) -> Outcome:
    """Import, run and compare."""
    names = [node.op_type for node in case.model.graph.node]
    own = " ".join(dict.fromkeys(names)) if len(names) < 4 else f"{len(names)} operators"
    refused = ""
    if not case.sets:
        return Outcome(case.name, own, "refused", "the package has no data for it")
    for kind, constants in (("equal", False), ("constant", True)):
        try:
            for inputs, expected in case.sets:
                model, left = _prepared(case.model, inputs, constants)
                results = _run(model, left, device)
                problem = _difference(case, results, expected)
                if problem:
                    return Outcome(case.name, own, "wrong", problem)
            return Outcome(case.name, own, kind)
        except NnapiError as error:
            refused = refused or str(error)
            if "constant" not in str(error) and "sizes" not in str(error):
                break
    return Outcome(case.name, own, "refused", refused, *_partially(case, device))


def _partially(case: Case, device: str) -> tuple[str, str]:
    """The first inputs of a case, in parts."""
    inputs, expected = case.sets[0]
    data, named = _prepared(case.model, inputs, False)
    relative, absolute = case.tolerance
    kinds = {value.type.tensor_type.elem_type for value in case.model.graph.output}
    if onnx.TensorProto.FLOAT16 in kinds:
        absolute = max(absolute, LEAST[np.dtype(np.float16)])
    documented = [_as_array(value) for value in expected]
    return outcome_partially(data, named, device, max(absolute, ATOL), relative, documented)


def _prepared(model: Any, inputs: list[Any], constants: bool) -> tuple[bytes, dict[str, Any]]:
    """The file, and the inputs that are left."""
    named = dict(zip((item.name for item in _inputs(model)), inputs, strict=False))
    named = {name: _as_array(value) for name, value in named.items()}
    if not constants:
        return model.SerializeToString(), named
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    is_loop = [node.op_type for node in model.graph.node] == ["Loop"]
    for name, value in list(named.items())[:2] if is_loop else list(named.items())[1:]:
        if isinstance(value, np.ndarray):
            changed.graph.initializer.append(numpy_helper.from_array(value, name))
            del named[name]
    return changed.SerializeToString(), named


def _run(data: bytes, inputs: dict[str, Any], device: str) -> list[Any]:
    if any(not isinstance(value, np.ndarray) for value in inputs.values()):
        raise bad_data("its inputs are no tensors of numpy", "import.onnx.type")
    shapes = {name: value.shape for name, value in inputs.items() if 0 not in value.shape}
    model = loaded(data, None, shapes)
    compilation = nnapi_shim.Compilation(model, devices=[device])
    results = compilation.run(*(np.atleast_1d(value) for value in inputs.values()))
    return list(results) if isinstance(results, tuple) else [results]


def _difference(case: Case, results: list[Any], expected: list[Any]) -> str:
    if len(results) != len(expected):
        return f"{len(results)} outputs, expected {len(expected)}"
    quantized = any("Linear" in node.op_type for node in case.model.graph.node)
    for at, (result, value) in enumerate(zip(results, expected, strict=True)):
        value = np.asarray(_as_array(value))
        if result.shape != (value.shape or (1,)):
            return f"output {at} has shape {result.shape}, expected {value.shape}"
        a, e = (v.astype(np.float64).reshape(-1) for v in (result, value))
        bound = np.zeros(e.shape)
        if value.dtype.kind == "f":
            relative, absolute = case.tolerance
            bound = max(absolute, LEAST.get(value.dtype, ATOL)) + relative * np.abs(e)
        elif quantized and value.dtype.itemsize == 1:
            bound += STEPS
        with np.errstate(invalid="ignore"):
            wrong = ~((a == e) | (np.abs(a - e) <= bound) | (np.isnan(a) & np.isnan(e)))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            return (
                f"output {at}[{first}] is {a[first]:g}, expected {e[first]:g}; "
                f"{int(wrong.sum())} of {wrong.size}"
            )
    return ""


def outcomes(cases: Iterable[Case], device: str) -> Iterator[Outcome]:
    """Outcomes of all, in a child process; if it dies, its case is wrong, and a new one goes on."""
    chosen = list(cases)
    done = 0
    while done < len(chosen):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            with contextlib.suppress(BrokenPipeError), os.fdopen(write, "w") as pipe:
                for case in chosen[done:]:
                    try:
                        actual = outcome(case, device)
                    except Exception as error:
                        actual = Outcome(case.name, "", "wrong", f"{type(error).__name__}: {error}")
                    print(json.dumps(actual), file=pipe, flush=True)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            for line in pipe:
                done += 1
                yield Outcome(*json.loads(line))
        _, status = os.waitpid(child, 0)
        if status:
            yield Outcome(chosen[done].name, "", "wrong", f"status {status}")
            done += 1
