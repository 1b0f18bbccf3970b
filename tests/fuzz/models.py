"""Models and compilations, made well or badly."""

import ctypes
import random
import shutil
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

from nnapi_shim.hal.enums import OperandType as T
from tests.abi.rules.capi import OperandType, channel_quant, pointers, uint32s
from tests.fuzz.calls import Calls
from tests.fuzz.recipes import OMITTED, Operand, Recipe, scrambled
from tests.fuzz.resources import Resources

FOREVER = 2**64 - 1


class CompilationFacts(NamedTuple):
    """What is known of a compilation, and of what is made with it."""

    recipe: Recipe


class Models:
    """The first part of the stories. `wrong` is how likely a call of one is spoiled."""

    def __init__(self, calls: Calls, resources: Resources, recipes: list[Recipe]) -> None:
        self.calls = calls
        self.pool = calls.pool
        self.resources = resources
        self.recipes = recipes
        # Buffers of executions that are in flight, though everything of them was freed.
        self._kept: deque[Recipe] = deque(maxlen=500)

    def find_devices(self, rng: random.Random) -> None:
        """Count the devices and ask for each; where devices are compared, for the first one."""
        own = self.calls.own
        count = ctypes.c_uint32()
        self.calls.call(rng, "_getDeviceCount", ctypes.addressof(count))
        for index in range(1 if self.calls.is_traced else count.value + 1):
            before = self.pool.live("Device")
            if self.calls.call(rng, "_getDevice", index, own.scratch_address) == 0:
                handle = ctypes.c_uint64.from_buffer(own.scratch).value
                if handle not in before:
                    self.pool.add("Device", handle)

    def build(self, rng: random.Random, wrong: float) -> None:
        """A model of the catalogue, finished or not."""
        recipe = rng.choice(self.recipes)
        if rng.random() < 0.4:
            recipe = scrambled(recipe, rng)
            self._kept.append(recipe)
        self._build(rng, recipe, wrong)

    def _build(self, rng: random.Random, recipe: Recipe, wrong: float) -> int | None:
        call = self.calls.call
        inner = {}
        for index, operand in enumerate(recipe.operands):
            if isinstance(operand.value, Recipe):
                inner[index] = self._build(rng, operand.value, wrong)
        if call(rng, "Model_create", about=recipe):
            return None
        model = self.calls.made_handle()
        for index, operand in enumerate(recipe.operands):
            self._add_operand(rng, model, index, operand, inner.get(index), wrong)
        operations = list(recipe.operations)
        if wrong and rng.random() < 0.3:
            rng.shuffle(operations)
        for type, inputs, outputs in operations:
            lists = (len(inputs), uint32s(inputs), len(outputs), uint32s(outputs))
            call(rng, "Model_addOperation", model, type, *lists, wrong=wrong)
        lists = (len(recipe.inputs), uint32s(recipe.inputs))
        lists += (len(recipe.outputs), uint32s(recipe.outputs))
        call(rng, "Model_identifyInputsAndOutputs", model, *lists, wrong=wrong)
        if rng.random() < 0.1:
            call(rng, "Model_relaxComputationFloat32toFloat16", model, True, wrong=wrong)
        if rng.random() < 0.97:
            call(rng, "Model_finish", model, wrong=wrong)
        return model

    def _add_operand(
        self,
        rng: random.Random,
        model: int,
        index: int,
        operand: Operand,
        inner: int | None,
        wrong: float,
    ) -> None:
        call = self.calls.call
        struct, sizes = operand_struct(operand, rng if rng.random() < wrong else None)
        call(rng, "Model_addOperand", model, ctypes.addressof(struct), wrong=wrong)
        if operand.channels is not None:
            quant = channel_quant(*operand.channels)
            name = "Model_setOperandSymmPerChannelQuantParams"
            call(rng, name, model, index, ctypes.addressof(quant), wrong=wrong)
        value = operand.value
        if isinstance(value, Recipe):
            if inner is not None:
                call(rng, "Model_setOperandValueFromModel", model, index, inner, wrong=wrong)
        elif value == OMITTED and value is not None:
            call(rng, "Model_setOperandValue", model, index, None, 0, wrong=wrong)
        elif value is not None:
            memory = self.pool.pick(rng, "Memory") if rng.random() < 0.03 else None
            if memory is not None:
                name = "Model_setOperandValueFromMemory"
                call(rng, name, model, index, memory, 4, len(value), wrong=wrong)
            where = ctypes.addressof(operand.contents)
            call(rng, "Model_setOperandValue", model, index, where, len(value), wrong=wrong)
        del sizes

    def ask_support(self, rng: random.Random, wrong: float) -> None:
        """Which operations of a model devices support."""
        model = self.pool.pick(rng, "Model")
        devices = self._devices(rng)
        supported = self.calls.own.scratch_address
        name = "Model_getSupportedOperationsForDevices"
        arguments = (model, pointers(*devices), len(devices), supported)
        self.calls.call(rng, name, *arguments, wrong=wrong)

    def _devices(self, rng: random.Random) -> list[int]:
        devices = self.pool.live("Device")
        rng.shuffle(devices)
        return devices[: rng.choice((1, 1, 1, 2))]

    def compile(self, rng: random.Random, wrong: float) -> None:
        """A compilation of a model, for all devices or for some."""
        call = self.calls.call
        model = self.pool.pick(rng, "Model")
        recipe = self.pool.about(model) if model else None
        if recipe is None:
            return
        facts = CompilationFacts(recipe)
        if rng.random() < 0.7:
            devices = self._devices(rng)
            name = "Compilation_createForDevices"
            listed = (pointers(*devices), len(devices))
            code = call(rng, name, model, *listed, wrong=wrong, about=facts)
        else:
            code = call(rng, "Compilation_create", model, wrong=wrong, about=facts)
        if code:
            return
        compilation = self.calls.made_handle()
        if rng.random() < 0.1:
            preference, priority = rng.randrange(3), rng.choice((90, 100, 110))
            call(rng, "Compilation_setPreference", compilation, preference, wrong=wrong)
            call(rng, "Compilation_setPriority", compilation, priority, wrong=wrong)
            duration = rng.choice((0, 1, 10**6, 10**9, FOREVER))
            call(rng, "Compilation_setTimeout", compilation, duration, wrong=wrong)
        if rng.random() < 0.1:
            self._cache(rng, compilation, wrong)
        if rng.random() < 0.95:
            call(rng, "Compilation_finish", compilation, wrong=wrong)
        if rng.random() < 0.1:
            call(rng, "Burst_create", compilation, wrong=wrong, about=facts)

    def _cache(self, rng: random.Random, compilation: int, wrong: float) -> None:
        token = bytes(rng.randrange(3) for _ in range(32)) if rng.random() < 0.2 else bytes(32)
        folder = self.resources.cache_folder
        shared = folder / str(rng.randrange(3))
        way = rng.randrange(10)
        if way == 0:
            shutil.rmtree(shared, ignore_errors=True)
        elif way == 1:
            damage(random.Random(rng.random()), shared)
        elif way != 2:
            with suppress(FileExistsError):  # another thread removes it at the same time
                shared.mkdir(exist_ok=True)
        name = "Compilation_setCaching"
        self.calls.call(rng, name, compilation, bytes(shared), token, wrong=wrong)


def operand_struct(operand: Operand, spoil: random.Random | None) -> tuple[OperandType, Any]:
    """An ANeuralNetworksOperandType, and what it points to; made wrong where `spoil` is given."""
    dimensions = tuple(operand.dimensions)
    scale, zero_point, type = operand.scale, operand.zero_point, int(operand.type)
    if spoil is not None:
        way = spoil.randrange(6)
        if way == 0:
            type = spoil.choice((*T, 16, 9999, 1 << 16, 0x12345, -1))
        elif way == 1:
            scale = spoil.choice((0.0, -1.0, 0.5, float("nan"), float("inf")))
        elif way == 2:
            zero_point = spoil.choice((-129, -1, 1, 200, 256, 65536, -(2**31)))
        elif way == 3:
            # Either few elements, or more than any operand may have.
            sizes = (0, 1, 2, 3, 5, 0xFFFFFFFF)
            dimensions = tuple(spoil.choice(sizes) for _ in range(spoil.randrange(6)))
    sizes = uint32s(dimensions) if dimensions else None
    struct = OperandType(int(type), len(dimensions), sizes, scale, zero_point)
    if spoil is not None and way == 4:
        struct.dimensions = None
        struct.dimensionCount = spoil.choice((0, 1, 2, 0xFFFFFFFF))
    elif spoil is not None and way == 5:
        struct.dimensionCount = spoil.randrange(len(dimensions) + 1)
    return struct, sizes


def damage(rng: random.Random, folder: Any) -> None:
    """Shorten a file of a folder, or change a byte of it."""
    try:
        files = [path for path in folder.rglob("*") if path.is_file()]
        if not files:
            return
        path = rng.choice(files)
        contents = bytearray(path.read_bytes())
        if contents and rng.random() < 0.5:
            contents[rng.randrange(len(contents))] ^= 1 << rng.randrange(8)
        else:
            del contents[rng.randrange(len(contents) + 1) :]
        # A new file: what is mapped of the old one stays as it was.
        path.unlink()
        path.write_bytes(bytes(contents))
    except OSError:
        return  # another thread has deleted it
