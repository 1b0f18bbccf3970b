"""PartialModel: models for the operators that NNAPI can express, another runtime for the others."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.base_model import ModelParts
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.importing.parts import Key, Part
from nnapi_shim.formats.importing.reason import Reason

Values = dict[Key, Any]
"""The computed values of a run."""


class Runnable(Protocol):
    """A part that is ready to run. devices: names of what runs it."""

    devices: tuple[str, ...]

    def run(self, values: Values) -> None:
        """Compute the outputs of the part from `values`."""

    def reset(self) -> None:
        """Reset all states."""


class Peer(Protocol):
    """The other runtime, and the file's description of values.

    name: of the runtime, as it is listed among the devices.
    """

    name: str

    def part(self, part: Part) -> Runnable:
        """A part that the runtime runs."""

    def converted(self, key: Key, value: Any) -> Any:
        """A value in the type that the file states; raises BAD_DATA."""

    def value_of(self, key: Key, values: Mapping[Key, Any]) -> Any:
        """The current value: computed, or its contents in the file; raises BAD_DATA."""

    def argument(self, key: Key, name: str) -> Argument:
        """The description of an input or output; raises BAD_DATA for types that NNAPI lacks."""


class PartialModel(ModelParts):
    """A graph of a file in parts that run in sequence.

        partial = nnapi_shim.load("model.tflite", partial=True)
        partial.compile("nnapi-cpu").run(image)

    inputs, outputs: names. parts: each with its operators and its Model, or the reasons why it has
        none.
    """

    def __init__(
        self,
        peer: Peer,
        inputs: Sequence[tuple[Key, str]],
        outputs: Sequence[tuple[Key, str]],
        parts: Sequence[Part],
    ) -> None:
        self._peer = peer
        self._inputs, self._outputs = tuple(inputs), tuple(outputs)
        self.inputs = tuple(name for _, name in inputs)
        self.outputs = tuple(name for _, name in outputs)
        self.parts = tuple(parts)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why NNAPI cannot express operators, in operator order."""
        return tuple(reason for part in self.parts for reason in part.reasons)

    def __repr__(self) -> str:
        summary = ", ".join(
            f"{len(part.operators)} operators on "
            f"{self._peer.name if part.model is None else 'NNAPI'}"
            for part in self.parts
        )
        return f"<PartialModel: {summary}>"

    def compile(self, devices: Choice | None = None, **options: Any) -> "PartialCompilation":
        """Compile all parts.

        devices, options: as of Compilation, for the parts that are models.
        Raises NnapiError as Compilation does, and BAD_DATA for what the other runtime refuses;
        ImportError without it if a part needs it.
        """
        steps: list[Runnable] = []
        for part in self.parts:
            if part.model is None:
                steps.append(self._peer.part(part))
            else:
                steps.append(_Model(self._peer, part, Compilation(part.model, devices, **options)))
        return PartialCompilation(self, self._peer, self._inputs, self._outputs, steps)


class PartialCompilation:
    """A compiled PartialModel. One run at a time.

    input_names, output_names: as those of a Compilation. devices: those of the parts, with the name
    of the other runtime.
    """

    def __init__(
        self,
        model: PartialModel,
        peer: Peer,
        inputs: Sequence[tuple[Key, str]],
        outputs: Sequence[tuple[Key, str]],
        steps: Sequence[Runnable],
    ) -> None:
        self.model = model
        self.input_names, self.output_names = model.inputs, model.outputs
        self.devices = tuple(dict.fromkeys(name for step in steps for name in step.devices))
        self._peer, self._inputs, self._outputs = peer, inputs, outputs
        self._steps = steps
        self._lock = threading.Lock()

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """As those of a Compilation; 64-bit integers are reported as TENSOR_INT32.

        Raises BAD_DATA for other types that NNAPI does not have. The other runtime can run them.
        """
        return tuple(self._peer.argument(key, name) for key, name in self._inputs)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """As `inputs`."""
        return tuple(self._peer.argument(key, name) for key, name in self._outputs)

    def run(self, *inputs: ArrayLike, **named: ArrayLike) -> Any:
        """Compute: returns an array, or a tuple of arrays for several outputs.

        inputs: one for each input, by position or by name.
        Raises NnapiError.
        """
        arguments = list(inputs)
        for name in self.model.inputs[len(arguments) :]:
            if name not in named:
                raise bad_data(f"input {name!r} is not given", "import.partial.input-missing")
            arguments.append(named.pop(name))
        if named or len(arguments) != len(self._inputs):
            expected = ", ".join(map(repr, self.model.inputs))
            raise bad_data(f"the model has the inputs {expected}", "import.partial.inputs")
        values: Values = {
            key: self._peer.converted(key, value)
            for (key, _), value in zip(self._inputs, arguments, strict=True)
        }
        with self._lock:
            for step in self._steps:
                step.run(values)
        results = tuple(self._peer.value_of(key, values) for key, _ in self._outputs)
        return results[0] if len(results) == 1 else results

    def reset(self) -> None:
        """Reset all states."""
        with self._lock:
            for step in self._steps:
                step.reset()


class _Model:
    """A part that runs on NNAPI devices."""

    def __init__(self, peer: Peer, part: Part, compilation: Compilation) -> None:
        self._peer = peer
        self._part = part
        self._compilation = compilation
        self.devices = tuple(item.name for item in compilation.runtime.devices)

    def run(self, values: Values) -> None:
        """Compute the outputs of the part from `values`."""
        arrays: list[Array] = [self._peer.value_of(key, values) for key in self._part.inputs]
        results = self._compilation.run(*(np.atleast_1d(value) for value in arrays))
        if len(self._part.outputs) == 1:
            results = (results,)
        values.update(zip(self._part.outputs, results, strict=True))

    def reset(self) -> None:
        """Reset all states."""
        self._compilation.reset()
