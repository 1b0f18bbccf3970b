"""The models of the suite, as files for all runtimes: trained ones that lie beside the repository,
and those of tests/bench/models. Files that are made go to build/bench-models, once.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi_shim
from nnapi_shim import Model, NnapiError
from tests.bench import models
from tests.bench.models.network import SEED, random_inputs
from tests.bench.suite import unsigned

ROOT = Path(__file__).resolve().parents[3]
TRAINED = ROOT.parent / "shared" / "models"
MADE = ROOT / "build" / "bench-models"


class Contestant(NamedTuple):
    """A model. kind: float32 or int8. file: what runtimes read, by suffix; a text in place of a
    path tells why there is none. inputs: of a run. all_inputs: with the first states between them,
    for a runtime that carries none.
    """

    name: str
    kind: str
    is_trained: bool
    files: dict[str, Path | str]
    inputs: list[Any]
    all_inputs: list[Any]


def names() -> list[str]:
    """Of all models that are there."""
    trained = sorted(path.stem for path in TRAINED.glob("*.tflite"))
    made = [f"{name}_{kind}" for name in models.NAMES for kind in _kinds(name)]
    return [*trained, *made]


def _kinds(name: str) -> tuple[str, ...]:
    return ("float32",) if name in models.FLOAT_ONLY else ("float32", "int8")


def contestants(chosen: list[str], tell: Callable[[str], None]) -> Iterator[Contestant]:
    """The models with these names, one after the other."""
    MADE.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        yield _trained(name) if (TRAINED / f"{name}.tflite").exists() else _made(name, tell)


def _trained(name: str) -> Contestant:
    path = TRAINED / f"{name}.tflite"
    with np.load(TRAINED / f"{name}.npz") as cases:
        count = sum(key.startswith("in0_") for key in cases.files)
        inputs = [cases[f"in0_{location}"] for location in range(count)]
    model = nnapi_shim.load(path)
    types = {operand.type.name for operand in model.graph.operands}
    kind = "int8" if any("QUANT8" in type for type in types) else "float32"
    files = {".tflite": path, ".onnx": _exported(model, MADE / f"{name}.onnx")}
    return Contestant(name, kind, True, files, inputs, _with_states(model, inputs))


def _made(name: str, tell: Callable[[str], None]) -> Contestant:
    base, _, kind = name.rpartition("_")
    stamp = MADE / f"{name}.stamp"
    files = {suffix: MADE / f"{name}{suffix}" for suffix in (".tflite", ".onnx")}
    if not stamp.exists() or stamp.read_text() != _sources():
        tell(f"making {name}")
        result, model = models.network(base)
        if kind == "int8":
            _, model = models.quantized(base, result, model)
        model.save(files[".tflite"], overwrite=True)
        unsigned.save(model, files[".onnx"])
        stamp.write_text(_sources())
    model = nnapi_shim.load(files[".tflite"])
    every = random_inputs(model, np.random.default_rng(SEED))
    carried = {state.input for state in model.carried}
    inputs = [array for location, array in enumerate(every) if location not in carried]
    return Contestant(name, kind, False, dict(files), inputs, _with_states(model, inputs))


def _with_states(model: Model, inputs: list[Any]) -> list[Any]:
    states = {state.input: state.initial for state in model.carried}
    rest = iter(inputs)
    count = len(inputs) + len(states)
    return [states[location] if location in states else next(rest) for location in range(count)]


def _exported(model: Model, path: Path) -> Path | str:
    """The file of a model, or why there is none."""
    try:
        unsigned.save(model, path)
    except NnapiError as error:
        return error.message.splitlines()[0][:200]
    return path


def _sources() -> str:
    """Of what the files are made."""
    folders = (ROOT / "tests" / "bench", ROOT / "nnapi_shim" / "formats")
    digest = hashlib.blake2b()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
