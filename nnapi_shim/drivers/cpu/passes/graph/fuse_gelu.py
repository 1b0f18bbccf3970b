"""Fuses the nine operations of the tanh approximation of GELU into one step, with the same
rounding.
"""

from nnapi_shim.drivers.cpu.lowering.activation import GELU as LAYOUT
from nnapi_shim.drivers.cpu.lowering.elements import TILE, shared
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.pattern import Number, Operand, matches, real
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperand

O = OperationType  # noqa: E741
NUMBERS = ("cubic", "inner", "one", "half")

X = Operand("x")
CUBE = real(O.MUL, real(O.MUL, X, X), X)
SUM = real(O.ADD, real(O.MUL, Number("cubic"), CUBE), X)
SHARE = real(O.ADD, Number("one"), real(O.TANH, real(O.MUL, Number("inner"), SUM)))
GELU = real(O.MUL, Number("half"), real(O.MUL, SHARE, X))
"""x * (TANH((x + x * x * x * cubic) * inner) + one) * half."""


def fuse_gelu(graph: MutableGraph) -> None:
    """Fuse float32 GELU; the two inputs of an ADD or MUL may be in either order."""
    for match in matches(graph, GELU):
        numbers: dict[str, Any] = {name: match.number(name) for name in NUMBERS}
        source = match.operand("x")
        if not graph.is_plain(source) or not is_ordinary(**numbers):
            continue
        last = match[GELU]
        lower = _Gelu(numbers).lower
        match.replace(GELU, Fused(O.MUL, (source,), last.outputs, last.number, lower))
        graph.report(last, f"{title(last)}: with all of a GELU before")


def is_ordinary(cubic: float, inner: float, one: float, half: float) -> bool:
    """Whether the fused step gives the results of the separate operations. The operations clamp all
    products and sums to finite float32; the step clamps only the product with x, from above.

    The argument of TANH overflows float32 only for |x| >= 2^39. Its magnitude then exceeds 2^97
    with and without clamps, with the sign of x, so the hyperbolic tangent is the same. A negative x
    is multiplied by a factor in [0, 1].
    """
    factors_are = all(2.0**-10 <= factor <= 16 for factor in (cubic, inner))
    return factors_are and one == 1 and abs(half) <= 1


class _Gelu:
    """The lowering of a fused GELU with its constants."""

    def __init__(self, numbers: dict[str, Any]) -> None:
        self._numbers = numbers

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step, in place where that is legal."""
        step = Step(
            LAYOUT,
            "gelu_f32",
            in_place="input",
            input=inputs[0],
            output=outputs[0],
            **shared(element_count(outputs[0].dimensions), TILE // 4),
            **self._numbers,
        )
        return [step]
