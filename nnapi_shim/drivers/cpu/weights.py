"""Constants of a prepared model: their addresses, and repacked copies shared by its programs."""

from collections.abc import Callable, Sequence
from typing import Any

from nnapi_shim import address
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.record import ADDRESS, At, Buffer, Step
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import Model, Subgraph
from nnapi_shim.operations.declare import BoundOperand


class Constants:
    """Where the constants of one graph lie, and what `once` steps made of them."""

    def __init__(self, model: Model, graph: Subgraph) -> None:
        values, self._keep = address.address_of(model.operand_values)
        self._pools = model.pools
        self._addresses: dict[int, int] = {}
        for index, operand in enumerate(graph.operands):
            if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
                self._addresses[index] = values + operand.location.offset
            elif operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
                base = model.pools[operand.location.pool_index].map()
                self._addresses[index] = base + operand.location.offset
        self._packed: dict[Any, address.Block] = {}
        self._buffers: dict[int, tuple[Buffer, address.Block]] = {}
        self._literals: dict[bytes, address.Block] = {}

    def address(self, index: int) -> int | None:
        """Address of a constant operand; None for any other operand."""
        return self._addresses.get(index)

    def buffer_address(self, buffer: Buffer) -> int | None:
        """Address of a buffer that was filled at compilation; None for one in the arena."""
        found = self._buffers.get(id(buffer))
        return found[1].address if found else None

    def literal(self, data: bytes, owners: Sequence[Any]) -> int:
        """Address of constant bytes that a lowering made."""
        block = self._literals.get(data)
        if block is None:
            block = self._literals[data] = address.Block(len(data))
            address.view(block.address, len(data))[:] = data
        return block.address

    def fill(
        self,
        library: KernelLibrary,
        step: Step,
        constant_address: Callable[[BoundOperand], int | None],
    ) -> bool:
        """Run a `once` step now if every operand that it reads is constant.

        Its result is kept under what determines it, so that the programs of other shapes find it.
        """
        values: dict[str, int] = {}
        key: list[Any] = [step.kernel]
        for name, kind in step.record.fields.items():
            value = step.fields[name]
            if kind != ADDRESS:
                key.append(value)
                values[name] = value
                continue
            offset = 0
            while isinstance(value, At):
                offset += value.offset
                value = value.base
            if value is None:
                values[name] = 0
            elif isinstance(value, bytes):
                key.append(value)
                values[name] = self.literal(value, ()) + offset
            elif isinstance(value, Buffer):
                if name == "output":
                    continue
                filled = self.buffer_address(value)
                if filled is None:
                    return False
                key.append(filled)
                values[name] = filled + offset
            else:
                constant = constant_address(value)
                if constant is None:
                    return False
                key.append((constant, offset))
                values[name] = constant + offset
        output = step.fields["output"]
        block = self._packed.get(tuple(key))
        if block is None:
            block = self._packed[tuple(key)] = address.Block(output.length)
            values["output"] = block.address
            packed = step.record.pack(*(values[name] for name in step.record.fields))
            where, keep = address.address_of(packed)
            run = library.function(step.kernel)
            for tile in range(step.tiles):
                if run(where, tile):
                    raise op_failed(f"kernel {step.kernel} failed while constants were packed")
            del keep
        self._buffers[id(output)] = (output, block)
        return True
