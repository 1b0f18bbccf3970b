"""Operations on a whole model: inspect, compile, save and pickle."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from nnapi_shim import savers
from nnapi_shim.api import view
from nnapi_shim.api.argument_types import wrong_type
from nnapi_shim.api.devices import Choice, chosen
from nnapi_shim.api.recurrent_state import Carried, Carrying
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.types import Model as HalModel
from nnapi_shim.runtime import compilation as runtime_compilation
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime import model as runtime

if TYPE_CHECKING:
    from nnapi_shim.api import pickling


class WholeModel:
    """The part of Model that reads it: inspection, saving, pickling."""

    _model: runtime.Model | None
    _view: view.GraphView | None
    _carried: Carrying

    @property
    def runtime(self) -> runtime.Model:
        """The model of the runtime; raises BAD_STATE for a closed model."""
        raise NotImplementedError

    @classmethod
    def restored(cls, state: pickling.State, carried: Carrying) -> WholeModel:
        """A finished model from its pickled state."""
        raise NotImplementedError

    # Inspection

    @property
    def graph(self) -> view.GraphView:
        """The current contents of the model; for a finished model always the same object."""
        if self._view is None:
            graph = view.of(self.runtime)
            if self.runtime.state != "finished":
                return graph
            self._view = graph
        return self._view

    @property
    def operands(self) -> tuple[view.OperandView, ...]:
        """All operands by index, with the values of constants."""
        return self.graph.operands

    @property
    def operations(self) -> tuple[view.OperationView, ...]:
        """All operations; those of a finished model in execution order."""
        return self.graph.operations

    @property
    def input_operands(self) -> tuple[view.OperandView, ...]:
        """The operands that are inputs, in order."""
        return self.graph.input_operands

    @property
    def output_operands(self) -> tuple[view.OperandView, ...]:
        """The operands that are outputs, in order."""
        return self.graph.output_operands

    def __repr__(self) -> str:
        if self._model is None:
            return "<model, closed>"
        from nnapi_shim.api import display

        graph = self.graph
        return f"<model, {self._model.state}: {display.counts(graph)}; {display.signature(graph)}>"

    def __str__(self) -> str:
        """A table of its operations."""
        if self._model is None:
            return repr(self)
        from nnapi_shim.api import display

        graph = self.graph
        return display.text(f"model, {self._model.state}: {display.counts(graph)}", graph)

    def _repr_html_(self) -> str:
        """A picture of the graph and tables, for notebooks."""
        if self._model is None:
            return "<p>model, closed</p>"
        from nnapi_shim.api import display, drawing

        graph = self.graph
        picture = ""
        if self._model.state == "finished":
            inputs, outputs = self.input_operands, self.output_operands
            states = {inputs[state.input].index for state in self.carried}
            states |= {outputs[state.output].index for state in self.carried}
            picture = drawing.draw(graph, None, states)
        title = f"model, {self._model.state}: {display.counts(graph)}"
        return display.html(title, graph, picture)

    @property
    def finished(self) -> HalModel:
        """The HAL model of a finished model; raises BAD_STATE before finish."""
        self.runtime.require_finished()
        assert self.runtime.hal is not None
        return self.runtime.hal

    @property
    def alone(self) -> HalModel:
        """The HAL model without the models that it refers to."""
        self.runtime.require_finished()
        assert self.runtime.part is not None
        return self.runtime.part.own

    @property
    def carrying(self) -> Carrying:
        """The carried states that the program declared, as operands."""
        return self._carried

    @property
    def carried(self) -> list[Carried]:
        """The states that are carried from run to run, in the order of the model's inputs."""
        try:
            return self._carried.positions(self.graph)
        except NnapiError as error:
            raise self.runtime.named(error) from None

    def supported_operations(self, devices: Choice | None = None) -> list[bool]:
        """For each operation in the order of addition, whether one of the devices (by default all)
        supports it.
        """
        drivers = device_manager.devices() if devices is None else chosen(devices)
        return runtime_compilation.supported_operations(self.runtime, drivers)

    # Pickling

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle and copy: the finished model with its constants and names.

        Raises BAD_STATE for an unfinished model.
        """
        from nnapi_shim.api import pickling

        self.runtime.require_finished()
        assert self.runtime.part is not None
        state = pickling.state_of(self.runtime.part, int(protocol))
        return _restored, (type(self), state, self._carried)

    # Files

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write the finished model as a file: .tflite, .onnx, .c or .py, by its suffix.

        overwrite: whether an existing file is replaced.
        Raises BAD_DATA for an operation that the format cannot express (one message lists all, and
        nothing is written), another suffix, and a file that cannot be written.
        """
        savers.save(self, path, overwrite)


class ModelParts:
    """Parts that run in sequence, each with a Model of its own or none: PartialModel."""


def _restored(kind: type[WholeModel], state: pickling.State, carried: Carrying) -> WholeModel:
    return kind.restored(state, carried)


def require_model(model: object) -> WholeModel:
    """The model; raises TypeError for anything else."""
    if not isinstance(model, WholeModel):
        hint = ""
        if isinstance(model, str | PathLike):
            hint = "; nnapi_shim.load reads a file"
        elif isinstance(model, ModelParts):
            hint = f"; {type(model).__name__}.compile() compiles this one"
        raise wrong_type("model", model, f"a nnapi_shim.Model{hint}")
    return model
