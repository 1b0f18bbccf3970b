"""One call of the C API, and what must hold of every call whatever its arguments."""

import ctypes
import itertools
import mmap
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import build_ffi
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import FUNCTIONS, c_type
from tests.fuzz.comparison import DURATIONS, FOREVER, Answer, Trace
from tests.fuzz.pool import Pool

CODES = {int(code): code.name for code in ResultCode}
SLOT_BYTES, SLOTS = 256, 128
_RETURNS = {
    "void": None,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "const char *": ctypes.c_char_p,
}


class BrokenError(Exception):
    """The library did what it must never do."""


class Log:
    """The last calls, in a file that survives the process."""

    def __init__(self, path: str) -> None:
        with Path(path).open("r+b") as file:
            file.truncate(SLOT_BYTES * SLOTS)
            self._memory = mmap.mmap(file.fileno(), SLOT_BYTES * SLOTS)
        self._number = itertools.count()

    def note(self, text: str) -> int:
        """Add a line; the slot it stands in."""
        number = next(self._number)
        slot = number % SLOTS
        line = f"{number:9} {text}".encode()[:SLOT_BYTES]
        self._memory[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES] = line.ljust(SLOT_BYTES)
        return number

    @staticmethod
    def lines(path: str) -> list[str]:
        """What stands in the file, the oldest first."""
        contents = Path(path).read_bytes()
        slots = (contents[at : at + SLOT_BYTES] for at in range(0, len(contents), SLOT_BYTES))
        actual = [slot.decode(errors="replace").rstrip() for slot in slots]
        return sorted(line for line in actual if line.strip("\0 "))


class Parameter:
    """A parameter of a function, and what may be put in its place."""

    def __init__(self, declaration: Any) -> None:
        text = build_ffi.to_c(declaration)
        self.name = declaration.name
        self.is_pointer = build_ffi.is_pointer(declaration)
        words = text.replace("const ", "").split()
        kind = words[0].removeprefix("ANeuralNetworks")
        stars = text.count("*")
        self.handle = kind if kind in Pool.KINDS and stars == 1 else None
        gives = kind in Pool.KINDS and stars == 2 and "const *" not in text
        self.makes = kind if gives and kind != "Device" else None
        self.is_count = self.name in COUNTS and not self.is_pointer


COUNTS = (
    "length",
    "inputCount",
    "outputCount",
    "numDevices",
    "num_dependencies",
    "rank",
)
"""Parameters that say how much lies behind a pointer: never made larger than it is."""
ANY_LENGTH = frozenset(("Model_setOperandValue", "Execution_setInput", "Execution_setOutput"))
"""A length from 2^32 is refused here before anything is read."""
NUMBERS = (0, 1, 2, 3, 5, -1, -2, 99, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, -(2**31))
SIGNATURES = {
    name: [Parameter(p) for p in function.parameters] for name, function in FUNCTIONS.items()
}
WITH_A_CODE = frozenset(n for n, function in FUNCTIONS.items() if function.returns == "int")
UNKNOWN = 0xA5A5_A5A5_A5A5_A5A5


class Thread(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.handle = ctypes.c_uint64()
        self.scratch = (ctypes.c_uint8 * 8192)()
        self.scratch_address = ctypes.addressof(self.scratch)


class Calls:
    """Calls the library; arguments are made wrong now and then."""

    def __init__(self, library: str, log: Log, trace: str | None = None) -> None:
        """trace: a file for all answers; calls are made such that devices answer alike."""
        self.pool = Pool()
        self.step = -1
        self._trace = Trace(trace) if trace else None
        self.own = Thread()
        self.made: Counter[str] = Counter()
        self.succeeded: Counter[str] = Counter()
        self.count = 0
        self._log = log
        self._functions = {}
        loaded = ctypes.CDLL(library)
        for name, function in FUNCTIONS.items():
            foreign = getattr(loaded, function.name)
            foreign.argtypes = [c_type(parameter) for parameter in function.parameters]
            foreign.restype = _RETURNS[function.returns]
            self._functions[name] = foreign

    def last_error(self) -> str:
        """nnapi_shim_getLastError()."""
        return self._functions["nnapi_shim_getLastError"]().decode(errors="replace")

    def call(
        self, rng: random.Random, name: str, *arguments: Any, wrong: float = 0.0, about: Any = None
    ) -> Any:
        """Call a function; its result.

        wrong: how likely an argument is replaced by a wrong one. A function that gives an object
        by its last parameter is called without it; the object goes to the pool, with `about`.
        """
        signature = SIGNATURES[name]
        values = list(arguments)
        out = None
        makes = signature[-1].makes if signature else None
        if makes:
            out = self.own.handle
            out.value = UNKNOWN
            values.append(ctypes.addressof(out))
        if wrong and values and rng.random() < wrong:
            self._spoil(rng, name, signature, values)
        if self.is_traced and name in DURATIONS and values[DURATIONS[name]]:
            values[DURATIONS[name]] = FOREVER
        self.count += 1
        self._log.note(f"{threading.get_native_id()} {name} {describe(values)}")
        freed = values[0] if name.endswith("_free") else None
        result = self._functions[name](*values)
        self.made[name] += 1
        if name in WITH_A_CODE:
            self._check_code(name, result)
            self._note_answer(name, values, result)
        if freed:
            self.pool.freed(name.partition("_")[0], freed)
        if out is not None and values[-1]:
            if result == 0:
                if not out.value or out.value == UNKNOWN:
                    raise BrokenError(f"{name} succeeded and gave no object")
                self.pool.add(makes, out.value, about)
            elif out.value:
                raise BrokenError(f"{name} failed and left {out.value:#x} in its out-parameter")
        if self.is_traced and name == "Execution_startCompute" and result == 0 and values[-1]:
            made = self.made_handle()
            self.call(rng, "Event_wait", made)
            self.own.handle.value = made
        return result

    @property
    def is_traced(self) -> bool:
        """Whether answers are to be the same on all devices (see comparison.py)."""
        return self._trace is not None

    def _note_answer(self, name: str, values: list[Any], code: int) -> None:
        if self._trace is not None:
            message = self.last_error() if code else ""
            step = f"step {self.step}:"
            self._trace.note(Answer(step, name, describe(values), CODES[code], message))

    def _check_code(self, name: str, code: int) -> None:
        if code == 0:
            self.succeeded[name] += 1
            return
        if code not in CODES:
            raise BrokenError(f"{name} returned {code}")
        message = self.last_error()
        if not message.startswith(f"{FUNCTIONS[name].name}: {CODES[code]}: "):
            raise BrokenError(f"{name} returned {CODES[code]}, and the last error is {message!r}")
        if "please report" in message or "\n" in message:
            raise BrokenError(message)

    def made_handle(self) -> int:
        """The object that the last call on this thread has made."""
        return self.own.handle.value

    def _spoil(
        self, rng: random.Random, name: str, signature: list[Parameter], values: list[Any]
    ) -> None:
        at = rng.randrange(len(values))
        parameter = signature[at]
        if parameter.handle:
            values[at] = self.pool.wrong(rng, parameter.handle)
        elif parameter.is_pointer:
            values[at] = None
        elif parameter.is_count:
            smaller = [0, values[at] // 2, max(0, values[at] - 1)]
            if name in ANY_LENGTH:
                smaller += [2**32, 2**40, 2**63]
            values[at] = rng.choice(smaller)
        else:
            values[at] = rng.choice(NUMBERS)


def describe(values: list[Any]) -> str:
    """Arguments in one line."""
    return " ".join(map(_described, values))


def _described(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 0xFFFF:
        return f"{value:#x}"
    if isinstance(value, ctypes.Array):
        return "[" + ",".join(map(_described, value[:12])) + ("]" if len(value) <= 12 else ",...]")
    return str(value)[:40]
