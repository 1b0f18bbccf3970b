"""What can be done with a model as a whole: looked at, compiled, saved, pickled."""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from nnapi_shim.api import pickling, showing, view
from nnapi_shim.api.carried import Carrying
from nnapi_shim.api.devices import Choice, chosen
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.types import Model as HalModel
from nnapi_shim.runtime import compilation as runtime_compilation
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime import model as runtime

if TYPE_CHECKING:
    from nnapi_shim.api.compilation import Compilation
    from nnapi_shim.api.model import Model


class WholeModel:
    """The part of Model that looks at it and takes it elsewhere, and changes nothing."""

    _model: runtime.Model | None
    _view: view.GraphView | None
    _carried: Carrying

    @property
    def runtime(self) -> runtime.Model:
        """The model of the runtime; raises BAD_STATE for a model that is closed."""
        raise NotImplementedError

    # Looking at it

    @property
    def graph(self) -> view.GraphView:
        """What is in the model now; once it is finished, always the same object."""
        if self._view is None:
            graph = view.of(self.runtime)
            if self.runtime.state != "finished":
                return graph
            self._view = graph
        return self._view

    @property
    def operands(self) -> tuple[view.OperandView, ...]:
        """All operands, by their numbers, with the values of constants."""
        return self.graph.operands

    @property
    def operations(self) -> tuple[view.OperationView, ...]:
        """All operations; those of a finished model in an order in which they can run."""
        return self.graph.operations

    @property
    def input_operands(self) -> tuple[view.OperandView, ...]:
        """The operands that are its inputs, in their order."""
        return self.graph.input_operands

    @property
    def output_operands(self) -> tuple[view.OperandView, ...]:
        """The operands that are its outputs, in their order."""
        return self.graph.output_operands

    def __repr__(self) -> str:
        if self._model is None:
            return "<model, closed>"
        graph = self.graph
        return f"<model, {self._model.state}: {showing.counts(graph)}; {showing.signature(graph)}>"

    def __str__(self) -> str:
        """A table of its operations."""
        if self._model is None:
            return repr(self)
        graph = self.graph
        return showing.text(f"model, {self._model.state}: {showing.counts(graph)}", graph)

    def _repr_html_(self) -> str:
        """The same as HTML, as notebooks show it."""
        if self._model is None:
            return "<p>model, closed</p>"
        graph = self.graph
        return showing.html(f"model, {self._model.state}: {showing.counts(graph)}", graph)

    @property
    def finished(self) -> HalModel:
        """What finish has made of it; raises BAD_STATE before."""
        self.runtime.require_finished()
        assert self.runtime.hal is not None
        return self.runtime.hal

    @property
    def alone(self) -> HalModel:
        """The same without the models that it refers to."""
        self.runtime.require_finished()
        assert self.runtime.part is not None
        return self.runtime.part.own

    def compile(
        self,
        devices: Choice | None = None,
        *,
        preference: ExecutionPreference | str = ExecutionPreference.FAST_SINGLE_ANSWER,
        priority: Priority | str = Priority.MEDIUM,
        timeout_ns: int = 0,
        cache: tuple[str | PathLike[str], bytes] | None = None,
    ) -> "Compilation":
        """The model, compiled; see Compilation, whose arguments these are."""
        from nnapi_shim.api.compilation import Compilation

        return Compilation(
            cast("Model", self),
            devices,
            preference=preference,
            priority=priority,
            timeout_ns=timeout_ns,
            cache=cache,
        )

    def supported_operations(self, devices: Choice | None = None) -> list[bool]:
        """Whether one of the devices (all by default) runs it, for each operation as added."""
        drivers = device_manager.devices() if devices is None else chosen(devices)
        return runtime_compilation.supported_operations(self.runtime, drivers)

    # Pickling

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle and copy: the model, which must be finished, with its constants and names.

        Raises BAD_STATE for one that is not finished.
        """
        self.runtime.require_finished()
        assert self.runtime.part is not None
        state = pickling.state_of(self.runtime.part, int(protocol))
        return _restored, (type(self), state, self._carried)

    # Files

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write the finished model as a file: .tflite, .onnx, .c or .py, by its suffix.

        overwrite: whether a file that is there already is replaced.
        Raises BAD_DATA for an operation that the format cannot express (one message lists all, and
        nothing is written), another suffix, and a file that cannot be written.
        """
        import_module("nnapi_shim.formats.save").save(self, path, overwrite)


def _restored(kind: "type[Model]", state: pickling.State, carried: Carrying) -> "Model":
    return kind._restored(state, carried)
