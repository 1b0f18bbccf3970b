"""Repeats the calls of a capture through this library's C functions and compares results."""

import mmap
import os
import re
import tempfile
from errno import EMFILE, ENFILE, ENOMEM
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi_shim.errors import bad_data
from nnapi_shim.formats.capture.plan import Fill, Planned, Value
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.recording.reading import Capture
from nnapi_shim.recording.vocabulary import C_TYPES, RUNS
from nnapi_shim.tools.replay_report import Difference, Replay, differs

if TYPE_CHECKING:
    from nnapi_shim.phones.fault_replay import RecordedFaults


class _Memory:
    """Shared memory: an anonymous file."""

    def __init__(self, size: int) -> None:
        self.fd = os.memfd_create("nnapi_shim replay")
        os.ftruncate(self.fd, max(size, 1))
        self.bytes = mmap.mmap(self.fd, max(size, 1))

    def __del__(self) -> None:
        os.close(self.fd)


class _Descriptor:
    """A descriptor that is closed with its object."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __del__(self) -> None:
        os.close(self._fd)


class Runner:
    """Repeats the calls of a capture one by one and keeps the objects that they create."""

    def __init__(
        self, capture: Capture, device: str | None, faults: "RecordedFaults | None" = None
    ) -> None:
        """faults: those that happen while calls are repeated."""
        from nnapi_shim import capi

        self._faults = faults

        self._capture = capture
        self._ffi, self._lib = capi.ffi, capi.lib
        self._handles: dict[str, Any] = {}
        self._kept: list[Any] = []
        """Memory that the library may read until `close`."""
        self._buffers: dict[str, Any] = {}
        self._memories: dict[str, tuple[_Memory, int]] = {}
        """Handle -> memory and its offset in the file."""
        self._types: dict[int, int] = {}
        """Type codes of extensions in the capture -> their codes here."""
        self._cache: Any = None
        self._events: dict[int, Any] = {}
        """Numeric handle -> event that is not freed yet."""
        self._here = self._devices()
        self.device_name = ""
        if device is not None:
            self.device_name = self._chosen(device)

    def _devices(self) -> dict[str, Any]:
        ffi, lib = self._ffi, self._lib
        count = ffi.new("uint32_t *")
        lib.ANeuralNetworks_getDeviceCount(count)
        devices = {}
        for number in range(count[0]):
            device, name = ffi.new("ANeuralNetworksDevice **"), ffi.new("char **")
            lib.ANeuralNetworks_getDevice(number, device)
            lib.ANeuralNetworksDevice_getName(device[0], ffi.cast("const char **", name))
            devices[ffi.string(name[0]).decode(errors="replace")] = device[0]
        return devices

    def _chosen(self, pattern: str) -> str:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            message = f"{pattern!r} is no regular expression: {error}"
            raise bad_data(message, "tool.replay.device-pattern") from None
        for name in self._here:
            if expression.fullmatch(name):
                return name
        raise bad_data(
            f"no device matches {pattern!r}; there are {', '.join(self._here)}",
            "tool.replay.no-device",
        )

    def _device(self, handle: str) -> Any:
        """The local device for a device handle of the capture."""
        if self.device_name:
            return self._here[self.device_name]
        name = self._capture.devices[int(handle.rpartition(" ")[2]) - 1]
        if name not in self._here:
            there = ", ".join(self._here)
            raise bad_data(
                f"{name}, which the program used, is not here; there are {there}",
                "tool.replay.device",
            )
        return self._here[name]

    def close(self) -> None:
        """Wait for running computations, because they write to memory that is freed next."""
        for event in self._events.values():
            self._lib.ANeuralNetworksEvent_wait(event)
        if self._cache is not None:
            self._cache.cleanup()

    # Calls

    def make(self, plan: Planned, report: Replay) -> None:
        """Repeat a call and report differing results."""
        call = plan.call
        for fill in plan.fills:
            self._fill(fill)
        variables: dict[str, Any] = {}
        if call.short == "_getDevice" and plan.values[1].value:
            self._handles[plan.values[1].value] = self._device(plan.values[1].value)
            report.repeated += 1
            return
        function, values = call.function, list(plan.values)
        parameters = [parameter.name for parameter in plan.parameters]
        if call.short == "Memory_createFromAHardwareBuffer":
            function = "ANeuralNetworksMemory_createFromFd"
            size = Value("int", values[0].value, "size_t")
            protect = Value("int", mmap.PROT_READ | mmap.PROT_WRITE, "int")
            values = [size, protect, values[0], Value("int", 0, "size_t"), values[1]]
            parameters = ["size", "protect", "fd", "offset", "memory"]
        elif call.short == "Compilation_create" and self.device_name:
            function += "ForDevices"
            values[1:1] = [Value("handles", ["device"]), Value("int", 1, "uint32_t")]
            parameters[1:1] = ["devices", "numDevices"]
        try:
            arguments: list[Any] = []
            for name, value in zip(parameters, values, strict=True):
                arguments.append(self._argument(plan, name, value, variables, arguments))
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (ENOMEM, EMFILE, ENFILE):
                raise
            message = f"call {call.number}, {call.function}: there is no memory, or no file, for it"
            report.skipped.append(message)
            return
        self._match_counts(parameters, values, arguments)
        if self._faults is not None:
            self._faults.arm(call.faults)
        result = getattr(self._lib, function)(*arguments)
        if self._faults is not None:
            self._faults.arm(())
        if call.short == "Event_free":
            self._events.pop(self._number_of(arguments[0]), None)
        report.repeated += 1
        report.executions += call.function in RUNS
        self._keep_made(plan, variables)
        if call.result is not None and call.end is not None and result != call.result:
            report.differences.append(
                Difference(call.number, call.function, "result", _code(call.result), _code(result))
            )
            return
        self._compare(plan, variables, report)

    def _number_of(self, handle: Any) -> int:
        return int(self._ffi.cast("uintptr_t", handle))

    def _match_counts(
        self, parameters: list[str], values: list[Value], arguments: list[Any]
    ) -> None:
        """Correct the length of a device list: two captured devices may map to one local device."""
        for at, value in enumerate(values):
            if value.kind == "handles" and parameters[at] == "devices":
                arguments[parameters.index("numDevices")] = len(arguments[at])

    def _argument(
        self,
        plan: Planned,
        name: str,
        value: Value,
        variables: dict[str, Any],
        before: list[Any],
    ) -> Any:
        """The C argument. before: the arguments to its left. variables: outputs of the call."""
        ffi = self._ffi
        made: Any
        if value.kind == "null":
            return ffi.NULL
        if value.kind == "float":
            return value.value
        if value.kind == "int":
            is_type = name == "type" and value.value in self._types
            return self._types[value.value] if is_type else value.value
        if value.kind == "handle":
            return self._handle(value.value, value.of)
        if value.kind == "made":
            made = variables[name] = ffi.new(f"{C_TYPES[value.of]} **")
            return made
        if value.kind == "handles":
            return self._handle_list(name, value.value)
        if value.kind == "buffer":
            block = mmap.mmap(-1, max(value.of, 1))
            self._buffers[value.value] = block
            return ffi.from_buffer(block)
        if value.kind == "memory file":
            memory = _Memory(value.value)
            variables["memory file"] = memory, value.of
            return memory.fd
        if value.kind == "fence":
            return self._fence() if value.value else -1
        if value.kind in ("out", "outs", "text"):
            made = variables[name] = self._variable(plan, name, value, before)
            return made
        made = self._constant(plan, value)
        self._kept.append(made)
        return made[0] if isinstance(made, tuple) else made

    def _handle(self, handle: str | None, kind: str) -> Any:
        pointer = f"{C_TYPES[kind]} *"
        if handle is None:
            return self._ffi.NULL
        if handle.startswith("0x"):
            return self._ffi.cast(pointer, int(handle, 16))
        if kind == "device" and handle not in self._handles:
            self._handles[handle] = self._device(handle)
        pointed_to = self._handles.get(handle, self._ffi.NULL)
        return self._ffi.cast(pointer, pointed_to)

    def _handle_list(self, name: str, handles: list[str | None]) -> Any:
        kind = "device" if name == "devices" else "event"
        pointers = [self._handle(handle, kind) for handle in handles]
        if name == "devices":
            pointers = [item for at, item in enumerate(pointers) if item not in pointers[:at]]
        return self._ffi.new(f"{C_TYPES[kind]} *[]", pointers)

    def _fence(self) -> int:
        """A readable descriptor, used as a signalled fence."""
        reading, writing = os.pipe()
        os.write(writing, b"\0")
        os.close(writing)
        self._kept.append(_Descriptor(reading))
        return reading

    def _variable(self, plan: Planned, name: str, value: Value, arguments: list[Any]) -> Any:
        """Memory for an output of the call. arguments: those to its left."""
        if value.kind == "text":
            return self._ffi.new("const char **")
        if value.kind == "out":
            return self._ffi.new(f"{value.of} *")
        count = len(self._capture.calls)  # no model has more operations
        if name == "dimensions":
            count = max(len(plan.call.results.get(name, ())), self._rank(arguments))
        return self._ffi.new(f"{value.of}[]", count)

    def _rank(self, arguments: list[Any]) -> int:
        """The rank of an output on the local device: the call writes that many sizes."""
        rank = self._ffi.new("uint32_t *")
        execution, index = arguments
        self._lib.ANeuralNetworksExecution_getOutputOperandRank(execution, index, rank)
        return int(rank[0])

    def _constant(self, plan: Planned, value: Value) -> Any:
        """The C data of an argument, or a tuple of the data and its pointee."""
        ffi = self._ffi
        if value.kind == "string":
            text = value.value
            if plan.call.short == "Compilation_setCaching":
                self._cache = self._cache or tempfile.TemporaryDirectory()
                text = self._cache.name
            return ffi.new("char[]", text.encode(errors="surrogateescape"))
        if value.kind == "token":
            return ffi.new("uint8_t[]", value.value)
        if value.kind == "numbers":
            return ffi.new("uint32_t[]", value.value)
        if value.kind == "data":
            return ffi.new("char[]", self._capture.data(value.value) or b"\0")
        if value.kind == "type":
            code, sizes, count, scale, zero_point = value.value
            array = ffi.NULL if sizes is None else ffi.new("uint32_t[]", sizes)
            code = self._types.get(code, code)
            operand_type = (code, count, array, scale, zero_point)
            return ffi.new("ANeuralNetworksOperandType *", operand_type), array
        assert value.kind == "scales"
        dim, scales = value.value
        array = ffi.NULL if scales is None else ffi.new("float[]", scales)
        fields = (dim, 0 if scales is None else len(scales), array)
        return ffi.new("ANeuralNetworksSymmPerChannelQuantParams *", fields), array

    def _keep_made(self, plan: Planned, variables: dict[str, Any]) -> None:
        memory = variables.pop("memory file", None)
        for parameter, value in zip(plan.parameters, plan.values, strict=True):
            if value.kind != "made":
                continue
            made = variables[parameter.name][0]
            if value.of == "event" and made:
                self._events[self._number_of(made)] = made
            if value.value is None:
                continue
            self._handles[value.value] = made
            if memory is not None:
                self._memories[value.value] = memory
        succeeded = plan.call.result == ResultCode.NO_ERROR
        if succeeded and "getExtension" in plan.call.short and "type" in variables:
            self._types[plan.call.results["type"]] = int(variables["type"][0])

    # Contents

    def _place(self, target: str, offset: int) -> tuple[mmap.mmap, int] | None:
        if target in self._buffers:
            return self._buffers[target], offset
        if target in self._memories:
            memory, start = self._memories[target]
            return memory.bytes, start + offset
        return None  # the call that makes it was skipped

    def _fill(self, fill: Fill) -> None:
        target = self._place(fill.target, fill.offset)
        if target is not None:
            data = self._capture.data(fill.contents)
            target[0][target[1] : target[1] + len(data)] = data

    def _compare(self, plan: Planned, variables: dict[str, Any], report: Replay) -> None:
        call = plan.call
        for name in plan.compared:
            expected = call.results[name]
            if name == "supportedOps" and self.device_name:
                continue  # of another device
            is_list = isinstance(expected, list)
            actual = (
                [int(item) for item in self._ffi.unpack(variables[name], len(expected))]
                if is_list
                else int(variables[name][0])
            )
            if actual != expected:
                report.differences.append(
                    Difference(call.number, call.function, name, str(expected), str(actual))
                )
        for check in plan.checks:
            target = self._place(check.target, check.offset)
            if target is None:
                continue
            report.outputs += 1
            expected = self._capture.array(check.contents)
            memory, at = target
            actual_array = np.frombuffer(memory, expected.dtype, expected.size, at)
            difference = differs(expected.ravel(), actual_array, check)
            if difference is not None:
                what = f"output {check.output}" if check.output >= 0 else check.target
                report.differences.append(Difference(call.number, call.function, what, *difference))


def _code(code: int) -> str:
    try:
        return ResultCode(code).name
    except ValueError:
        return str(code)
