"""Writes a prepared model to its cache file."""

from itertools import accumulate

from nnapi_shim import address, log
from nnapi_shim.drivers.cpu.cache.cache import ALIGNMENT, HEAD, MAGIC, SEALED, Cache, limits
from nnapi_shim.drivers.cpu.cache.folder import ABSENT
from nnapi_shim.drivers.cpu.cache.format import (
    LITERAL,
    POOL,
    VALUE,
    WEIGHT,
    Description,
    Malformed,
    Steps,
    check,
    packed,
)
from nnapi_shim.drivers.cpu.compile.segments import Segment
from nnapi_shim.drivers.cpu.program.program import STEP_WORDS, Program
from nnapi_shim.drivers.cpu.program.record import Buffer
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hints import Any


def store(cache: Cache, segment: Segment) -> None:
    """Store a segment that covers a whole graph; failures are logged and are not errors."""
    program = segment.program
    if not segment.is_whole or program is None:
        return
    content = _Content()
    description = _description(segment, program, content)
    literals, weights = (b"".join(content.parts[place]) for place in (LITERAL, WEIGHT))
    try:
        check(description, limits(cache.model, len(literals), len(weights)))
    except Malformed as error:
        log.write("debug", f"the compiled model is not kept, it would be refused: {error}")
        return
    description_bytes = packed(description)
    description_bytes += bytes(-(HEAD.size + len(description_bytes)) % ALIGNMENT)
    header = HEAD.pack(
        MAGIC,
        bytes(32),
        cache.key,
        cache.constants.digest(),
        cache.digest.of(b"weights", weights),
        len(description_bytes),
        len(literals),
        len(weights),
    )
    sealed = header[SEALED:] + description_bytes + literals
    seal = cache.digest.of(b"sealed", sealed)
    try:
        cache.folder.write(cache.name, MAGIC + seal + sealed + weights)
    except OSError as error:
        level = "debug" if error.errno in ABSENT else "warning"
        log.write(level, f"{cache.path}: the compiled model is not kept: {error}")


def _description(segment: Segment, program: Program, content: "_Content") -> Description:
    base = STEP_WORDS * program.step_count
    rows = memoryview(program.template)[: 8 * base].cast("q").tolist()
    steps: list[Any] = [step for _, step in program.origins]
    lengths = [step.record.words for step in steps]
    stored_steps = Steps(
        [step.kernel for step in steps],
        [0, *accumulate(lengths[:-1])],
        rows[2::STEP_WORDS],
        rows[3::STEP_WORDS],
        rows[4::STEP_WORDS],
        [step.complaint for step in steps],
        [where for where, _ in program.origins],
    )
    arguments = memoryview(bytearray(program.template[8 * base :])).cast("q")
    fixed: list[int] = []
    for at, owner, offset in program.fixed:
        if at >= base:  # smaller ones are kernel addresses
            arguments[at - base] = 0
            fixed += at - base, *content.place(segment, owner, offset)
    numbers = memoryview(program.patch_bytes).cast("q").tolist()
    patches: list[int] = []
    for at, slot, addend in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        if at >= base:  # smaller ones are the addresses of argument blocks
            patches += at - base, slot, addend
    return Description(
        stored_steps,
        bytes(arguments),
        patches,
        fixed,
        program.arena_bytes,
        program.slots.size // 8,
        [tuple(shape.dimensions) for shape in segment.shapes],
        segment.needed,
    )


class _Content:
    """Collects the literals and weights of a file."""

    def __init__(self) -> None:
        self.parts: dict[int, list[bytes]] = {LITERAL: [], WEIGHT: []}
        self._lengths = {LITERAL: 0, WEIGHT: 0}
        self._offsets: dict[Any, int] = {}

    def place(self, segment: Segment, owner: Any, offset: int) -> tuple[int, int, int]:
        """Kind, pool number and offset of a fixed address; adds its data if needed."""
        if isinstance(owner, bytes):
            return LITERAL, 0, self._add(LITERAL, owner, owner) + offset
        if isinstance(owner, Buffer):
            assert owner.address is not None
            kind = WEIGHT if owner.holds_weights else LITERAL
            key = owner.address
            if key not in self._offsets:
                self._add(kind, key, address.read(key, owner.length))
            return kind, 0, self._offsets[key] + offset
        lowering = segment.lowering
        operand, constants = lowering.operands.declared[owner], lowering.constants
        where = operand.location
        if operand.lifetime is not OperandLifeTime.CONSTANT_COPY and constants.is_added(where):
            data = address.read(constants.pool(where.pool_index), where.length)
            return LITERAL, 0, self._add(LITERAL, owner, data) + offset
        if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
            return VALUE, 0, where.offset + offset
        return POOL, where.pool_index, where.offset + offset

    def _add(self, kind: int, key: Any, data: bytes) -> int:
        offset = self._offsets.get(key)
        if offset is None:
            offset = self._offsets[key] = self._lengths[kind]
            padded = data + bytes(-len(data) % ALIGNMENT)
            self.parts[kind].append(padded)
            self._lengths[kind] += len(padded)
        return offset
