"""Inputs of a model: arrays from files, pictures, or random numbers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.tools.input_files import KINDS, PICTURE, opened, shown
from nnapi_shim.tools.input_files import quantized as quantized
from nnapi_shim.tools.input_pictures import Picture as Picture
from nnapi_shim.tools.input_pictures import read_picture

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialCompilation


def read_inputs(
    compilation: "Compilation | PartialCompilation",
    files: Sequence[str | os.PathLike[str]],
    how: Picture | None = None,
) -> list[Array]:
    """One array for each input of a compilation.

    files: in the order of the inputs, or each as `name=file`: .npy, .json (nested lists), .csv,
    .bin (raw bytes); .npz or .json with arrays by the names of the inputs or in their order; `-` is
    stdin with the content of any of these; any other file is a picture.

    Float arrays for a quantized input are quantized with its scale and zero point; integers are its
    stored values. Raises BAD_DATA for arrays that do not match an input, OSError for files that
    cannot be read.
    """
    names, arguments = compilation.input_names, compilation.inputs
    arrays: dict[int, Array] = {}
    free = range(len(arguments))
    for item in files:
        text = os.fspath(item)
        name, separator, path = text.partition("=")
        if separator and name in names:
            positions = [names.index(name)]
        elif separator and not Path(text).exists():
            raise bad_data(
                f"there is no input {name!r}; there are {', '.join(names)}", "tool.inputs.name"
            )
        else:
            path, positions = text, []
        file = opened(path)
        content = file.arrays()
        if isinstance(content, dict):
            for position, array in _by_position(file.path, content, names).items():
                arrays[position] = file.input(array, arguments[position])
            continue
        if not positions:
            positions = [position for position in free if position not in arrays][:1]
            if not positions:
                raise bad_data(
                    f"{path} is one input too many; the model has {len(arguments)}",
                    "tool.inputs.too-many",
                )
        (position,) = positions
        if position in arrays:
            raise bad_data(f"input {names[position]!r} is given twice", "tool.inputs.twice")
        if file.kind == PICTURE:
            arrays[position] = read_picture(
                file.path, file.content, arguments[position], how or Picture()
            )
        else:
            arrays[position] = file.input(content, arguments[position])
    missing = [names[position] for position in range(len(arguments)) if position not in arrays]
    if missing:
        raise bad_data(f"nothing is given for {', '.join(missing)}", "tool.inputs.missing")
    return [arrays[position] for position in range(len(arguments))]


def read_or_made_up(
    compilation: "Compilation | PartialCompilation",
    files: Sequence[str | os.PathLike[str]],
    how: Picture | None,
    seed: int,
) -> list[Array]:
    """One array for each input: from files, or random without any."""
    if files:
        return read_inputs(compilation, files, how)
    return made_up(compilation.inputs, seed)


def read_outputs(
    compilation: "Compilation | PartialCompilation", path: str | os.PathLike[str]
) -> list[Array]:
    """One array for each output of a compilation, from a file as in `read_inputs`; a picture is
    none. Dimensions are not checked.
    """
    names, arguments = compilation.output_names, compilation.outputs
    file = opened(os.fspath(path))
    content = file.arrays()
    if file.kind == PICTURE:
        raise bad_data(
            f"{file.path} has no arrays; names of such files end in {', '.join(KINDS)}",
            "tool.inputs.no-arrays",
        )
    if isinstance(content, dict):
        by_position = _by_position(file.path, content, names, "outputs")
    elif len(names) == 1:
        by_position = {0: file.input(content, arguments[0], exactly=False)}
    else:
        raise bad_data(
            f"{file.path} has one array; the outputs are {', '.join(names)}",
            "tool.inputs.output-count",
        )
    return [
        file.input(by_position[position], argument, exactly=False)
        for position, argument in enumerate(arguments)
    ]


def real(array: Array, argument: Argument) -> Array:
    """The real (dequantized) numbers of an array of an input or output."""
    if argument.type in QUANTIZED_RANGE and argument.scale:
        steps = array.astype(np.float64) - argument.zero_point
        result: Array = steps * argument.scale
        return result
    return array


def made_up(arguments: Sequence[Argument], seed: int = 0) -> list[Array]:
    """A random array for each input; the seed determines the values.

    Floats are from 0 to 1; quantized values cover the range; integers are 0 and 1, which are valid
    indexes in almost all models. Unknown dimensions become 1. Raises BAD_DATA for an unknown rank
    and for types of extensions.
    """
    return [
        _random(argument, np.random.default_rng((seed, position)), position)
        for position, argument in enumerate(arguments)
    ]


def _random(argument: Argument, rng: np.random.Generator, position: int) -> Array:
    kind = argument.type
    dtype = DTYPES.get(kind)
    if dtype is None or (kind not in SCALARS and not argument.dimensions):
        raise bad_data(
            f"nothing can be made up for input {argument.name or position}, "
            f"{getattr(kind, 'name', 'of an extension')}{shown(argument.dimensions)}; give one",
            "tool.inputs.no-random-values",
        )
    shape = tuple(size or 1 for size in argument.dimensions)
    if dtype.kind == "f":
        return np.asarray(rng.random(shape), dtype)
    if kind in QUANTIZED_RANGE:
        low, high = QUANTIZED_RANGE[kind]
        return np.asarray(rng.integers(low, high, shape, endpoint=True), dtype)
    return np.asarray(rng.integers(0, 1, shape, endpoint=True), dtype)


def _by_position(
    path: str, arrays: dict[str, Array], names: Sequence[str], what: str = "inputs"
) -> dict[int, Array]:
    """Arrays of a file by the positions of inputs or outputs."""
    if set(names) <= arrays.keys():
        return {position: arrays[name] for position, name in enumerate(names)}
    if len(arrays) == len(names) and not arrays.keys() & set(names):
        return dict(enumerate(arrays.values()))
    raise bad_data(
        f"{path} has {', '.join(arrays) or 'no arrays'}; the {what} are {', '.join(names)}",
        "tool.inputs.npz-names",
    )
