"""The process of a device: answers the calls of the program, each lane on a thread of its own."""

import json
import os
import pickle
import socket
from _thread import start_new_thread
from collections.abc import Callable, Sequence

from nnapi_shim import log
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.drivers.isolated.description import described, told, told_result
from nnapi_shim.drivers.isolated.lane import End
from nnapi_shim.drivers.isolated.memory import PoolPlace
from nnapi_shim.drivers.isolated.sources import found
from nnapi_shim.drivers.versioned.answer import guarded
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hints import Any
from nnapi_shim.pages import PROT_READ, Pages


def serve(control: int) -> None:
    """Take lanes, and what is needed no more, from the program until it closes the socket."""
    server = Server()
    channel = socket.socket(fileno=control)
    while True:
        message = messages.receive_packet(channel)
        if not message.content:
            os._exit(0)
        if message.content == messages.LANE:
            start_new_thread(server.serve_lane, (End(*message.descriptors),))
        else:
            server.free(json.loads(message.content))


class _Bound:
    """A request bound to a model. told: its last result, which the program knows."""

    def __init__(self, execution: IExecution, pages: Sequence[Pages]) -> None:
        self.execution = execution
        self.pages = pages
        self.told: hal.ExecutionResult | None = None

    def tell(self, result: hal.ExecutionResult) -> bytes:
        """The answer that has a result."""
        if result == self.told:
            return messages.SAME
        self.told = result
        return messages.JSON + json.dumps({"result": told_result(result)}).encode()


class _MappedPool(hal.Pool):
    """Constants in a file of the program."""

    def __init__(self, file: int, place: PoolPlace) -> None:
        self.size, self.since, self.is_immutable = place.size, place.since, place.is_immutable
        self._pages = Pages.of_file(file, place.offset, place.size, PROT_READ)

    def map(self) -> int:
        """Address of the first byte."""
        return self._pages.address


class Server:
    """The devices of this process, and what the program has made with them."""

    def __init__(self) -> None:
        self._devices: dict[str, IDevice] = {}
        self._of: dict[str, dict[int, Any]] = {"model": {}, "execution": {}, "memory": {}}
        self._models: dict[int, IPreparedModel] = self._of["model"]
        self._executions: dict[int, _Bound] = self._of["execution"]
        self._memory: dict[int, Pages] = self._of["memory"]
        self._methods: dict[str, Callable[..., Any]] = {
            "load": self._load,
            "wait": self._wait,
            "supported": self._supported,
            "reasons": self._reasons,
            "prepare": self._prepare,
            "compute": self._compute,
        }

    def serve_lane(self, lane: End) -> None:
        """Answer calls until the program closes the lane."""
        try:
            while content := lane.asked_again():
                lane.tell(self._answer(content, lane))
        except OSError:
            pass  # the program has closed it, and does not wait for the answer
        finally:
            lane.close()

    def free(self, freed: Sequence[tuple[str, int]]) -> None:
        """Drop what the program needs no more."""
        for kind, number in freed:
            self._of[kind].pop(number, None)

    def _answer(self, content: bytes, lane: End) -> bytes:
        try:
            if content[:1] == messages.COMPUTE:
                _, number, deadline_ns = messages.AGAIN.unpack(content)
                bound = self._executions[number]
                computed = bound.execution.compute(deadline_ns or None)
                return messages.SAME if computed is bound.told else bound.tell(computed)
            result = self._called(messages.receive(lane.socket))
        except NnapiError as error:
            result = {"error": told(error)}
        except BaseException as error:
            log.trace(error)
            failed = op_failed(f"{type(error).__name__}: {error}", "isolated.exception")
            result = {"error": told(failed)}
        return result if isinstance(result, bytes) else messages.JSON + json.dumps(result).encode()

    def _called(self, message: messages.Message) -> Any:
        files = [*message.descriptors]
        try:
            method, arguments, memory, freed = pickle.loads(message.content[1:])
            for number, offset, length, protect in memory:
                file = files.pop(0)
                try:
                    if number not in self._memory:
                        self._memory[number] = Pages.of_file(file, offset, length, protect)
                finally:
                    os.close(file)
            self.free(freed)
            result = self._methods[method](files, *arguments)
        finally:
            messages.close_all(files)
        return result if isinstance(result, bytes) else {"result": result}

    # Calls; `files` are their descriptors

    def _load(self, files: Sequence[int], source: Sequence[str]) -> Any:
        """Load the devices. said: lines for stderr; the program writes them, as other processes of
        the source have the same.
        """
        said: list[bytes] = []
        write = log.write_with(said.append)
        try:
            devices = self._loaded(source)
        except BaseException:
            for line in said:
                write(line)
            raise
        finally:
            log.write_with(write)
        lines = [line.decode().rstrip() for line in said]
        return {"id": os.getpid(), "devices": devices, "said": lines}

    def _loaded(self, source: Sequence[str]) -> list[dict[str, Any]]:
        devices = []
        for entry in found(source):
            try:
                device = guarded(entry.name, entry.load)
                self._devices[entry.name] = device
                devices.append(described(device))
            except NnapiError as error:
                devices.append({"name": entry.name, "error": told(error)})
        return devices

    def _wait(self, files: Sequence[int], name: str) -> None:
        self._devices[name].wait()

    def _supported(self, files: Sequence[int], name: str, *model: Any) -> list[bool]:
        return [*map(bool, self._devices[name].getSupportedOperations(_model(files, *model)))]

    def _reasons(self, files: Sequence[int], name: str, *model: Any) -> list[str]:
        ask = getattr(self._devices[name], "getReasons", None)
        return [] if ask is None else ask(_model(files, *model))

    def _prepare(
        self,
        files: Sequence[int],
        name: str,
        number: int,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: hal.CacheHandles | None,
        *model: Any,
    ) -> None:
        self._models[number] = self._devices[name].prepareModel(
            _model(files, *model), preference, priority, deadline_ns, cache
        )

    def _compute(
        self,
        files: Sequence[int],
        model: int,
        number: int,
        request: tuple[Any, ...],
        measure: bool,
        loop_timeout_ns: int,
        deadline_ns: int | None,
    ) -> bytes:
        """Bind a request, and compute it for the first time."""
        inputs, outputs, attributes = request
        pages: list[Pages] = []
        bound = hal.Request(
            tuple(self._argument(pages, *each) for each in inputs),
            tuple(self._argument(pages, *each) for each in outputs),
            tuple(hal.ExtensionAttribute(*each) for each in attributes),
        )
        prepared = self._models[model]
        execution = prepared.createReusableExecution(bound, measure, loop_timeout_ns)
        made = self._executions[number] = _Bound(execution, pages)
        return made.tell(execution.compute(deadline_ns))

    def _argument(
        self,
        pages: list[Pages],
        number: int,
        offset: int,
        length: int,
        dimensions: hal.Dimensions,
        has_no_value: bool,
    ) -> hal.RequestArgument:
        if not number:
            return hal.RequestArgument(0, length, dimensions, has_no_value)
        pages.append(self._memory[number])
        return hal.RequestArgument(pages[-1].address + offset, length, dimensions, has_no_value)


def _model(
    files: Sequence[int],
    model: hal.Model,
    pools: Sequence[PoolPlace],
    types: Sequence[tuple[int, int, bool]],
) -> hal.Model:
    """A model without pools, with these. types: those of extensions, their sizes, and whether they
    are scalars.
    """
    for type, size, is_scalar in types:
        ELEMENT_BYTES[type] = size
        if is_scalar:
            SCALARS.add(type)
    mapped = [_MappedPool(files[each.file], each) for each in pools]
    return model._replace(pools=tuple(mapped))
