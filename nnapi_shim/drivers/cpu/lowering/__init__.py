"""Lowering of operations to steps: one file per family, `lower_<operation>(op)` -> steps.

A lowering selects kernels and fills their records; it accesses no memory. It resolves everything
static: padding, activation bounds, multipliers and layouts.
"""

from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Callable, Sequence
from nnapi_shim.modules import import_module
from nnapi_shim.operations import family
from nnapi_shim.operations.declare import BoundOperation

Lower = Callable[[BoundOperation], Sequence[Step | Alias]]
_lowerings: dict[OperationType, Lower] = {}


def lower(op: BoundOperation) -> Sequence[Step | Alias]:
    """The steps of an operation whose shapes are resolved and whose outputs are not all empty."""
    type = op.match.operation.type
    function = _lowerings.get(type)
    if function is None:
        module = import_module(f"{__name__}.{family(type)}")
        function = _lowerings[type] = getattr(module, f"lower_{type.name.lower()}")
    return function(op)
