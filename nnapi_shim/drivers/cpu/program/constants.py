"""Constants of a prepared model: their addresses, their packed copies and their digest."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.shared_constants import shared_constants
from nnapi_shim.drivers.cpu.program.threads import ALONE, Crew
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import DataLocation, Dimensions, Model, Subgraph
from nnapi_shim.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.program.digest import Digest, Underway

REFERENCE = OperandLifeTime.CONSTANT_REFERENCE


class Constants:
    """The constants of a model, constants added by passes, and results of `once` steps."""

    def __init__(self, model: Model, crew: Crew = ALONE) -> None:
        self.crew = crew
        """The threads of the model's runs, and of packing."""
        self._model = model
        self._packed: dict[Any, address.Block] = {}
        self._packed_twice: list[address.Block] = []
        self._immutable = [
            range(pool.map(), pool.map() + pool.size) for pool in model.pools if pool.is_immutable
        ]
        self._shared = shared_constants(model.operand_values, bool(self._immutable))
        self.values = self._shared.address
        """Address of the model's own constants (CONSTANT_COPY)."""
        self.halved: set[tuple[int, Dimensions]] = set()
        """Addresses and dimensions of float32 weights that are packed as float16."""
        self._added: list[tuple[int, Any]] = []
        """Address of each constant added by `add`, and the owner of its memory."""
        self._digest: Underway | NnapiError | MemoryError | None = None
        self._referenced: list[tuple[int, int]] = []
        """Address and length of each constant in a memory, once the digest has begun."""

    @property
    def are_relaxed(self) -> bool:
        """Whether float32 may be computed with the range and precision of float16."""
        return self._model.relax_computation_float32_to_float16

    def addresses(self, graph: Subgraph) -> dict[int, int]:
        """Operand -> address, for all constants of a graph."""
        addresses: dict[int, int] = {}
        for index, operand in enumerate(graph.operands):
            if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
                addresses[index] = self.values + operand.location.offset
            elif operand.lifetime is REFERENCE:
                pool = self.pool(operand.location.pool_index)
                addresses[index] = pool + operand.location.offset
        return addresses

    def pool(self, number: int) -> int:
        """Address of one of the model's memories; raises UNMAPPABLE."""
        pools = self._model.pools
        return pools[number].map() if number < len(pools) else self._added[number - len(pools)][0]

    def add(self, contents: bytes) -> tuple[DataLocation, int]:
        """Add a constant as a pool after the model's pools; returns its location and address."""
        block = address.Block(len(contents))
        address.write(block.address, contents)
        entry = block.address, block
        self._added.append(entry)
        at = len(self._added) - 1
        while self._added[at] is not entry:  # another thread has appended an entry
            at -= 1
        return DataLocation(len(self._model.pools) + at, 0, len(contents)), block.address

    def is_added(self, location: DataLocation) -> bool:
        """Whether a location comes from `add`."""
        return location.pool_index >= len(self._model.pools)

    def read(self, where: int, length: int) -> bytes:
        """A copy of a constant."""
        own, at = self._model.operand_values, where - self.values
        if 0 <= at <= len(own) - length:
            return own[at : at + length]
        return address.read(where, length)

    # Results of `once` steps

    def is_shared(self, value: int | bytes) -> bool:
        """Whether the value of an ADDRESS field depends only on the model's own constants, or on
        others that never change.
        """
        return self._shared.has(value) or any(value in addresses for addresses in self._immutable)

    def releasable(self, where: int, length: int) -> bool:
        """Whether the process can drop the pages of a constant, and read them again."""
        return any(
            pool.can_release and 0 <= where - pool.map() <= pool.size - length
            for pool in self._model.pools
        )

    def packed(self, key: Any, is_shared: bool) -> address.Block | None:
        """The block that was packed under a key; None if there is none."""
        return (self._shared.packed if is_shared else self._packed).get(key)

    def keep(self, blocks: dict[Any, address.Block], shared: dict[int, Any]) -> None:
        """Keep packed blocks under their keys.

        shared: address -> key, of blocks that depend only on the model's own constants.
        """
        unkept: set[Any] = set()
        for key, block in blocks.items():
            if self._packed.setdefault(key, block) is not block:
                # Another thread has packed the same; programs may refer to both blocks.
                self._packed_twice.append(block)
            # A key may contain the address of a block. If that block is not kept, its address may
            # be reused for other memory.
            is_kept = unkept.isdisjoint(key) and (
                block.address not in shared or self._shared.keep(key, block)
            )
            if not is_kept:
                unkept.add(block.address)

    # The digest

    def begin_digest(self, digest: "Digest") -> None:
        """Begin the digest of all constants, on another thread if there is much data."""
        values = self._model.operand_values
        try:
            for graph in (self._model.main, *self._model.referenced):
                for operand in graph.operands:
                    if operand.lifetime is REFERENCE:
                        where = operand.location
                        start = self.pool(where.pool_index) + where.offset
                        self._referenced.append((start, where.length))
            ranges = [(self.values, len(values)), *self._referenced]
            self._digest = digest.begun(b"all", ranges, (self._model, self._shared))
        except (NnapiError, MemoryError) as error:
            self._digest = error

    def digest(self) -> bytes:
        """The digest that `begin_digest` began; raises UNMAPPABLE."""
        state = self._digest
        if state is None or isinstance(state, Exception):
            raise state or op_failed(
                "the constants could not be looked at", "compilation.constants.unreadable"
            )
        digest = state.result()
        for where, length in self._referenced:
            if self.releasable(where, length):
                address.drop_pages(where, length)
        return digest
