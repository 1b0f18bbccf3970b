"""One run of a model: inputs, outputs, and the classes of a classifier."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.model import Model
from nnapi_shim.tools.array_difference import Difference, Tolerance, difference
from nnapi_shim.tools.classes import Class, classes
from nnapi_shim.tools.classes import read_labels as read_labels
from nnapi_shim.tools.inputs import Picture, read_or_made_up, read_outputs, real
from nnapi_shim.tools.model_source import Source, model_of, name_of, partial_of
from nnapi_shim.tools.report import Report

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialCompilation


@dataclass(frozen=True)
class ArgumentInfo:
    """An input or output of the model. scale: 0.0 if it is not quantized."""

    name: str
    type: str
    dimensions: tuple[int, ...]
    scale: float
    zero_point: int


@dataclass(frozen=True)
class OutputValues(ArgumentInfo):
    """An output of a run, with its actual dimensions.

    minimum, maximum, mean: of its real values; None if it has no elements. values: in the model's
    type. top: the classes with the highest scores, if the output is a row of scores.
    """

    minimum: float | None
    maximum: float | None
    mean: float | None
    top: tuple[Class, ...]
    values: Array

    @property
    def real(self) -> Array:
        """The values as real (dequantized) numbers."""
        return (self.values - float(self.zero_point)) * self.scale if self.scale else self.values


@dataclass(frozen=True)
class Expected:
    """The comparison of an output (a) with the expected values (b)."""

    name: str
    difference: Difference


@dataclass(frozen=True)
class RunResult(Report):
    """A run. devices: those of its steps, in order. made_up: whether the inputs are random.

    compile_seconds, run_seconds: of the compilation and of the first run. expected: a comparison
    for each output, if there were expected values.
    """

    model: str
    devices: tuple[str, ...]
    inputs: tuple[ArgumentInfo, ...]
    made_up: bool
    outputs: tuple[OutputValues, ...]
    compile_seconds: float
    run_seconds: float
    expected: tuple[Expected, ...] = ()

    @property
    def is_as_expected(self) -> bool:
        """Whether all outputs are equal to the expected ones within the tolerance."""
        return not any(item.difference.is_beyond for item in self.expected)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the outputs by name to a .npz file; raises BAD_DATA if it cannot be written."""
        from nnapi_shim.formats import output_file

        content = io.BytesIO()
        # Output names may equal argument names of savez.
        np.savez(content, **{output.name: output.values for output in self.outputs})  # type: ignore[arg-type]
        output_file.write(path, content.getvalue(), overwrite)


def run(
    source: Source,
    inputs: Sequence[str | os.PathLike[str]] = (),
    *,
    device: Choice | None = None,
    labels: Sequence[str] | None = None,
    top: int | None = None,
    picture: Picture | None = None,
    seed: int = 0,
    partial: bool = False,
    expect: str | os.PathLike[str] | None = None,
    tolerance: Tolerance | None = None,
) -> RunResult:
    """Compile a model and run it once.

    inputs: files, as in read_inputs; without files, random numbers from `seed`. device: one or
    several; None: all. labels: names of all classes, for outputs of as many scores. top: the number
    of best classes to report for each output that is a row of scores; by default MOST_CLASSES if
    there are labels, or for the only output of a model, if it has one or two dimensions and more
    than FEW_SCORES scores. partial: whether LiteRT or ONNX Runtime runs the parts of a .tflite or
    .onnx file that NNAPI cannot express; it is then listed among the devices. expect: a file with
    the expected outputs, as in read_inputs, which are compared with `tolerance`.

    Raises NnapiError, and OSError for files that cannot be read.
    """
    model = partial_of(source) if partial else model_of(source)
    began = perf_counter()
    compilation: Compilation | PartialCompilation
    if isinstance(model, Model):
        compilation = Compilation(model, device)
        devices = tuple(item.name for item in compilation.runtime.devices)
    else:
        compilation = model.compile(device)
        devices = compilation.devices
    compiled = perf_counter()
    arrays = read_or_made_up(compilation, inputs, picture, seed)
    ready = perf_counter()
    computed = compilation.run(*arrays)
    ended = perf_counter()
    outputs = computed if isinstance(computed, tuple) else (computed,)
    results = list(zip(compilation.outputs, compilation.output_names, outputs, strict=True))
    expected: tuple[Expected, ...] = ()
    if expect is not None:
        contents = read_outputs(compilation, expect)
        expected = tuple(
            Expected(name, _difference(array, content, argument, tolerance or Tolerance()))
            for (argument, name, array), content in zip(results, contents, strict=True)
        )
    return RunResult(
        name_of(source),
        devices,
        tuple(
            ArgumentInfo(*_facts(argument, name, array))
            for argument, name, array in zip(
                compilation.inputs, compilation.input_names, arrays, strict=True
            )
        ),
        not inputs,
        tuple(
            _values(argument, name, array, best)
            for (argument, name, array), best in zip(
                results, classes(compilation.outputs, outputs, top, labels), strict=True
            )
        ),
        compiled - began,
        ended - ready,
        expected,
    )


def _facts(
    argument: Argument, name: str, array: Array
) -> tuple[str, str, tuple[int, ...], float, int]:
    return name, argument.type.name, array.shape, argument.scale, argument.zero_point


def _values(argument: Argument, name: str, array: Array, top: tuple[Class, ...]) -> OutputValues:
    values = real(array, argument).astype(np.float64)
    some = values if values.size else None
    return OutputValues(
        *_facts(argument, name, array),
        None if some is None else float(some.min()),
        None if some is None else float(some.max()),
        None if some is None else float(some.mean()),
        top,
        array,
    )


def _difference(
    array: Array, expected: Array, argument: Argument, tolerance: Tolerance
) -> Difference:
    same_type = expected.astype(array.dtype) if expected.dtype != array.dtype else expected
    return difference(
        array, same_type, argument.type, argument.scale, tolerance, argument.zero_point
    )
