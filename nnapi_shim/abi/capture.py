"""NNAPI_SHIM_CAPTURE: records every call of the program with arguments and results in a file.

Recording does not change the behaviour of calls. An error ends the capture with a warning, and the
program goes on. A forked child records nothing.
"""

import json
import os
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from threading import get_native_id
from time import monotonic_ns, time

from nnapi_shim import log, process
from nnapi_shim.abi import decoding
from nnapi_shim.abi.instrumentation import Watcher, code_of
from nnapi_shim.abi.tables import device_handles, devices
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import RUNTIME_LEVEL, FeatureLevel, OperationType
from nnapi_shim.hal.levels import feature_level
from nnapi_shim.hints import TYPE_CHECKING, Any, Callable
from nnapi_shim.recording import at_exit, container, output
from nnapi_shim.recording.vocabulary import LONG, PARAMETERS, Parameter
from nnapi_shim.settings import CAPTURE, PROFILE, SETTINGS
from nnapi_shim.version import __version__

if TYPE_CHECKING:
    from nnapi_shim.phones.fault_injector import Fault

IN_LINE = 64
"""Maximum size in bytes of contents stored in the line of the call, in hexadecimal."""


class Recorder:
    """Writes the calls of this process to a capture. Thread-safe."""

    def __init__(self, fd: int) -> None:
        from nnapi_shim.abi.captured_contents import Contents

        self._file = os.fstat(fd)
        self._fd = fd
        self._writer = container.Writer(fd)
        self._lock = process.lock()
        self._process = os.getpid()
        self._is_on = True
        self._calls = 0
        self._known: set[str] = set()
        """Number of arrays in the file."""
        self._contents = Contents(self._stored)
        self._faults: dict[int, list[dict[str, Any]]] = {}
        """Thread -> injected faults that are not in the file yet; 0: of threads without a call."""
        self._calling: set[int] = set()
        """Threads that are in a recorded call."""

    # Calls

    def recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a call that is recorded as well."""
        parameters = PARAMETERS.get(name)
        if parameters is None:  # an unknown function
            return function

        @wraps(function)
        def call(*arguments: Any) -> Any:
            entry = self._begun(name, parameters, arguments)
            if entry is None:
                return function(*arguments)
            thread = get_native_id()
            self._calling.add(thread)
            try:
                result = function(*arguments)
            except BaseException as error:
                self._calling.discard(thread)
                self._ended(entry, name, parameters, arguments, error)
                raise
            self._calling.discard(thread)
            self._ended(entry, name, parameters, arguments, None)
            return result

        return call

    def _begun(
        self, name: str, parameters: tuple[Parameter, ...], arguments: tuple[Any, ...]
    ) -> dict[str, Any] | None:
        if not self._is_on:
            return None
        try:
            values = _named(parameters, arguments)
            with self._lock:
                self._calls += 1
                number = self._calls
            entry: dict[str, Any] = {
                "call": number,
                "function": name,
                "thread": get_native_id(),
                "start": monotonic_ns(),
                "arguments": {
                    parameter.name: decoding.argument(parameter, values[parameter.name], values)
                    for parameter in parameters
                },
            }
            if name == "ANeuralNetworksModel_addOperation":
                recorded = entry["arguments"]
                recorded["type"] = decoding.code_name(OperationType, recorded["type"])
            entry.update(self._contents.before(name, values, entry["arguments"]))
            if name in LONG:
                self._write(entry)
                entry = {"call": number}
        except Exception as error:
            self._give_up(error)
            return None
        return entry

    def _ended(
        self,
        entry: dict[str, Any],
        name: str,
        parameters: tuple[Parameter, ...],
        arguments: tuple[Any, ...],
        error: BaseException | None,
    ) -> None:
        if not self._is_on:
            return
        try:
            values = _named(parameters, arguments)
            entry["end"] = monotonic_ns()
            if not name.endswith("_free"):
                entry["result"] = code_of(error)
            if error is not None:
                entry["error"] = str(error)
            if self._faults:
                entry["faults"] = self._taken_faults()
            counts = self._contents.counts(name, values)
            results = decoding.results(parameters, values, counts)
            if results:
                entry["results"] = results
            entry.update(self._contents.after(name, values, succeeded=error is None))
            self._write(entry)
        except Exception as failure:
            self._give_up(failure)

    # Injected faults

    def fault(self, fault: "Fault") -> None:
        """An injected fault: of the call of this thread, or else of the next call that ends."""
        thread = get_native_id()
        of = thread if thread in self._calling else 0
        with self._lock:
            self._faults.setdefault(of, []).append(
                {"rule": fault.rule.text, "call": fault.call, "where": fault.where}
            )

    def _taken_faults(self) -> list[dict[str, Any]]:
        with self._lock:
            taken = self._faults.pop(0, [])
            return taken + self._faults.pop(get_native_id(), [])

    # The file

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, separators=(",", ":")).encode()
        with self._lock:
            if self._is_mine():
                self._writer.line(line)

    def _stored(self, dtype: str, shape: tuple[int, ...], data: bytes) -> dict[str, Any]:
        """The representation of contents in a line; large contents are stored once, as a member."""
        said = {"dtype": dtype, "shape": list(shape)}
        if len(data) <= IN_LINE:
            return {**said, "hex": data.hex()}
        head, body = container.npy(dtype, shape, data)
        digest = blake2b(head, digest_size=16)
        digest.update(body)
        name = container.ARRAYS.format(digest.hexdigest())
        with self._lock:
            if name not in self._known and self._is_mine():
                self._writer.member(name, head, body)
                self._known.add(name)
        return {**said, "array": name}

    def begin(self) -> None:
        """Write the first member."""
        manifest = {
            "format": container.FORMAT,
            "version": container.VERSION,
            "library": __version__,
            "featureLevel": int(_runtime_level()),
            "devices": [
                {
                    "name": device.name,
                    "version": device.version,
                    "featureLevel": int(device.feature_level),
                }
                for device in (devices[handle] for handle in device_handles())
            ],
            "program": _program(),
            "process": self._process,
            "time": time(),
            "clock": monotonic_ns(),
            "settings": {
                setting.name: setting.get()
                for setting in SETTINGS
                if setting.get() != setting.default
            },
        }
        self._writer.member(container.MANIFEST, json.dumps(manifest, indent=1).encode())

    def finish(self) -> None:
        """Write the end of the capture, which marks it as complete."""
        with self._lock:
            if not self._is_on or not self._is_mine():
                return
            self._is_on = False
            try:
                end: dict[str, Any] = {"calls": self._calls}
                if self._faults:
                    end["faults"] = [fault for faults in self._faults.values() for fault in faults]
                self._writer.close(json.dumps(end).encode())
            except (OSError, container.Full) as error:
                log.warning(f"{CAPTURE.name}: the capture has no end: {error}")

    def _is_mine(self) -> bool:
        """Whether this process may write: it is no fork, and the file is still open.

        A program may close unknown descriptors, and reuse their numbers.
        """
        if os.getpid() != self._process:
            self._is_on = False
            return False
        now = os.fstat(self._fd)
        if (now.st_dev, now.st_ino) != (self._file.st_dev, self._file.st_ino):
            raise OSError("the program has closed its descriptor")
        return True

    def _give_up(self, error: BaseException) -> None:
        with self._lock:
            was_on, self._is_on = self._is_on, False
        if was_on:
            why = str(error) or type(error).__name__
            if isinstance(error, container.Full):
                why = "the file is as large as it can be"
            log.warning(f"{CAPTURE.name}: the capture ends here: {why}")
            log.trace(error)


def _named(parameters: tuple[Parameter, ...], arguments: tuple[Any, ...]) -> dict[str, Any]:
    return {parameter.name: value for parameter, value in zip(parameters, arguments, strict=True)}


def _runtime_level() -> FeatureLevel:
    """The feature level that the library reports."""
    if not PROFILE.get():
        return RUNTIME_LEVEL
    from nnapi_shim.phones.current import current

    return feature_level(current().level)


def _program() -> list[str]:
    """The words of the program's command line."""
    try:
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words]


def recorder(setting: str, has_faults: bool = False) -> Watcher | None:
    """The recorder; None, after a warning, if the file cannot be written.

    has_faults: whether faults are injected, which the capture has with the calls.
    """
    try:
        made = Recorder(output.opened(setting, container.is_capture))
        made.begin()
    except (OSError, NnapiError) as error:  # the second is of a device
        why = getattr(error, "strerror", None) or error
        log.warning(f"{CAPTURE.name} is {setting!r}, which is not used; {why}")
        return None
    at_exit.at_exit(made.finish)
    if has_faults:
        from nnapi_shim.abi.faults import observe

        observe(made.fault)
    return made.recorded
