"""What a program does with the API: short stories, each in some calls, told well or badly."""

import ctypes
import os
import random
from typing import Any, NamedTuple

from tests.abi.rules.capi import floats, pointers, uint32s
from tests.fuzz.models import FOREVER, CompilationFacts, Models, operand_struct
from tests.fuzz.recipes import CAPACITY, Operand, scrambled
from tests.fuzz.resources import FILE_BYTES, SHARED_AT_MOST

FENCED = "Execution_startComputeWithDependencies"
EXTENSION = b"com.example.extension"
LARGE = 40
"""Of each kind, more objects than this are soon freed again."""


class MemoryFacts(NamedTuple):
    """What is known of a memory: its bytes, or that it was made from a descriptor."""

    size: int
    has_roles: bool = False


class Steps(Models):
    """All stories."""

    # Executions

    def execute(self, rng: random.Random, wrong: float) -> None:
        """An execution with all arguments, run in some way, and its results."""
        call = self.calls.call
        compilation = self.pool.pick(rng, "Compilation")
        facts = self.pool.about(compilation) if compilation else None
        if facts is None:
            return
        if call(rng, "Execution_create", compilation, wrong=wrong, about=facts):
            return
        execution = self.calls.made_handle()
        self._settings(rng, execution, wrong)
        for position, index in enumerate(facts.recipe.inputs):
            self._set(rng, execution, "Input", position, facts.recipe.operands[index], wrong)
        for position, index in enumerate(facts.recipe.outputs):
            self._set(rng, execution, "Output", position, facts.recipe.operands[index], wrong)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            self._run(rng, execution, compilation, wrong)
        if rng.random() < 0.5:
            self._ask(rng, execution, wrong)
        if rng.random() < 0.8:
            call(rng, "Execution_free", execution)

    def run_changed(self, rng: random.Random, wrong: float) -> None:
        """A changed model from its first call to its last, so that a device sees many of them."""
        call = self.calls.call
        recipe = scrambled(rng.choice(self.recipes), rng)
        self._kept.append(recipe)
        model = self._build(rng, recipe, 0)
        facts = CompilationFacts(recipe)
        device = self.pool.pick(rng, "Device")
        if rng.random() < 0.5:
            code = call(rng, "Compilation_create", model, about=facts)
        else:
            listed = (pointers(device), 1)
            code = call(rng, "Compilation_createForDevices", model, *listed, about=facts)
        if code == 0:
            compilation = self.calls.made_handle()
            call(rng, "Compilation_finish", compilation)
            if call(rng, "Execution_create", compilation, about=facts) == 0:
                execution = self.calls.made_handle()
                for role, indexes in (("Input", recipe.inputs), ("Output", recipe.outputs)):
                    for position, index in enumerate(indexes):
                        self._set(rng, execution, role, position, recipe.operands[index], wrong)
                call(rng, "Execution_compute", execution)
                self._ask(rng, execution, 0)
                call(rng, "Execution_free", execution)
            call(rng, "Compilation_free", compilation)
        call(rng, "Model_free", model)

    def _settings(self, rng: random.Random, execution: int, wrong: float) -> None:
        call = self.calls.call
        chosen = rng.random()
        if chosen < 0.2:
            call(rng, "Execution_setReusable", execution, True, wrong=wrong)
        elif chosen < 0.3:
            call(rng, "Execution_setMeasureTiming", execution, rng.random() < 0.7, wrong=wrong)
        elif chosen < 0.35:
            duration = rng.choice((0, 1, 10**6, FOREVER))
            call(rng, "Execution_setTimeout", execution, duration, wrong=wrong)
        elif chosen < 0.4:
            duration = rng.choice((0, 1000, 10**7, FOREVER))
            call(rng, "Execution_setLoopTimeout", execution, duration, wrong=wrong)
        elif chosen < 0.45:
            enable = rng.random() < 0.8
            call(rng, "Execution_enableInputAndOutputPadding", execution, enable, wrong=wrong)
        elif chosen < 0.5:
            name, data = "Execution_addExtensionAttribute", floats(1, 2)
            call(rng, name, execution, EXTENSION, rng.randrange(3), data, 8, wrong=wrong)

    def _set(
        self,
        rng: random.Random,
        execution: int,
        role: str,
        position: int,
        operand: Operand,
        wrong: float,
    ) -> None:
        call = self.calls.call
        type = None
        keep: Any = None
        if rng.random() < 0.05:
            keep = operand_struct(operand, rng if rng.random() < 0.5 else None)
            type = ctypes.addressof(keep[0])
        length = operand.length
        if rng.random() < 0.12:
            memory = self.pool.pick(rng, "Memory")
            about = self.pool.about(memory) if memory else None
            if isinstance(about, MemoryFacts):
                location = (
                    (0, 0) if about.has_roles else (4 * rng.randrange(8), min(length, about.size))
                )
                name = f"Execution_set{role}FromMemory"
                arguments = (execution, position, type, memory, *location)
                if call(rng, name, *arguments, wrong=wrong) == 0:
                    return
        if length <= SHARED_AT_MOST and rng.random() < 0.05:
            where = self.resources.shared_address(rng)
        elif role == "Input":
            buffer = operand.contents
            if buffer is None or rng.random() < 0.05:
                buffer = self.resources.input
            where = ctypes.addressof(buffer)
            length = min(length, ctypes.sizeof(buffer))
        else:
            where = self.resources.output_address(rng)
            length = min(length, CAPACITY)
        if rng.random() < 0.02:  # omitted
            where, length = None, 0
        name = f"Execution_set{role}"
        call(rng, name, execution, position, type, where, length, wrong=wrong)

    def _run(self, rng: random.Random, execution: int, compilation: int, wrong: float) -> None:
        call = self.calls.call
        way = rng.randrange(10)
        if way < 4:
            call(rng, "Execution_compute", execution, wrong=wrong)
        elif way < 6:
            burst = self.pool.pick(rng, "Burst")
            if burst is None or rng.random() < 0.7:
                if call(rng, "Burst_create", compilation, wrong=wrong):
                    return
                burst = self.calls.made_handle()
            call(rng, "Execution_burstCompute", execution, burst, wrong=wrong)
        elif way < 8:
            if call(rng, "Execution_startCompute", execution, wrong=wrong) == 0:
                self._end(rng, self.calls.made_handle(), execution)
        else:
            events = [self.pool.pick(rng, "Event") for _ in range(rng.choice((0, 0, 1, 2)))]
            events = [event for event in events if event]
            duration = rng.choice((0, 0, 0, 1, 10**9, FOREVER))
            arguments = (pointers(*events) if events else None, len(events), duration)
            if call(rng, FENCED, execution, *arguments, wrong=wrong) == 0:
                self._end(rng, self.calls.made_handle(), execution)

    def _end(self, rng: random.Random, event: int, execution: int) -> None:
        """Wait for an execution, free it before its end, or leave it alone."""
        call = self.calls.call
        way = rng.randrange(8)
        if way == 0:
            call(rng, "Execution_free", execution)
        if way == 1:
            return
        for _ in range(rng.randrange(3)):
            call(rng, "Event_wait", event)
        if rng.random() < 0.9:
            call(rng, "Event_free", event)

    def _ask(self, rng: random.Random, execution: int, wrong: float) -> None:
        call, scratch = self.calls.call, self.calls.own.scratch_address
        index = rng.choice((0, 0, 0, 1))
        call(rng, "Execution_getOutputOperandRank", execution, index, scratch, wrong=wrong)
        call(rng, "Execution_getOutputOperandDimensions", execution, index, scratch, wrong=wrong)
        call(rng, "Execution_getDuration", execution, rng.randrange(4), scratch, wrong=wrong)

    # Memory

    def make_memory(self, rng: random.Random, wrong: float) -> None:
        """Memory of a file or of a hardware buffer, or a copy from one to another."""
        call = self.calls.call
        way = rng.randrange(4)
        if way == 0:
            one, other = (self.pool.pick(rng, "Memory") for _ in range(2))
            call(rng, "Memory_copy", one, other, wrong=wrong)
        elif way == 1:
            with self.resources.hardware_buffer(rng) as (buffer, size):
                name = "Memory_createFromAHardwareBuffer"
                if buffer and rng.random() >= wrong:
                    call(rng, name, buffer, about=MemoryFacts(size))
                else:
                    call(rng, name, None)
        else:
            size = rng.choice((8, 64, 4096, FILE_BYTES, FILE_BYTES, 0, 2 * FILE_BYTES, 2**40))
            offset = rng.choice((0, 0, 0, 4, 4096, 5000, 1 << 40))
            protect = rng.choice((3, 3, 3, 1, 2, 0))
            with self.resources.file(rng) as descriptor:
                name = "Memory_createFromFd"
                where = (size, protect, descriptor, offset)
                call(rng, name, *where, about=MemoryFacts(min(size, FILE_BYTES)))

    def describe_memory(self, rng: random.Random, wrong: float) -> None:
        """A descriptor with some roles, and memory made from it."""
        call = self.calls.call
        if call(rng, "MemoryDesc_create"):
            return
        desc = self.calls.made_handle()
        facts = MemoryFacts(0, has_roles=True)
        for _ in range(rng.choice((1, 1, 2))):
            compilation = self.pool.pick(rng, "Compilation")
            role = rng.choice(("Input", "Output"))
            name = f"MemoryDesc_add{role}Role"
            call(rng, name, desc, compilation, rng.choice((0, 0, 0, 1)), 1.0, wrong=wrong)
        if rng.random() < 0.3:
            sizes = [rng.randrange(4) for _ in range(rng.randrange(4))]
            arguments = (len(sizes), uint32s(sizes) if sizes else None)
            call(rng, "MemoryDesc_setDimensions", desc, *arguments, wrong=wrong)
        call(rng, "MemoryDesc_finish", desc, wrong=wrong)
        call(rng, "Memory_createFromDesc", desc, wrong=wrong, about=facts)
        if rng.random() < 0.8:
            call(rng, "MemoryDesc_free", desc)

    # Events

    def use_fence(self, rng: random.Random, wrong: float) -> None:
        """A fence that is signalled soon, waited for by some."""
        call = self.calls.call
        with self.resources.fence(rng) as descriptor:
            if call(rng, "Event_createFromSyncFenceFd", descriptor):
                return
        event = self.calls.made_handle()
        scratch = self.calls.own.scratch
        if call(rng, "Event_getSyncFenceFd", event, ctypes.addressof(scratch), wrong=wrong) == 0:
            os.close(ctypes.c_int.from_buffer(scratch).value)
        if rng.random() < 0.5:
            call(rng, "Event_wait", event, wrong=wrong)
        if rng.random() < 0.7:
            call(rng, "Event_free", event)

    # Ends

    def free(self, rng: random.Random, wrong: float) -> None:
        """Free some objects, most of those of which there are many; some twice."""
        kinds = [kind for kind in self.pool.KINDS if kind != "Device"]
        for kind in kinds:
            count = 3 if self.pool.size(kind) > LARGE else 1 if rng.random() < 0.1 else 0
            for _ in range(count):
                handle = self.pool.pick(rng, kind)
                if handle:
                    self.calls.call(rng, f"{kind}_free", handle)
                    if rng.random() < 0.1:
                        self.calls.call(rng, f"{kind}_free", handle)
        if rng.random() < wrong:
            kind = rng.choice(kinds)
            wrong_one = self.pool.wrong(rng, kind)
            self.calls.call(rng, f"{kind}_free", wrong_one)

    def free_all(self, rng: random.Random) -> None:
        """Free everything, in any order."""
        listed = [
            (kind, handle)
            for kind in self.pool.KINDS
            if kind != "Device"
            for handle in self.pool.live(kind)
        ]
        rng.shuffle(listed)
        for kind, handle in listed:
            self.calls.call(rng, f"{kind}_free", handle)
