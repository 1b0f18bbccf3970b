"""One call of any function with any arguments, sensible ones among them."""

import ctypes
import random
from collections.abc import Callable
from typing import Any

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.abi.rules.capi import FUNCTIONS, channel_quant, pointers, uint32s
from tests.fuzz.calls import NUMBERS, SIGNATURES, Calls, Parameter
from tests.fuzz.comparison import LEFT_OUT
from tests.fuzz.models import CompilationFacts, operand_struct
from tests.fuzz.recipes import Operand, Recipe
from tests.fuzz.resources import Resources
from tests.fuzz.steps import EXTENSION

NOT_ALONE = frozenset(
    (
        # They need what only a story can give: descriptors and buffers that stay alive.
        "Memory_createFromFd",
        "Memory_createFromAHardwareBuffer",
        "Event_createFromSyncFenceFd",
        "Event_getSyncFenceFd",
    )
)
SETTERS = {"Execution_setInput": "Input", "Execution_setOutput": "Output"}
STRINGS = ("extensionName", "cacheDir", "token")
TYPES = tuple(T)
CODES = (*O, 106, 9999, 10000, 65536 + 1, -1)


class Single:
    """Random arguments by the names and types of parameters."""

    def __init__(self, calls: Calls, resources: Resources) -> None:
        self.calls = calls
        self.pool = calls.pool
        self.resources = resources
        left_out = LEFT_OUT if calls.is_traced else ()
        self.names = sorted(set(FUNCTIONS) - NOT_ALONE - set(left_out))
        self._by_name: dict[str, Callable[[random.Random], Any]] = {
            "index": lambda rng: rng.choice((0, 0, 1, 2, *NUMBERS)),
            "preference": lambda rng: rng.choice((0, 1, 2, *NUMBERS)),
            "priority": lambda rng: rng.choice((90, 100, 110, *NUMBERS)),
            "duration": lambda rng: rng.choice((0, 1, 1000, 10**9, 2**64 - 1)),
            "durationCode": lambda rng: rng.choice((0, 1, 2, 3, *NUMBERS)),
            "frequency": lambda rng: rng.choice((1.0, 0.5, 0.0, -1.0, 2.0, float("nan"))),
            "devIndex": lambda rng: rng.choice((0, 1, 2, 2**32 - 1)),
            "extensionName": lambda rng: rng.choice((EXTENSION, b"", b"a.b", b"\xff\xfe")),
            "cacheDir": lambda rng: bytes(self.resources.cache_folder),
            "token": lambda rng: bytes(32),
            "offset": lambda rng: rng.choice((0, 0, 4, 60, 4096, 1 << 40, 2**64 - 4)),
        }

    def call(self, rng: random.Random) -> None:
        """Any function."""
        name = rng.choice(self.names)
        signature = SIGNATURES[name]
        makes = bool(signature and signature[-1].makes)
        keep: list[Any] = []
        arguments = self._arguments(rng, name, signature[:-1] if makes else signature, keep)
        about = self._inherited(name, arguments) if makes else None
        self.calls.call(rng, name, *arguments, wrong=0.2, about=about)

    def _inherited(self, name: str, arguments: list[Any]) -> Any:
        """An object knows what the one that it is made from knew, if that is of use."""
        known = self.pool.about(arguments[0]) if arguments and arguments[0] else None
        if name.startswith("Compilation_create"):
            return CompilationFacts(known) if isinstance(known, Recipe) else None
        return known if isinstance(known, CompilationFacts) else None

    def _arguments(
        self, rng: random.Random, name: str, signature: list[Parameter], keep: list[Any]
    ) -> list[Any]:
        arguments: list[Any] = []
        if name in SETTERS:
            return self._set(rng, name, keep)
        for position, parameter in enumerate(signature):
            if parameter.handle:
                arguments.append(self.pool.pick(rng, parameter.handle))
            elif parameter.name in self._by_name and not parameter.is_pointer:
                arguments.append(self._by_name[parameter.name](rng))
            elif parameter.is_count:
                arguments.append(self._count(rng, name, position, signature))
            elif parameter.is_pointer:
                count = arguments[-1] if arguments and signature[position - 1].is_count else 4
                arguments.append(self._pointer(rng, name, parameter, count, keep))
            elif parameter.name == "type":
                arguments.append(int(rng.choice(CODES)))
            else:
                arguments.append(rng.choice((0, 1, 1, *NUMBERS)))
        return arguments

    def _count(
        self, rng: random.Random, name: str, position: int, signature: list[Parameter]
    ) -> int:
        """At most 4 of what is pointed to, or the bytes of the buffer."""
        if signature[position].name == "length":
            return rng.choice((0, 1, 2, 4, 8, 24, 64))
        return rng.randrange(5)

    def _pointer(
        self, rng: random.Random, name: str, parameter: Parameter, count: int, keep: list[Any]
    ) -> Any:
        if parameter.name in STRINGS:
            return self._by_name[parameter.name](rng)
        if parameter.name in ("devices", "dependencies"):
            kind = "Device" if parameter.name == "devices" else "Event"
            keep.append(pointers(*[self.pool.pick(rng, kind) for _ in range(4)]))
            return keep[-1]
        if parameter.name == "type" and "getExtension" not in name:
            operand = Operand(rng.choice(TYPES), (2, 3)[: rng.randrange(3)], rng.choice((0, 0.5)))
            keep.append(operand_struct(operand, rng if rng.random() < 0.3 else None))
            return ctypes.addressof(keep[-1][0])
        if parameter.name == "channelQuant":
            keep.append(channel_quant(rng.randrange(3), [0.5] * rng.randrange(4)))
            return ctypes.addressof(keep[-1])
        if parameter.name in ("inputs", "outputs", "dimensions") and "getOutput" not in name:
            keep.append(uint32s([rng.choice((0, 1, 2, 3, 4, 99)) for _ in range(4)]))
            return keep[-1]
        if parameter.name in ("buffer", "data"):
            return ctypes.addressof(self.resources.input)
        return self.calls.own.scratch_address

    def _set(self, rng: random.Random, name: str, keep: list[Any]) -> list[Any]:
        length = rng.choice((0, 1, 4, 8, 24, 4096))
        if SETTERS[name] == "Input":
            where = ctypes.addressof(self.resources.input)
        else:
            where = self.resources.output_address(rng)
        type = None
        if rng.random() < 0.3:
            keep.append(operand_struct(Operand(T.TENSOR_FLOAT32, (2, 3)), rng))
            type = ctypes.addressof(keep[-1][0])
        execution = self.pool.pick(rng, "Execution")
        return [execution, rng.choice((0, 1, 2, -1)), type, where, length]
