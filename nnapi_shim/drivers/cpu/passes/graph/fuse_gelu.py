"""GELU by its formula with TANH, nine operations, becomes one step that rounds as they do."""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.lowering.activation import GELU as LAYOUT
from nnapi_shim.drivers.cpu.lowering.elements import TILE, shared
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.pattern import Number, Operand, matches, real
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
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
    """GELU of float32; the factors of each product but the last two in any order."""
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
    """Whether the step, which clamps nothing but the product with x, and that from above, gives
    the results of the operations, which clamp all their products and sums.

    The argument of the TANH exceeds float32 only from |x| = 2^39 on. It is then more than 2^97 with
    and without clamps, with the sign of x, and its hyperbolic tangent is the same. A negative x is
    multiplied with 0 to 1.
    """
    factors_are = all(2.0**-10 <= factor <= 16 for factor in (cubic, inner))
    return factors_are and one == 1 and abs(half) <= 1


class _Gelu:
    """The step for it."""

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
