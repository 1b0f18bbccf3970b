"""A capture as calls to be made: what each is given, what is filled in before, what is compared.
 The replay makes them, and the reproducers are written from them.

Nothing in a plan is an address, and no length in it is longer than what it is the length of: a
capture may say what it likes.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.recording.reading import Call, Capture
from nnapi_shim.recording.vocabulary import C_TYPES, PARAMETERS, RUNS, Parameter

MAX_BYTES = 1 << 32
"""Of an argument or a memory; more is not made for what a file says."""

_SHORT = {name: name.removeprefix("ANeuralNetworks") for name in PARAMETERS}
_LIMITS = ("Compilation_setTimeout", "Execution_setTimeout")
_DEVICE_SAYS = (
    "_getDeviceCount",
    "Device_getType",
    "Device_getFeatureLevel",
    "Execution_getDuration",
    "Event_getSyncFenceFd",
)
_HANDLE = re.compile(rf"({'|'.join(C_TYPES)}) [0-9]{{1,18}}|0x[0-9a-f]{{1,16}}", re.ASCII)
_LONGEST_NAME = 100
_HALF = 5 * 2.0**-10
_SINGLE = (1e-5, 5 * 2.0**-23)


class Value(NamedTuple):
    """An argument.

    kind: as Parameter.kind, but `data` for `bytes`, `buffer` with a name, `memory file` and
        `fence` for descriptors, and `null`.
    value: what it is; a handle's or buffer's name, a number, a list, contents as a call has them.
    of: the C type of an array or variable, the length of a buffer, the kind of a handle.
    """

    kind: str
    value: Any = None
    of: Any = ""


class Fill(NamedTuple):
    """Contents to be put into a buffer or memory, `offset` bytes behind its beginning."""

    target: str
    offset: int
    contents: dict[str, Any]


class Check(NamedTuple):
    """Contents that are to be in a buffer or memory then.

    output: which output it is, -1 for a memory that was copied to.
    absolute, relative: the tolerance; both 0 if every byte counts.
    """

    target: str
    offset: int
    contents: dict[str, Any]
    output: int
    absolute: float
    relative: float


class Planned(NamedTuple):
    """A call to be made.

    values: its arguments. compared: parameters whose variables are to hold what call.results says.
    why_not: why it cannot be made; "" if it can.
    """

    call: Call
    parameters: tuple[Parameter, ...]
    values: tuple[Value, ...]
    fills: tuple[Fill, ...]
    checks: tuple[Check, ...]
    compared: tuple[str, ...]
    why_not: str


class _Bound(NamedTuple):
    """Where an argument of an execution lies."""

    target: str
    offset: int
    length: int


class _CannotError(Exception):
    """A call cannot be made again; the message says why."""


def planned(capture: Capture) -> Iterator[Planned]:
    """The calls of a capture. Raises BAD_DATA for one whose arguments contradict each other."""
    plan = _Plan(capture)
    for call in capture.calls:
        try:
            yield plan.of(call)
        except NnapiError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
            raise bad_data(
                f"{capture.path}: the arguments of call {call.number}, {call.function}, are not "
                "what such a call has"
            ) from None


class _Plan:
    """What the calls so far have said."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._bound: dict[str, dict[tuple[str, int], _Bound]] = {}
        self._memories: dict[str, int] = {}
        """Memories that contents can be put into, and their sizes."""
        self._half: set[str] = set()
        """Models that may be computed with half precision."""
        self._models: dict[str, str] = {}
        """Compilation -> model; execution -> compilation."""
        self._buffers = 0

    def of(self, call: Call) -> Planned:
        parameters = PARAMETERS.get(call.function)
        if parameters is None:
            why = "this version does not know the function"
            call = call._replace(function=_plain(call.function))
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
        for name in compared:
            _require_numbers(call.results[name])
        return Planned(
            call, parameters, tuple(values), tuple(fills), tuple(checks), tuple(compared), why_not
        )

    # Arguments

    def _value(self, call: Call, parameter: Parameter) -> Value:
        given = call.arguments.get(parameter.name)
        kind, short = parameter.kind, _SHORT[call.function]
        if kind == "fd":
            return self._descriptor(call, given)
        if kind == "int":
            return Value("int", self._number(call, parameter, given))
        if kind == "handle":
            return Value("handle", _handle(given), parameter.of)
        if kind == "foreign" and call.result != 0:
            raise _CannotError("what it was given was refused, and is no part of the capture")
        if given is None:
            return Value("null")
        if kind == "foreign":
            if not 0 < call.size <= MAX_BYTES:
                raise _CannotError("its hardware buffer is of a format that nobody can read")
            return Value("memory file", call.size)
        if kind == "made":
            made = _handle(call.results.get(parameter.name))
            return Value("made", made if made and " " in made else None, parameter.of)
        if kind in ("out", "outs", "text"):
            return Value(kind, None, parameter.of)
        if kind == "string":
            return Value("string", "" if short == "Compilation_setCaching" else str(given))
        if kind == "token":
            token = bytes.fromhex(given)
            return Value("token", token.ljust(32, b"\0")[:32])
        if kind == "type":
            return Value("type", _type(given))
        if kind == "scales":
            scales = given["scales"]
            numbers = None if scales is None else [float(scale) for scale in scales]
            return Value("scales", (int(given["channelDim"]), numbers))
        if kind in ("numbers", "handles"):
            return self._list(call, parameter, given)
        if kind == "bytes":
            if self._length(call, parameter.of) != len(self._capture.data(given)):
                raise _CannotError("it was given less memory than it said")
            return Value("data", given)
        assert kind == "buffer"
        length = self._length(call, "length")
        if length > MAX_BYTES:
            raise _CannotError(f"its buffer has {length} bytes")
        self._buffers += 1
        return Value("buffer", f"buffer {self._buffers}", length)

    def _length(self, call: Call, name: str) -> int:
        length = call.arguments[name]
        if type(length) is not int or length < 0:
            raise ValueError
        return length

    def _number(self, call: Call, parameter: Parameter, given: Any) -> int | float:
        short = _SHORT[call.function]
        if isinstance(given, str):
            if parameter.name == "type":
                return int(OperationType[given])
            return float(given)
        if not isinstance(given, int | float):
            raise TypeError
        if parameter.name == "duration" and short in _LIMITS:
            return 0  # another device, or machine, takes another time
        return given

    def _list(self, call: Call, parameter: Parameter, given: Any) -> Value:
        if not isinstance(given, list) or len(given) != self._length(call, parameter.of):
            raise _CannotError("it was given a shorter list than it said")
        if parameter.kind == "handles":
            given = [_handle(item) for item in given]
        elif not all(type(item) is int and 0 <= item < 1 << 32 for item in given):
            raise TypeError
        return Value(parameter.kind, given, parameter.of)

    def _descriptor(self, call: Call, given: Any) -> Value:
        if _SHORT[call.function] == "Event_createFromSyncFenceFd":
            return Value("fence", call.result == 0)
        size = self._length(call, "size") + self._length(call, "offset")
        if call.result != 0 or size > MAX_BYTES:
            return Value("int", -1)
        return Value("memory file", size)

    # Contents

    def _fills(self, call: Call) -> list[Fill]:
        fills = [fill for item in call.memories if (fill := self._memory_fill(item))]
        if call.function in RUNS:
            execution = call.arguments["execution"]
            for item in call.inputs:
                bound = self._bound.get(execution, {}).get(("input", item["index"]))
                contents = item.get("contents")
                if bound is None or contents is None:
                    continue
                self._require_room(call, contents, bound.length)
                fills.append(Fill(bound.target, bound.offset, contents))
        return fills

    def _memory_fill(self, item: dict[str, Any]) -> Fill | None:
        size = self._memories.get(item["memory"])
        if size is None:
            return None
        offset = int(item["offset"])
        if offset < 0 or offset + len(self._capture.data(item["contents"])) > size:
            raise ValueError
        return Fill(item["memory"], offset, item["contents"])

    def _require_room(self, call: Call, contents: dict[str, Any], room: int) -> None:
        if len(self._capture.data(contents)) > room:
            raise bad_data(
                f"{self._capture.path}: call {call.number}, {call.function}, has contents that are "
                "longer than the argument"
            )

    def _checks(self, call: Call) -> list[Check]:
        checks = []
        for item in call.outputs:
            bound = self._bound.get(call.of, {}).get(("output", item["index"]))
            contents = item.get("contents")
            if bound is None or contents is None:
                continue
            self._require_room(call, contents, bound.length)
            tolerance = self._tolerance(call.of, contents["dtype"])
            checks.append(Check(bound.target, bound.offset, contents, item["index"], *tolerance))
        for item in call.memories_after:
            fill = self._memory_fill(item)
            if fill is not None:
                checks.append(Check(*fill, -1, 0.0, 0.0))
        return checks

    def _tolerance(self, execution: str, dtype: str) -> tuple[float, float]:
        """What float outputs may differ by: five units in the last place, or so."""
        model = self._models.get(self._models.get(execution, ""), "")
        if dtype == "<f2" or (dtype == "<f4" and model in self._half):
            return _HALF, _HALF
        return _SINGLE if dtype == "<f4" else (0.0, 0.0)

    # What later calls need

    def _learn(self, call: Call, values: list[Value]) -> None:
        short, given, made = _SHORT[call.function], call.arguments, call.results
        if short == "Model_addOperand" and "FLOAT16" in str((given.get("type") or {}).get("type")):
            self._half.add(given["model"])
        if call.result != 0:
            return
        relaxes = short == "Model_relaxComputationFloat32toFloat16" and given["allow"]
        refers = short == "Model_setOperandValueFromModel" and given["value"] in self._half
        if relaxes or refers:
            self._half.add(given["model"])
        elif short.startswith("Compilation_create"):
            self._models[made["compilation"]] = given["model"]
        elif short == "Execution_create":
            self._models[made["execution"]] = given["compilation"]
        elif short.startswith("Memory_create") and short != "Memory_createFromDesc" and values:
            size = call.size or self._length(call, "size")
            self._memories[made["memory"]] = size
        elif short.startswith(("Execution_setInput", "Execution_setOutput")) and values:
            role = "input" if "Input" in short else "output"
            self._bind(call, role, values)

    def _bind(self, call: Call, role: str, values: list[Value]) -> None:
        given = call.arguments
        bound = self._bound.setdefault(given["execution"], {})
        key = role, int(given["index"])
        buffers = [value for value in values if value.kind == "buffer"]
        if buffers:
            bound[key] = _Bound(buffers[0].value, 0, buffers[0].of)
        elif given.get("memory") in self._memories:
            size = self._memories[given["memory"]]
            offset, length = self._length(call, "offset"), self._length(call, "length")
            if offset + length > size:
                raise ValueError
            bound[key] = _Bound(given["memory"], offset, length or size)


def _handle(given: Any) -> str | None:
    """`model 1`, a number in hexadecimal, or None; raises ValueError for anything else."""
    if given is not None and not _HANDLE.fullmatch(given):
        raise ValueError
    return cast(str | None, given)


def _plain(name: str) -> str:
    """A name without what could end a comment."""
    return "".join(letter for letter in name[:_LONGEST_NAME] if letter.isalnum() or letter == "_")


def _require_numbers(given: Any) -> None:
    items = given if isinstance(given, list) else [given]
    if not all(isinstance(item, int) for item in items):
        raise ValueError


def _type(given: Any) -> tuple[int, list[int] | None, int, float, int]:
    """Code, dimensions, dimensionCount, scale, zeroPoint."""
    if "type" not in given:
        raise _CannotError("it was given an operand type that could not be read")
    code, sizes = given["type"], given["dimensions"]
    count = int(given["dimensionCount"])
    if sizes is not None and (
        len(sizes) != count or not all(type(size) is int and 0 <= size < 1 << 32 for size in sizes)
    ):
        raise ValueError
    number = int(OperandType[code]) if isinstance(code, str) else int(code)
    return number, sizes, count, float(given["scale"]), int(given["zeroPoint"])
