"""The C API through ctypes, with what every call of it must keep to.

A call that succeeds prints nothing. One that is refused prints one line on stderr, which
nnapi_shim_getLastError gives, too. Nothing ever goes to stdout.
"""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import build_ffi
from nnapi_shim.hal.enums import ResultCode

PREFIX = "ANeuralNetworks"

FUNCTIONS = {f.name.removeprefix(PREFIX): f for f in build_ffi.read_headers()[1]}
"""The functions of the headers by their names without the prefix."""

_TYPES = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "ANeuralNetworksOperationType": ctypes.c_int32,
    "void": None,
    "const char *": ctypes.c_char_p,
}


def c_type(parameter: Any) -> Any:
    """The ctypes type of a parameter."""
    if build_ffi.is_pointer(parameter):
        return ctypes.c_void_p
    return _TYPES[build_ffi.to_c(parameter.type)]


class OperandType(ctypes.Structure):
    """ANeuralNetworksOperandType."""

    _fields_ = (
        ("type", ctypes.c_int32),
        ("dimensionCount", ctypes.c_uint32),
        ("dimensions", ctypes.POINTER(ctypes.c_uint32)),
        ("scale", ctypes.c_float),
        ("zeroPoint", ctypes.c_int32),
    )


class ChannelQuant(ctypes.Structure):
    """ANeuralNetworksSymmPerChannelQuantParams."""

    _fields_ = (
        ("channelDim", ctypes.c_uint32),
        ("scaleCount", ctypes.c_uint32),
        ("scales", ctypes.POINTER(ctypes.c_float)),
    )


def uint32s(values: Iterable[int]) -> Any:
    """An array of uint32_t; negative numbers wrap around as in C."""
    listed = [value & 0xFFFFFFFF for value in values]
    return (ctypes.c_uint32 * len(listed))(*listed)


def floats(*values: float) -> Any:
    """An array of float."""
    return (ctypes.c_float * len(values))(*values)


def int32s(*values: int) -> Any:
    """An array of int32_t."""
    return (ctypes.c_int32 * len(values))(*values)


def pointers(*values: int | None) -> Any:
    """An array of pointers."""
    return (ctypes.c_void_p * len(values))(*values)


def operand_type(
    type: int, dimensions: Sequence[int] = (), scale: float = 0.0, zero_point: int = 0
) -> OperandType:
    """An operand type; no dimensions are (0, NULL)."""
    sizes = uint32s(dimensions) if dimensions else None
    return OperandType(type, len(dimensions), sizes, scale, zero_point)


def channel_quant(dim: int, scales: Sequence[float]) -> ChannelQuant:
    """Scales per channel."""
    return ChannelQuant(dim, len(scales), floats(*scales))


class Api:
    """The library, and the objects that a test has made with it.

    Functions are named without their prefix: `api.ok("Model_finish", model)`.
    """

    def __init__(self, path: Any, capture: Any) -> None:
        """capture: pytest's capfd, which sees what the library writes."""
        self._library = ctypes.CDLL(str(path))
        self._capture = capture
        self._made: list[tuple[str, int]] = []
        for function in FUNCTIONS.values():
            foreign = getattr(self._library, function.name)
            foreign.argtypes = [c_type(parameter) for parameter in function.parameters]
            foreign.restype = _TYPES[function.returns]

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function, with the addresses of variables and structs; its result."""
        function = getattr(self._library, FUNCTIONS[name].name)
        in_memory = ctypes.Structure | ctypes._SimpleCData
        return function(*[ctypes.byref(a) if isinstance(a, in_memory) else a for a in arguments])

    def ok(self, name: str, *arguments: Any) -> None:
        """Call a function that has to succeed."""
        assert self.ok_saying(name, *arguments) == ""

    def ok_saying(self, name: str, *arguments: Any) -> str:
        """Call a function that has to succeed; what it writes to stderr."""
        code = self.call(name, *arguments)
        assert code in (ResultCode.NO_ERROR, None), f"{name}: {code}: {self.last_error()}"
        out, err = self._capture.readouterr()
        assert out == ""
        return err

    def refuse(self, code: int | None, name: str, *arguments: Any, saying: str = "") -> None:
        """Call a function that has to refuse with this code; None for a *_free."""
        result = self.call(name, *arguments)
        out, err = self._capture.readouterr()
        assert result == code, f"{name}: {result}, not {code!r}: {err}"
        assert (out, err) == ("", f"nnapi_shim error: {self.last_error()}\n")
        assert err.count("\n") == 1
        assert self.last_error().startswith(f"{FUNCTIONS[name].name}: ")
        assert code is None or f": {ResultCode(code).name}: " in err
        assert saying in err

    def last_error(self) -> str:
        """nnapi_shim_getLastError()."""
        return self.call("nnapi_shim_getLastError").decode()

    def result(self, name: str, *arguments: Any) -> int:
        """Call a function that may succeed or refuse; its result code."""
        code: int = self.call(name, *arguments)
        self._capture.readouterr()
        return code

    def make(self, name: str, *arguments: Any) -> int:
        """Call a function that gives an object by its last parameter; the test owns the object."""
        handle = ctypes.c_uint64(0xA5A5)
        self.ok(name, *arguments, handle)
        assert handle.value not in (0, 0xA5A5)
        kind = "Event" if name.startswith("Execution_start") else name.partition("_")[0]
        self._made.append((f"{kind}_free", handle.value))
        return handle.value

    def make_none(self, code: int, name: str, *arguments: Any, saying: str = "") -> None:
        """Call such a function where it has to refuse; the object must come back as NULL."""
        handle = ctypes.c_uint64(0xA5A5)
        self.refuse(code, name, *arguments, handle, saying=saying)
        assert handle.value == 0

    def get(self, kind: Any, name: str, *arguments: Any) -> Any:
        """Call a function that gives a value of this ctypes type by its last parameter."""
        result = kind()
        self.ok(name, *arguments, result)
        return result.value

    def free(self, handle: int) -> None:
        """Free an object that `make` has made."""
        self.ok(self.forget(handle), handle)

    def forget(self, handle: int) -> str:
        """An object that `make` has made is freed by the test; the name of the function."""
        (entry,) = [made for made in self._made if made[1] == handle]
        self._made.remove(entry)
        return entry[0]

    def free_all(self) -> None:
        """Free what the test has made, the newest first."""
        self._capture.readouterr()  # of a call that made the test fail
        while self._made:
            self.free(self._made[-1][1])

    def devices(self) -> dict[str, int]:
        """Name -> handle of the devices."""
        count = self.get(ctypes.c_uint32, "_getDeviceCount")
        handles = [self.get(ctypes.c_uint64, "_getDevice", number) for number in range(count)]
        names = [self.get(ctypes.c_char_p, "Device_getName", handle) for handle in handles]
        return {name.decode(): handle for name, handle in zip(names, handles, strict=True)}


class Desc(ctypes.Structure):
    """AHardwareBuffer_Desc."""

    _fields_ = (
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("layers", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("usage", ctypes.c_uint64),
        ("stride", ctypes.c_uint32),
        ("rfu0", ctypes.c_uint32),
        ("rfu1", ctypes.c_uint64),
    )
