"""An ADD of bytes after a matrix product as LLVM code: see lowering/fused_add.py."""

from typing import Any

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, WORD, Builder, long, vector
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDITION
from nnapi_shim.drivers.cpu.lowering.quantized_sum import SCALES

OFFSETS = {name: 8 * at for at, name in enumerate(ADDITION.fields)}


def number_of_block(builder: Any, addition: Any, name: str, kind: Any = FLOAT) -> Any:
    """A number of the block."""
    return builder.load_from(builder.add(addition, long(OFFSETS[name])), kind, 4)


class AdditionConstants:
    """The block's constants. limits: bounds of the sums. scales: in all lanes."""

    def __init__(self, builder: Builder, addition: Any, lanes: int) -> None:
        self.limits = [number_of_block(builder, addition, name) for name in ("low", "high")]
        self.scales = [
            builder.splat(number_of_block(builder, addition, name), lanes) for name in SCALES
        ]
        own = number_of_block(builder, addition, "own", WORD)
        self.is_second = builder.icmp_signed("!=", own, WORD(0))

    def in_order(self, builder: Builder, own: Any, other: Any) -> list[Any]:
        """What belongs to each input of the ADD. own: to that which the product computes."""
        pairs = (other, own), (own, other)
        return [builder.select(self.is_second, *pair) for pair in pairs]


def added(
    builder: Any, first: Any, second: Any, constants: AdditionConstants, lanes: int
) -> list[Any]:
    """The sums of int8, in one vector each, before their bounds: vectors of `lanes`."""
    results = []
    scale0, scale1, offset = constants.scales
    wide = [builder.sext(values, vector(WORD, values.type.count)) for values in (first, second)]
    for at in range(0, first.type.count, lanes):
        parts = [builder.pick(values, range(at, at + lanes)) for values in wide]
        x, y = (builder.sitofp(value, vector(FLOAT, lanes)) for value in parts)
        total = ISA.multiply_add(builder, y, scale1, offset)
        results.append(ISA.rounded(builder, ISA.multiply_add(builder, x, scale0, total)))
    return results
