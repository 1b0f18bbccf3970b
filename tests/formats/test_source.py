"""C and Python source: compiled, run, it builds the same model."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, FuseCode, Model, NnapiError
from nnapi_shim.api.view import GraphView, OperandView

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "lib"


def convolution() -> Model:
    """Constants of all kinds: scalars, small and large tensors, scales of channels, omitted."""
    rng = np.random.default_rng(7)
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM_SIGNED", [1, 6, 6, 4], 0.1, 3, name="image")
        scales = [0.1, 1 / 3, 1e-7]
        filter = model.constant(
            rng.integers(-127, 128, (3, 3, 3, 4), np.int8), scales=scales, name="filter"
        )
        bias = model.constant(np.int32([-(2**31), 5, 2**31 - 1]), name="for")
        y = model.operation("CONV_2D", [x, filter, bias, 1, 1, 1, 0], scale=0.7, zero_point=-1)
        z = model.operation("DEQUANTIZE", [y], output="TENSOR_FLOAT32", name='a "name" */ of\\it')
        most = np.array([[[np.inf, -0.0, 1e-45]]], np.float32)
        low = model.operation("MINIMUM", [z, most])
        high = model.constant(rng.normal(size=(6, 6, 3)).astype(np.float32))
        total = model.operation("ADD", [low, high, FuseCode.RELU6])
        model.outputs(model.operation("SQUEEZE", [total, None]), y)
    return model


def step(kind: str) -> Model:
    """A model for IF and WHILE: one operation on [1] and a constant."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        model.outputs(model.operation(kind, [x, np.float32([3]), FuseCode.NONE]))
    return model


def branches() -> Model:
    """IF of two models, within a model that is relaxed."""
    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [1])
        model.outputs(model.operation("IF", [condition, step("ADD"), step("MUL"), x]))
        model.relax_computation_float32_to_float16()
    return model


def of_any_batch() -> Model:
    """An input of unknown size, which is 1 in the program."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [None, 2])
        y = model.operation("ADD", [x, np.float32([1, 2]), FuseCode.NONE])
        model.outputs(y)
    return model


def one_of_several() -> Model:
    """An operation with any number of outputs that has one here."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 2])
        (part,) = model.split(x, 1, 1)
        model.outputs(model.neg(part))
    return model


INPUTS = {
    convolution: [(np.arange(144) % 97 - 48).astype(np.int8).reshape(1, 6, 6, 4)],
    branches: [np.bool_([True]), np.float32([5])],
    of_any_batch: [np.float32([[1, 2]])],
    one_of_several: [np.float32([[1, 2]])],
}
MODELS = pytest.mark.parametrize("build", INPUTS, ids=lambda build: build.__name__)


def results(model: Model, inputs: list[Any]) -> list[Any]:
    """What the model gives."""
    result = Compilation(model, "nnapi-cpu").run(*inputs)
    return list(result) if isinstance(result, tuple) else [result]


def described(graph: GraphView) -> list[Any]:
    """All that a graph has, in a form that can be compared; the numbers of operands do not count.

    An input of an operation is an input of the graph, an output of another operation or a constant.
    """
    sources: dict[int, Any] = {o.index: ("input", at) for at, o in enumerate(graph.input_operands)}
    for at, item in enumerate(graph.operations):
        sources |= {o.index: (at, number) for number, o in enumerate(item.outputs)}

    def properties(o: OperandView) -> list[Any]:
        value = None if o.value is None else o.value.tobytes()
        inner = None if o.subgraph is None else described(o.subgraph)
        quant = (o.scale, o.zero_point, o.channel_quant)
        name = "" if o.is_scalar else o.name
        return [o.type, o.dimensions, quant, o.is_omitted, name, value, inner]

    operations = [
        [
            item.type,
            [(sources.get(o.index, "constant"), properties(o)) for o in item.inputs],
            [properties(o) for o in item.outputs],
        ]
        for item in graph.operations
    ]
    inputs = [properties(o) for o in graph.input_operands]
    return [inputs, operations, [sources[o.index] for o in graph.output_operands]]


ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)}


def compiled(model: Model, folder: Path) -> Path:
    """The C source of a model as a program."""
    model.save(folder / "model.c")
    compiler = os.environ.get("CC", "gcc")
    flags = f"-std=c99 -O1 -Wall -Wextra -Werror -DNNAPI_MAIN -I{ROOT}/include -L{LIBRARY}"
    program = folder / "model"
    subprocess.run(
        [compiler, *flags.split(), folder / "model.c", "-lneuralnetworks", "-o", program],
        check=True,
    )
    return program


@MODELS
def test_c(build: Any, tmp_path: Path) -> None:
    """Compiled without warnings, it computes the same as a program of its own."""
    model = build()
    program = compiled(model, tmp_path)
    files = []
    for at, value in enumerate(INPUTS[build]):
        files.append(tmp_path / f"{at}")
        files[-1].write_bytes(value.tobytes())
    done = subprocess.run([program, *files], check=True, capture_output=True, env=ENVIRONMENT)
    expected = results(model, INPUTS[build])
    assert done.stdout == b"".join(value.tobytes() for value in expected)


def test_c_program_says_what_its_files_must_be(tmp_path: Path) -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 3], name='x "1"')
        model.outputs(model.operation("NEG", [x]))
    program = compiled(model, tmp_path)
    file = tmp_path / "x.bin"

    def message(*words: Path) -> str:
        done = subprocess.run(
            [program, *words], check=False, capture_output=True, text=True, env=ENVIRONMENT
        )
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    usage = f"usage: {program} FILE...: a file with the bytes of each input, in this order:"
    assert message() == f'{usage}\n  x "1", TENSOR_FLOAT32[1, 3]: 12 bytes\n'
    assert message(file) == f"{file}: No such file or directory\n"
    assert message(tmp_path) == f"{tmp_path}: Is a directory\n"
    for length in (0, 11, 13, 70000):
        file.write_bytes(bytes(length))
        assert message(file) == (
            f'{file} has {length} bytes; the input x "1", TENSOR_FLOAT32[1, 3], has 12\n'
        )


def test_c_compiles_without_main_and_as_cpp(tmp_path: Path) -> None:
    """Without -DNNAPI_MAIN it is a part of another program."""
    convolution().save(tmp_path / "model.c")
    flags = f"-std=c99 -pedantic -Wall -Wextra -Werror -c -I{ROOT}/include"
    subprocess.run(
        ["gcc", *flags.split(), tmp_path / "model.c", "-o", tmp_path / "model.o"], check=True
    )


def module_of(path: Path) -> ModuleType:
    """A Python file, executed."""
    made = ModuleType(path.stem)
    made.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)
    return made


@MODELS
def test_python(build: Any, tmp_path: Path) -> None:
    """Executed, it builds the same model, and that is written the same again."""
    model = build()
    path = tmp_path / "model.py"
    model.save(path)
    second = module_of(path).create_model()
    assert described(second.graph) == described(model.graph)
    relaxed = [m.finished.relax_computation_float32_to_float16 for m in (second, model)]
    assert relaxed[0] is relaxed[1]
    for one, other in zip(*(results(m, INPUTS[build]) for m in (second, model)), strict=True):
        assert np.array_equal(one, other)
    other = tmp_path / "other"
    other.mkdir()
    second.save(other / "model.py")
    assert (other / "model.py").read_bytes() == path.read_bytes()


def test_large_constants_lie_beside(tmp_path: Path) -> None:
    """In a .npz file with the source's name, neither of which replaces another unasked."""
    convolution().save(tmp_path / "net.py")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.py", "net.py.npz"]
    (tmp_path / "net.py").unlink()
    with pytest.raises(NnapiError, match=r"net\.py\.npz is there already"):
        convolution().save(tmp_path / "net.py")
    assert not (tmp_path / "net.py").exists()


def test_carried_states(tmp_path: Path) -> None:
    """Python source says which states are carried, and with which first values."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        state = model.input("TENSOR_FLOAT32", [2])
        total = model.operation("ADD", [x, state, FuseCode.NONE])
        twice = model.operation("ADD", [total, total, FuseCode.NONE])
        model.outputs(twice, total)
        model.carry(state, total, np.float32([0.1, 7]))
    model.save(tmp_path / "model.py")
    second = module_of(tmp_path / "model.py").create_model()
    for made in (model, second):
        compilation = Compilation(made)
        first = compilation.run(np.float32([1, 1]))
        assert first.tolist() == np.float32([2.2, 16]).tolist()
        assert compilation.run(np.float32([1, 1]))[1] == 18


def test_typed_methods(tmp_path: Path) -> None:
    """Operations are calls of typed methods; those that none expresses are added as they are."""
    convolution().save(tmp_path / "model.py")
    text = (tmp_path / "model.py").read_text()
    assert 'padding="SAME"' in text and 'activation="RELU6"' in text
    assert "model.add_operation(" not in text
    branches().save(tmp_path / "branches.py")
    assert 'model.add_operation("IF"' in (tmp_path / "branches.py").read_text()


def test_python_as_a_program(tmp_path: Path) -> None:
    """It runs the model, on files or on random inputs."""
    of_any_batch().save(tmp_path / "model.py")
    np.save(tmp_path / "x.npy", np.float32([[1, 2], [3, 4]]))
    words = [sys.executable, tmp_path / "model.py", tmp_path / "x.npy"]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "output_0: TENSOR_FLOAT32[2, 2]\n[[2. 4.]\n [4. 6.]]\n"
    subprocess.run(words[:2], check=True, capture_output=True, cwd=ROOT)


def test_arrays_beside_are_not_overwritten(tmp_path: Path) -> None:
    """The constants have a name of their own beside other files of the same stem."""
    np.savez(tmp_path / "net.npz", a=np.zeros(1))
    convolution().save(tmp_path / "net.py")
    with np.load(tmp_path / "net.npz") as arrays:
        assert list(arrays) == ["a"]


def test_formatting(tmp_path: Path) -> None:
    """The sources name operands and have no line that goes on for ever."""
    ruff = shutil.which("ruff", path=Path(sys.executable).parent)
    convolution().save(tmp_path / "model.py")
    convolution().save(tmp_path / "model.c")
    text = (tmp_path / "model.c").read_text()
    assert re.search(r"/\* 0: image, filter, for -> operand \d+ \*/", text)
    assert "image = model.input(" in (tmp_path / "model.py").read_text()
    if ruff:
        subprocess.run([ruff, "check", "--isolated", tmp_path / "model.py"], check=True)
