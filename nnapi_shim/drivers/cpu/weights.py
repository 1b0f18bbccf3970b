"""Constants of a prepared model: their addresses, and repacked copies shared by its programs."""

from collections.abc import Callable
from typing import Any

from nnapi_shim import address
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.record import ADDRESS, At, Buffer, Step
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import Model, Subgraph
from nnapi_shim.operations.declare import BoundOperand


class Constants:
    """Where the constants of a model lie, and what `once` steps made of them."""

    def __init__(self, model: Model) -> None:
        self.values, self._keep = address.address_of(model.operand_values)
        """Address of the model's own constants."""
        self._pools = model.pools
        self._packed: dict[Any, address.Block] = {}

    def addresses(self, graph: Subgraph) -> dict[int, int]:
        """Operand -> address, of all constants of a graph."""
        found: dict[int, int] = {}
        for index, operand in enumerate(graph.operands):
            if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
                found[index] = self.values + operand.location.offset
            elif operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
                found[index] = self.pool(operand.location.pool_index) + operand.location.offset
        return found

    def pool(self, number: int) -> int:
        """Address of one of the model's memories; raises UNMAPPABLE."""
        return self._pools[number].map()

    def fill(
        self,
        library: KernelLibrary,
        step: Step,
        constant_address: Callable[[BoundOperand], int | None],
    ) -> bool:
        """Run a `once` step now if every operand that it reads is constant; whether it was run.

        Its result is kept under what determines it, so that the programs of other shapes find it.
        """
        values: list[Any] = []
        for name, kind in step.record.fields.items():
            value = step.fields[name]
            if kind == ADDRESS and name != "output":
                value = self._constant(value, constant_address)
                if value is None:
                    return False
            values.append(value)
        output: Buffer = step.fields["output"]
        at = list(step.record.fields).index("output")
        key = (step.kernel, *values[:at], *values[at + 1 :])
        block = self._packed.get(key)
        if block is None:
            block = address.Block(output.length)
            values[at] = block.address
            self._run(library, step, values)
            self._packed[key] = block
        output.address = block.address
        return True

    def _constant(
        self, value: Any, constant_address: Callable[[BoundOperand], int | None]
    ) -> int | bytes | None:
        """What an ADDRESS field of a `once` step stands for: an address or literal bytes; None for
        what a run has to compute.
        """
        offset = 0
        while isinstance(value, At):
            offset += value.offset
            value = value.base
        if value is None:
            return 0
        if isinstance(value, bytes):
            return value[offset:]
        where = value.address if isinstance(value, Buffer) else constant_address(value)
        return None if where is None else where + offset

    def _run(self, library: KernelLibrary, step: Step, values: list[Any]) -> None:
        literals = [address.address_of(v) if isinstance(v, bytes) else None for v in values]
        words = [v if kept is None else kept[0] for v, kept in zip(values, literals, strict=True)]
        block, keep = address.address_of(step.record.pack(*words))
        kernel = library.function(step.kernel)
        for tile in range(step.tiles):
            if kernel(block, tile):
                raise op_failed(f"kernel {step.kernel} failed while constants were packed")
        del keep, literals
