"""Predictor: a callable, picklable model for batches of samples."""

from __future__ import annotations

import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.tools.model_source import path_of

Array = NDArray[Any]

_MOST_COMPILED = 8
"""Number of compiled models that a process keeps for its predictors."""

_compiled: OrderedDict[str, Compilation] = OrderedDict()
_compiling = threading.Lock()


class Predictor:
    """A callable model for batches: `nnapi_shim.Predictor("model.tflite")(batch)`.

    Ray Data's `map_batches` and Dask's `map_partitions` accept it as a class or an object. A
    pickled predictor contains the model and compiles it once in each process.

    model: a finished Model, or the path of a file for `nnapi_shim.load`, which is read here.
    device: one or several devices, as in `Compilation`.
    columns: input of the model -> column of the batches, if their names differ.
    cache: as in `Compilation`; a folder on each machine.

    A batch is a mapping of arrays or a pandas DataFrame with an entry per sample in its columns,
    or, for a model with one input, an array or a list of samples. The result has the same kind:
    other columns are kept, outputs are added by their names; for arrays and lists it is an array or
    a list of results for one output, else a dict or a list of dicts. The batch may differ from the
    model's batch size, the first dimension of its inputs: it is split or padded.

    Raises NnapiError: BAD_DATA for invalid batches, and the errors of loading and compiling.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        device: Choice | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        cache: tuple[str | os.PathLike[str], bytes] | None = None,
    ) -> None:
        if not isinstance(model, Model):
            from nnapi_shim.formats.load import load

            model = load(path_of(model))
        self._model = model
        self._device = device
        self._columns = dict(columns or {})
        self._cache = cache
        self._key = uuid.uuid4().hex
        """Key of the compiled model that all copies in a process share."""

    def __repr__(self) -> str:
        return f"<predictor of {self._model!r}>"

    @property
    def compilation(self) -> Compilation:
        """The compiled model of this process, created at first use."""
        with _compiling:
            compilation = _compiled.pop(self._key, None)
            if compilation is None:
                compilation = Compilation(self._model, self._device, cache=self._cache)
            _compiled[self._key] = compilation
            while len(_compiled) > _MOST_COMPILED:
                _compiled.popitem(last=False)
        return compilation

    def __call__(self, batch: Any) -> Any:
        """The outputs for the samples of a batch."""
        compilation = self.compilation
        if isinstance(batch, Mapping):
            return self._of_columns(compilation, batch, batch.keys())
        if hasattr(batch, "columns") and hasattr(batch, "assign"):  # a DataFrame
            outputs = self._of_columns(compilation, batch, list(batch.columns), list)
            kept = batch.drop(columns=[name for name in batch.columns if name not in outputs])
            return kept.assign(**{name: outputs[name] for name in compilation.output_names})
        if len(compilation.input_names) != 1:
            names = ", ".join(compilation.input_names)
            message = (
                f"the model has the inputs {names}; a batch is a mapping or a DataFrame of them"
            )
            raise bad_data(message, "predictor.columns")
        if isinstance(batch, np.ndarray):
            results = _computed(compilation, [batch])
            return results[0] if len(results) == 1 else _by_name(compilation, results)
        if not isinstance(batch, Iterable):
            kinds = "a mapping, a DataFrame, an array or a list of samples"
            raise bad_data(
                f"a batch is {type(batch).__name__}; allowed is {kinds}", "predictor.batch-type"
            )
        samples = list(batch)  # may be an iterator, as in Dask's bags
        if not samples:
            return []
        results = _computed(compilation, [samples])
        if len(results) == 1:
            return list(results[0])
        return [_by_name(compilation, sample) for sample in zip(*results, strict=True)]

    def _of_columns(
        self, compilation: Compilation, batch: Any, names: Iterable[Any], kind: Any = None
    ) -> dict[Any, Any]:
        """The columns that are not inputs, and the outputs."""
        taken = self._taken(compilation, list(names))
        results = _computed(compilation, [batch[column] for column in taken])
        made = results if kind is None else map(kind, results)
        stay = {name: batch[name] for name in names if name not in taken}
        return stay | dict(zip(compilation.output_names, made, strict=True))

    def _taken(self, compilation: Compilation, names: Sequence[Any]) -> list[Any]:
        """The column of each input."""
        inputs = compilation.input_names
        for name in self._columns:
            if name not in inputs:
                message = f"there is no input {name!r}; there are {', '.join(inputs)}"
                raise bad_data(message, "predictor.input-name")
        if len(inputs) == 1 and not self._columns and inputs[0] not in names and len(names) == 1:
            return list(names)
        columns = [self._columns.get(name, name) for name in inputs]
        missing = [name for name in columns if name not in names]
        if missing:
            raise bad_data(
                f"the batch has no column {missing[0]!r}; it has {', '.join(map(str, names))}, and "
                "`columns` says which is which input",
                "predictor.column-missing",
            )
        return columns


def _by_name(compilation: Compilation, values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(compilation.output_names, values, strict=True))


def _computed(compilation: Compilation, columns: Sequence[Any]) -> list[Array]:
    """The outputs, one entry per sample."""
    arrays = []
    for name, argument, column in zip(
        compilation.input_names, compilation.inputs, columns, strict=True
    ):
        arrays.append(_samples(name, column, argument.dimensions))
    counts = {len(array) for array in arrays}
    if len(counts) > 1:
        raise bad_data(
            f"the inputs have {sorted(counts)} samples; all need as many", "predictor.sample-counts"
        )
    (count,) = counts
    size = _batch_size(compilation) or count
    runs: list[list[Array]] = []
    for start in range(0, count, size) if count else ():
        parts = [array[start : start + size] for array in arrays]
        runs.append(_run(compilation, parts, size))
    if not runs:
        return [np.empty((0, *output.dimensions[1:])) for output in compilation.outputs]
    if len(runs) == 1:
        return runs[0]
    return [np.concatenate(pieces)[:count] for pieces in zip(*runs, strict=True)]


def _batch_size(compilation: Compilation) -> int:
    """Samples in a run; 0 for any number."""
    sizes = {argument.dimensions[0] for argument in compilation.inputs if argument.dimensions}
    if len(sizes) > 1:
        raise bad_data(
            f"the inputs of the model differ in their first dimension, {sorted(sizes)}; batches "
            "need it to be the number of samples",
            "predictor.batch-size",
        )
    return sizes.pop() if sizes else 1


def _run(compilation: Compilation, parts: Sequence[Array], size: int) -> list[Array]:
    """One run; pads samples to the model's batch size and removes the padding from outputs."""
    count = len(parts[0])
    if count < size:
        parts = [np.concatenate([part, np.repeat(part[-1:], size - count, 0)]) for part in parts]
    compilation.reset()  # samples are independent
    results = compilation.run(*parts)
    results = results if isinstance(results, tuple) else (results,)
    outputs = []
    for name, result in zip(compilation.output_names, results, strict=True):
        if result.ndim and result.shape[0] == size:
            outputs.append(result[:count])
        elif size == 1:
            outputs.append(result[np.newaxis])
        else:
            raise bad_data(
                f"output {name} has dimensions {list(result.shape)} for {size} samples; the first "
                "has to be their number",
                "predictor.output-dimensions",
            )
    return outputs


def _samples(name: str, column: Any, dimensions: Dimensions) -> Array:
    """A column as one array of samples; `dimensions` are those of the model's input."""
    try:
        array = np.asarray(column if isinstance(column, np.ndarray) else list(column))
        if array.dtype == object:  # an array of arrays
            array = np.stack([np.asarray(sample) for sample in array])
    except (TypeError, ValueError) as error:
        raise bad_data(
            f"input {name}: the samples make no array: {error}", "predictor.samples"
        ) from None
    rest = dimensions[1:]
    if array.ndim == len(rest) + 2 and array.shape[1] == 1:
        array = array[:, 0]  # samples with the model's own batch dimension of 1
    fits = array.ndim == len(rest) + 1 and all(
        declared in (0, size) for declared, size in zip(rest, array.shape[1:], strict=True)
    )
    if array.size and not fits:
        raise bad_data(
            f"input {name}: samples have dimensions {list(array.shape[1:])}; the model takes "
            f"{list(rest)}",
            "predictor.sample-dimensions",
        )
    return array
