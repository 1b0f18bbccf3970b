"""Validates the calls of a capture; the only place that does.

A capture is untrusted input. Each call is validated against the table of parameters (vocabulary.py)
before any part is used: types and ranges of values (fitting.py), lengths of lists, existence and
size of contents (arrays.py), and references to objects of earlier calls only. The users of a
capture (replay, source code, models) do not validate.

Correct use of handles is not required: a refused call may have a freed handle, one of another
kind, or a number that is no handle.
"""

import re
from typing import Any, NamedTuple, NoReturn

from nnapi_shim.errors import bad_data
from nnapi_shim.recording import arrays, fitting
from nnapi_shim.recording.vocabulary import LONG, PARAMETERS, RUNS, Parameter

MOST_CALLS = (1 << 31) - 1
"""Maximum number of calls, limited by the file size."""
_LONGEST_SHOWN = 60
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_SET = "ANeuralNetworksExecution_set"
_NO_ERROR = 0
_GIVEN_BACK = ("made", "out", "outs", "text")


class Call(NamedTuple):
    """A call of the program.

    number: from 1, in the order in which calls began. thread: number of the thread.
    start, end: CLOCK_MONOTONIC in ns; end is None if the program died during the call.
    arguments: by name, as in vocabulary.py. results: values of output variables after the call.
    result: the result code; None for functions without one, and if there is no end.
    error: the message of a call that failed.
    inputs, outputs: contents of the arguments of a computation; `of`: the execution of the
        outputs. memories: contents before and after the call. size: of a memory made from a
        buffer of another library, 0 if unknown. faults: injected ones, with `rule` (text), `call`
        (number of the call that the rule matches) and `where`.

    A function that is not in vocabulary.py has only its name and times.
    """

    number: int
    function: str
    thread: int
    start: int
    end: int | None
    arguments: dict[str, Any]
    result: int | None
    error: str
    results: dict[str, Any]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    of: str
    memories: list[dict[str, Any]]
    memories_after: list[dict[str, Any]]
    size: int
    faults: list[dict[str, Any]]

    @property
    def short(self) -> str:
        """The function name without the common prefix: Model_create."""
        return self.function.removeprefix("ANeuralNetworks")


_FIELDS: dict[str, tuple[type, Any]] = {
    "thread": (int, 0),
    "start": (int, 0),
    "end": (int, None),
    "arguments": (dict, {}),
    "result": (int, None),
    "error": (str, ""),
    "results": (dict, {}),
    "inputs": (list, []),
    "outputs": (list, []),
    "of": (str, ""),
    "memories": (list, []),
    "memories_after": (list, []),
    "size": (int, 0),
    "faults": (list, []),
}
"""Further fields of a line -> (type, default)."""
_WORDS = {int: "a whole number", dict: "an object", str: "a text", list: "a list"}


class Checker:
    """Validates calls one by one, in the order in which they began."""

    def __init__(self, path: str, members: arrays.Members, devices: int) -> None:
        """path: for messages. devices: how many the program had."""
        self._path = path
        self._members = members
        self._made = {f"device {number}" for number in range(1, devices + 1)}
        """Handles that earlier calls returned."""
        self._sizes: dict[str, int] = {}
        """Memory -> size, if known."""
        self._rooms: dict[tuple[str, str, int], int] = {}
        """(execution, role, index) -> size of the argument in bytes."""
        self._operations: dict[str, int] = {}
        """Model -> number of operations."""

    def call(self, entry: dict[str, Any]) -> Call:
        """A validated call. entry: the fields of its lines.

        Raises BAD_DATA with the call, the argument, its value, and the allowed values.
        """
        number, function = entry["call"], entry.get("function")
        if not 0 < number <= MOST_CALLS:
            message = f"the number of a call is {shown(number)}; allowed are 1 to {MOST_CALLS}"
            raise bad_data(f"{self._path}: {message}", "capture.call-number")
        if not isinstance(function, str) or not _WORD.fullmatch(function):
            message = f"the function is {shown(function)}; allowed are names of functions"
            raise bad_data(f"{self._path}: call {number}: {message}", "capture.function")
        said = {name: self._field(entry, name) for name in _FIELDS}
        parameters = PARAMETERS.get(function)
        if parameters is None:
            kept = ("thread", "start", "end")
            said = {name: said[name] if name in kept else of[1] for name, of in _FIELDS.items()}
            return Call(number, function, **said)
        call = Call(number, function, **said)
        self._end(call)
        self._arguments(call, parameters)
        self._results(call, parameters)
        self._contents(call)
        self._learn(call, parameters)
        return call

    def _refuse(self, call: Call, what: str, value: Any, allowed: str) -> NoReturn:
        raise bad_data(
            f"{self._path}: call {call.number}, {call.function}: {what} is {shown(value)}; "
            f"allowed: {allowed}",
            "capture.argument",
        )

    def _field(self, entry: dict[str, Any], name: str) -> Any:
        kind, default = _FIELDS[name]
        value = entry.get(name)
        if value is None:
            return default
        is_whole = kind is int and not fitting.whole(value, "int64_t")
        if not (is_whole if kind is int else isinstance(value, kind)):
            raise bad_data(
                f"{self._path}: call {entry['call']}, {entry['function']}: {name} is "
                f"{shown(value)}; allowed: {_WORDS[kind]}",
                "capture.field",
            )
        return value

    # The parts of a call

    def _end(self, call: Call) -> None:
        if call.end is None:
            if call.function not in LONG:
                self._refuse(call, "end", None, "the time of it; no program dies in this function")
            if call.result is not None or call.results or call.outputs or call.memories_after:
                self._refuse(call, "end", None, "the time of it, where there is a result")
        elif call.function.endswith("_free"):
            if call.result is not None:
                self._refuse(call, "result", call.result, "none")
        elif fitting.whole(call.result, "int32_t"):
            self._refuse(call, "result", call.result, "the result code of a call that has ended")
        if call.size < 0:
            self._refuse(call, "size", call.size, "numbers of bytes")
        for fault in call.faults:
            is_fault = isinstance(fault, dict) and isinstance(fault.get("rule"), str)
            if not is_fault or fitting.whole(fault.get("call"), "uint64_t"):
                self._refuse(call, "faults", fault, "a list of objects with rule and call")

    def _arguments(self, call: Call, parameters: tuple[Parameter, ...]) -> None:
        arguments = call.arguments
        for parameter in parameters:
            if parameter.name not in arguments:
                names = ", ".join(p.name for p in parameters)
                message = f"{parameter.name} is missing; the call has {names}"
                text = f"{self._path}: call {call.number}, {call.function}: {message}"
                raise bad_data(text, "capture.argument-missing")
        for parameter in parameters:
            name, kind = parameter.name, parameter.kind
            if kind == "bytes":
                allowed = self._bytes(arguments[name], arguments[parameter.of])
            else:
                allowed = fitting.argument(parameter, arguments[name], arguments)
            if allowed:
                self._refuse(call, name, arguments[name], allowed)
            if kind == "foreign" and arguments[name] is None and call.result == _NO_ERROR:
                self._refuse(call, name, None, "an object, since the call has succeeded")
            if kind == "handle":
                self._known(call, name, arguments[name], parameter.of)
            elif kind == "handles" and isinstance(arguments[name], list):
                for item in arguments[name]:
                    self._known(call, name, item, "device" if name == "devices" else "event")

    def _bytes(self, value: Any, length: Any) -> str:
        if value is None:
            return ""
        allowed = arrays.flaw(value, self._members)
        if not allowed and arrays.length_of(value) != length:
            return "contents of as many bytes as length says, or null"
        return allowed

    def _known(self, call: Call, name: str, value: Any, kind: str) -> None:
        """Require an object of an earlier call; of the right kind if the call succeeded."""
        if value is not None and not fitting.is_number(value) and value not in self._made:
            self._refuse(call, name, value, "what a call in front has made")
        if call.result == _NO_ERROR and (value is None or not value.startswith(f"{kind} ")):
            self._refuse(call, name, value, f"a {kind}, since the call has succeeded")

    def _results(self, call: Call, parameters: tuple[Parameter, ...]) -> None:
        has_succeeded = call.result == _NO_ERROR
        for parameter in parameters:
            name = parameter.name
            if parameter.kind not in _GIVEN_BACK:
                continue
            is_there, is_set = name in call.results, call.arguments[name] is not None
            if has_succeeded and not (is_there and is_set):
                self._refuse(call, name, None, "what the call gave, since it has succeeded")
            if not is_there:
                continue
            if not is_set:
                self._refuse(call, name, call.results[name], "nothing, since it was NULL")
            most = arrays.MOST_DIMENSIONS
            if name == "supportedOps":
                most = self._operations.get(call.arguments["model"], 0)
            value = call.results[name]
            if allowed := fitting.result(parameter, value, most):
                self._refuse(call, name, value, allowed)
            if parameter.kind == "made" and has_succeeded:
                self._new(call, name, value, parameter.of)

    def _new(self, call: Call, name: str, value: Any, kind: str) -> None:
        if value is None or not value.startswith(f"{kind} "):
            self._refuse(call, name, value, f"a new {kind}")
        is_device = kind == "device"
        if is_device != (value in self._made):
            self._refuse(call, name, value, "one of the devices" if is_device else f"a new {kind}")

    def _contents(self, call: Call) -> None:
        self._handle_of(call, "of", call.of or None, "execution")
        execution = call.arguments.get("execution") if call.function in RUNS else None
        for role, items, of in (
            ("input", call.inputs, execution),
            ("output", call.outputs, call.of),
        ):
            for item in items:
                self._item(call, f"{role}s", item)
                if allowed := fitting.whole(item.get("index"), "int32_t"):
                    self._refuse(call, f"index of {role}s", item.get("index"), allowed)
                if item.get("contents") is None:
                    continue
                room = self._rooms.get((of or "", role, item["index"]))
                if room is None:
                    allowed = f"{role}s that were set before"
                    self._refuse(call, f"index of {role}s", item["index"], allowed)
                self._room(call, f"{role}s", item, room)
        for name, memories in (
            ("memories", call.memories),
            ("memories", call.memories_after),
        ):
            for item in memories:
                self._item(call, name, item)
                self._memory(call, name, item)

    def _item(self, call: Call, name: str, item: Any) -> None:
        """Contents of an argument or a memory."""
        if not isinstance(item, dict):
            self._refuse(call, name, item, "a list of objects")
        said = item.get("contents")
        if said is not None and (allowed := arrays.flaw(said, self._members)):
            self._refuse(call, f"contents of {name}", said, allowed)
        self._handle_of(call, f"memory of {name}", item.get("memory"), "memory")
        dimensions = item.get("dimensions")
        most = arrays.MOST_DIMENSIONS
        if dimensions is not None and (allowed := fitting.sizes(dimensions, most)):
            self._refuse(call, f"dimensions of {name}", dimensions, allowed)

    def _handle_of(self, call: Call, name: str, value: Any, kind: str) -> None:
        if value is None:
            return
        if not isinstance(value, str) or not value.startswith(f"{kind} "):
            self._refuse(call, name, value, f"a handle of a {kind}")
        if value not in self._made:
            self._refuse(call, name, value, "what a call in front has made")

    def _room(self, call: Call, name: str, item: dict[str, Any], room: int) -> None:
        length = arrays.length_of(item["contents"])
        if length > room:
            self._refuse(call, f"contents of {name}", length, f"up to {room} bytes")

    def _memory(self, call: Call, name: str, item: dict[str, Any]) -> None:
        """A region of a memory, and its contents."""
        if item.get("memory") is None or item.get("contents") is None:
            self._refuse(call, name, item, "objects with a memory and contents")
        if allowed := fitting.whole(item.get("offset"), "size_t"):
            self._refuse(call, f"offset of {name}", item.get("offset"), allowed)
        size = self._sizes.get(item["memory"])
        if size is not None:
            self._room(call, name, item, max(0, size - item["offset"]))

    # State for later calls

    def _learn(self, call: Call, parameters: tuple[Parameter, ...]) -> None:
        if call.result != _NO_ERROR:
            return
        arguments = call.arguments
        self._made.update(call.results[p.name] for p in parameters if p.kind == "made")
        if call.short == "Model_addOperation":
            self._operations[arguments["model"]] = self._operations.get(arguments["model"], 0) + 1
        elif call.short == "Memory_createFromFd":
            self._sizes[call.results["memory"]] = arguments["size"]
        elif call.short == "Memory_createFromAHardwareBuffer" and call.size:
            self._sizes[call.results["memory"]] = call.size
        elif call.function.startswith((f"{_SET}Input", f"{_SET}Output")):
            self._bind(call)

    def _bind(self, call: Call) -> None:
        arguments = call.arguments
        role = "input" if "Input" in call.short else "output"
        room = arguments["length"]
        if "memory" in arguments:
            size = self._sizes.get(arguments["memory"])
            if size is not None:
                if arguments["offset"] + room > size:
                    allowed = f"parts of a memory of {size} bytes"
                    self._refuse(call, "length", room, allowed)
                room = room or size - arguments["offset"]
        self._rooms[arguments["execution"], role, arguments["index"]] = room


def shown(value: Any) -> str:
    """A value for a message: one short line."""
    if isinstance(value, int) and not -(1 << 64) <= value <= 1 << 64:
        return "a number of more than 64 bits"
    if isinstance(value, list | dict) and len(value) > _LONGEST_SHOWN:
        return f"{type(value).__name__} of {len(value)}"
    text = ascii(value if not isinstance(value, str) else value[: _LONGEST_SHOWN + 1])
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
