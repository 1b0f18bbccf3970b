"""Rebuilds the models of a capture (docs/capture.md)."""

from os import PathLike
from typing import Any

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.recording.arrays import MOST_DIMENSIONS
from nnapi_shim.recording.reading import Call, Capture, read

__all__ = ["load_capture", "models_in", "read"]

_BY_NAME = "nnapi_shim_setOperandName"


def models_in(capture: Capture) -> list[str]:
    """The handles of the finished models, in the order of creation; models that IF and WHILE of
    others refer to come last.
    """
    finished = [
        str(call.arguments.get("model"))
        for call in capture.calls
        if call.short == "Model_finish" and call.result == ResultCode.NO_ERROR
    ]
    referenced = {
        str(call.arguments.get("value"))
        for call in capture.calls
        if call.short == "Model_setOperandValueFromModel"
    }
    return sorted(dict.fromkeys(finished), key=lambda handle: handle in referenced)


def load_capture(capture: str | PathLike[str] | Capture, name: str | None = None) -> Model:
    """A finished model of a capture, by default the first.

    name: a name from models_in, such as "model 2".

    Raises BAD_DATA if the file is no capture or has no such model, OSError if it does not exist.
    """
    recording = capture if isinstance(capture, Capture) else read(capture)
    models = models_in(recording)
    if not models:
        raise bad_data(
            f"{recording.path} has no model: the program has finished none; "
            "`nnapi-shim exec --lint -- PROGRAM` reports why",
            "capture.no-model",
        )
    handle = models[0] if name is None else name
    if handle not in models:
        raise bad_data(
            f"{recording.path} has no {handle!r}; it has {', '.join(models)}", "capture.model-name"
        )
    try:
        return _Builder(recording).built(handle)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        message = f"{recording.path}: the calls that build {handle} are inconsistent"
        raise bad_data(message, "capture.model-calls") from None


class _Builder:
    """Builds models of a capture, each once."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._built: dict[str, Model] = {}
        self._calls: dict[str, list[Call]] = {}
        for call in capture.calls:
            is_of_model = call.short.startswith("Model_") or call.function == _BY_NAME
            if is_of_model and call.result == ResultCode.NO_ERROR:
                self._calls.setdefault(str(call.arguments.get("model")), []).append(call)

    def built(self, handle: str) -> Model:
        """Build a model after the models that it refers to; iterative, so depth is not limited by
        the stack.
        """
        waiting = [handle]
        while waiting:
            current = waiting[-1]
            missing = [name for name in self._referenced(current) if name not in self._built]
            if any(name in waiting for name in missing):
                raise bad_data(
                    f"{self._capture.path}: {current} refers to itself", "capture.self-reference"
                )
            if missing:
                waiting += missing
                continue
            if current not in self._built:
                self._built[current] = self._build(self._calls.get(current, []))
            waiting.pop()
        return self._built[handle]

    def _referenced(self, handle: str) -> list[str]:
        return [
            call.arguments["value"]
            for call in self._calls.get(handle, [])
            if call.short == "Model_setOperandValueFromModel"
        ]

    def _build(self, calls: list[Call]) -> Model:
        model = Model()
        for call in calls:
            self._call(model, call, call.arguments)
        return model

    def _call(self, model: Model, call: Call, arguments: dict[str, Any]) -> None:
        name = call.short.removeprefix("Model_")
        if name == "addOperand":
            kind = arguments["type"]
            if isinstance(kind["type"], int):
                raise bad_data(
                    f"{self._capture.path}: the model has operands of an extension",
                    "capture.extension",
                )
            if kind["dimensionCount"] > MOST_DIMENSIONS:
                message = f"the model has an operand of {kind['dimensionCount']} dimensions"
                message += f"; allowed are {MOST_DIMENSIONS}"
                raise bad_data(f"{self._capture.path}: {message}", "capture.dimensions")
            scale = float(kind["scale"])
            model.add_operand(kind["type"], kind["dimensions"] or None, scale, kind["zeroPoint"])
        elif name == "setOperandValue":
            contents = arguments["buffer"]
            value = None if contents is None else self._capture.array(contents)
            self._set(model, arguments["index"], value)
        elif name == "setOperandValueFromMemory":
            self._set_from_memory(model, call, arguments["index"])
        elif name == "setOperandSymmPerChannelQuantParams":
            quant = arguments["channelQuant"]
            scales = [float(scale) for scale in quant["scales"]]
            model.set_operand_symm_per_channel_quant_params(
                arguments["index"], quant["channelDim"], scales
            )
        elif name == "setOperandValueFromModel":
            model.set_operand_value_from_model(arguments["index"], self._built[arguments["value"]])
        elif name == "addOperation":
            model.add_operation(arguments["type"], arguments["inputs"], arguments["outputs"])
        elif name == "identifyInputsAndOutputs":
            model.identify_inputs_and_outputs(arguments["inputs"], arguments["outputs"])
        elif name == "relaxComputationFloat32toFloat16":
            model.relax_computation_float32_to_float16(bool(arguments["allow"]))
        elif call.function == _BY_NAME:
            model.name_operand(arguments["index"], arguments["name"])
        elif name == "finish":
            model.finish()

    def _set(self, model: Model, index: int, value: Any) -> None:
        if value is not None:
            operand = model.operands[index]
            dimensions = operand.dimensions
            is_raw = tuple(value.shape) != tuple(dimensions)
            if is_raw:  # the type has no numpy element type
                from nnapi_shim.api.arrays import DTYPES

                value = value.view(DTYPES[operand.type]).reshape(dimensions)
        model.set_operand_value(index, value)

    def _set_from_memory(self, model: Model, call: Call, index: int) -> None:
        if not call.memories:
            raise bad_data(
                f"{self._capture.path}: the value of operand {index} lay in a memory that could "
                "not be read",
                "capture.unread-memory",
            )
        from nnapi_shim.api.arrays import DTYPES

        operand = model.operands[index]
        data = self._capture.array(call.memories[0]["contents"])
        model.set_operand_value(index, data.view(DTYPES[operand.type]).reshape(operand.dimensions))
