"""Plans the calls of a capture: arguments, contents to fill in before, results to compare after.

The replay executes the plan, and the reproducers are written from it. A plan has no addresses, and
no length exceeds the data it belongs to. recording/checking.py validates a capture when it is read;
this module decides which calls can be repeated.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.recording.reading import Call, Capture
from nnapi_shim.recording.vocabulary import PARAMETERS, RUNS, Parameter

MAX_BYTES = 1 << 32
"""The most bytes of an argument or a memory; a capture that declares more is not replayed."""

_SHORT = {name: name.removeprefix("ANeuralNetworks") for name in PARAMETERS}
_LIMITS = ("Compilation_setTimeout", "Execution_setTimeout")
_DEVICE_SAYS = (
    "_getDeviceCount",
    "Device_getType",
    "Device_getFeatureLevel",
    "Execution_getDuration",
    "Event_getSyncFenceFd",
)
_HALF = 5 * 2.0**-10
_SINGLE = (1e-5, 5 * 2.0**-23)


class Value(NamedTuple):
    """An argument.

    kind: as Parameter.kind, but `data` for `bytes`, `buffer` with a name, `memory file` and `fence`
        for descriptors, and `null`.
    value: the name of a handle or buffer, a number, a list, or contents as in a capture.
    of: the C type of a number, array or variable, the length of a buffer, the offset of a memory in
        its file, or the kind of a handle.
    """

    kind: str
    value: Any = None
    of: Any = ""


class Fill(NamedTuple):
    """Contents to copy into a buffer or memory, at `offset` bytes."""

    target: str
    offset: int
    contents: dict[str, Any]


class Check(NamedTuple):
    """Contents that a buffer or memory must have after the call.

    output: the index of the output, -1 for a memory that was copied to.
    absolute, relative: the tolerance; both 0 for an exact comparison.
    """

    target: str
    offset: int
    contents: dict[str, Any]
    output: int
    absolute: float
    relative: float


class Planned(NamedTuple):
    """A planned call.

    values: its arguments. compared: parameters whose variables are compared with call.results.
        why_not: why the call cannot be repeated; "" if it can.
    """

    call: Call
    parameters: tuple[Parameter, ...]
    values: tuple[Value, ...]
    fills: tuple[Fill, ...]
    checks: tuple[Check, ...]
    compared: tuple[str, ...]
    why_not: str

    @property
    def made(self) -> str:
        """The handle that a successful call creates."""
        return str(next(value.value for value in self.values if value.kind == "made"))


class _Bound(NamedTuple):
    """The location of an execution's argument."""

    target: str
    offset: int


class _CannotError(Exception):
    """The call cannot be repeated; the message says why."""


def planned(capture: Capture) -> Iterator[Planned]:
    """The calls of a capture."""
    plan = _Plan()
    for call in capture.calls:
        yield plan.of(call)


class _Plan:
    """The state after the calls so far."""

    def __init__(self) -> None:
        self._bound: dict[str, dict[tuple[str, int], _Bound]] = {}
        self._memories: set[str] = set()
        """Memories that can be written to."""
        self._half: set[str] = set()
        """Models with relaxed float32 precision."""
        self._models: dict[str, str] = {}
        """Compilation -> model; execution -> compilation."""
        self._buffers = 0

    def of(self, call: Call) -> Planned:
        parameters = PARAMETERS.get(call.function)
        if parameters is None:
            why = "this version does not know the function"
            return Planned(call, (), (), (), (), (), why)
        fills: list[Fill] = []
        values: list[Value] = []
        why_not = ""
        try:
            values = [self._value(call, item) for item in parameters]
            fills = self._fills(call)
        except _CannotError as error:
            why_not = str(error)
        self._learn(call, values)
        checks = [] if why_not else self._checks(call)
        short = _SHORT[call.function]
        compared = [
            item.name
            for item in parameters
            if item.kind in ("out", "outs")
            and item.name in call.results
            and short not in _DEVICE_SAYS
            and "Preferred" not in short
            and "Extension" not in short
        ]
        return Planned(
            call, parameters, tuple(values), tuple(fills), tuple(checks), tuple(compared), why_not
        )

    # Arguments

    def _value(self, call: Call, parameter: Parameter) -> Value:
        argument = call.arguments[parameter.name]
        kind, short = parameter.kind, _SHORT[call.function]
        if kind == "fd":
            return self._descriptor(call)
        if kind == "int":
            return Value("int", self._number(call, parameter, argument), parameter.of)
        if kind == "float":
            return Value("float", float(argument))
        if kind == "handle":
            return Value("handle", argument, parameter.of)
        if kind == "foreign" and call.result != 0:
            raise _CannotError("its arguments were refused and are not in the capture")
        if argument is None:
            return Value("null")
        if kind == "foreign":
            if not 0 < call.size <= MAX_BYTES:
                raise _CannotError("its hardware buffer has an unreadable format")
            return Value("memory file", call.size, 0)
        if kind == "made":
            # A failed call may leave the variable unchanged or write any value.
            handle = call.results[parameter.name] if call.result == 0 else None
            return Value("made", handle, parameter.of)
        if kind in ("out", "outs", "text"):
            return Value(kind, None, parameter.of)
        if kind == "string":
            return Value("string", "" if short == "Compilation_setCaching" else argument)
        if kind == "token":
            return Value("token", bytes.fromhex(argument))
        if kind == "type":
            return Value("type", _type(argument))
        if kind == "scales":
            return Value("scales", _scales(argument))
        if kind in ("numbers", "handles"):
            if isinstance(argument, dict):
                raise _CannotError("its list is shorter than its count")
            return Value(kind, argument, parameter.of)
        if kind == "bytes":
            return Value("data", argument)
        assert kind == "buffer"
        length = call.arguments["length"]
        if length > MAX_BYTES:
            raise _CannotError(f"its buffer has {length} bytes")
        self._buffers += 1
        return Value("buffer", f"buffer {self._buffers}", length)

    def _number(self, call: Call, parameter: Parameter, argument: int | str) -> int:
        if isinstance(argument, str):
            return int(OperationType[argument])
        if parameter.name == "duration" and _SHORT[call.function] in _LIMITS:
            return 0  # durations differ between machines
        return argument

    def _descriptor(self, call: Call) -> Value:
        if _SHORT[call.function] == "Event_createFromSyncFenceFd":
            return Value("fence", call.result == 0)
        size, offset = call.arguments["size"], call.arguments["offset"]
        if call.result != 0 or size + offset > MAX_BYTES:
            return Value("int", -1, "int")
        return Value("memory file", size + offset, offset)

    # Contents

    def _fills(self, call: Call) -> list[Fill]:
        fills = [fill for item in call.memories if (fill := self._memory_fill(item))]
        if call.function in RUNS:
            execution = call.arguments["execution"]
            for item in call.inputs:
                bound = self._bound.get(execution, {}).get(("input", item["index"]))
                contents = item.get("contents")
                if bound is not None and contents is not None:
                    fills.append(Fill(bound.target, bound.offset, contents))
        return fills

    def _memory_fill(self, item: dict[str, Any]) -> Fill | None:
        """The contents to write into a memory; None if it cannot be written to."""
        is_known = item["memory"] in self._memories
        return Fill(item["memory"], item["offset"], item["contents"]) if is_known else None

    def _checks(self, call: Call) -> list[Check]:
        checks = []
        for item in call.outputs:
            bound = self._bound.get(call.of, {}).get(("output", item["index"]))
            contents = item.get("contents")
            if bound is None or contents is None:
                continue
            tolerance = self._tolerance(call.of, contents["dtype"])
            checks.append(Check(bound.target, bound.offset, contents, item["index"], *tolerance))
        for item in call.memories_after:
            fill = self._memory_fill(item)
            if fill is not None:
                checks.append(Check(*fill, -1, 0.0, 0.0))
        return checks

    def _tolerance(self, execution: str, dtype: str) -> tuple[float, float]:
        """The tolerance of float outputs: about five units in the last place."""
        model = self._models.get(self._models.get(execution, ""), "")
        if dtype == "<f2" or (dtype == "<f4" and model in self._half):
            return _HALF, _HALF
        return _SINGLE if dtype == "<f4" else (0.0, 0.0)

    # What later calls need

    def _learn(self, call: Call, values: list[Value]) -> None:
        short, arguments, results = _SHORT[call.function], call.arguments, call.results
        if short == "Model_addOperand" and "FLOAT16" in str(
            (arguments.get("type") or {}).get("type")
        ):
            self._half.add(arguments["model"])
        if call.result != 0:
            return
        relaxes = short == "Model_relaxComputationFloat32toFloat16" and arguments["allow"]
        refers = short == "Model_setOperandValueFromModel" and arguments["value"] in self._half
        if relaxes or refers:
            self._half.add(arguments["model"])
        elif short.startswith("Compilation_create"):
            self._models[results["compilation"]] = arguments["model"]
        elif short == "Execution_create":
            self._models[results["execution"]] = arguments["compilation"]
        elif any(value.kind == "memory file" for value in values):
            self._memories.add(results["memory"])
        elif short.startswith(("Execution_setInput", "Execution_setOutput")):
            role = "input" if "Input" in short else "output"
            self._bind(call, role, values)

    def _bind(self, call: Call, role: str, values: list[Value]) -> None:
        arguments = call.arguments
        bound = self._bound.setdefault(arguments["execution"], {})
        key = role, arguments["index"]
        bound.pop(key, None)  # a call that is left out must not keep the old location
        buffers = [value for value in values if value.kind == "buffer"]
        if buffers:
            bound[key] = _Bound(buffers[0].value, 0)
        elif values and arguments.get("memory") in self._memories:
            bound[key] = _Bound(arguments["memory"], arguments["offset"])


def _type(argument: dict[str, Any]) -> tuple[int, list[int] | None, int, float, int]:
    """Code, dimensions, dimensionCount, scale, zeroPoint."""
    if "at" in argument:
        raise _CannotError("its operand type could not be read")
    code, sizes, count = argument["type"], argument["dimensions"], argument["dimensionCount"]
    number = int(OperandType[code]) if isinstance(code, str) else code
    return number, sizes, count, float(argument["scale"]), argument["zeroPoint"]


def _scales(argument: dict[str, Any]) -> tuple[int, list[float] | None]:
    """The dimension of the channels, and their scales."""
    if "at" in argument:
        raise _CannotError("its scales could not be read")
    scales = argument["scales"]
    return argument["channelDim"], None if scales is None else [float(scale) for scale in scales]
