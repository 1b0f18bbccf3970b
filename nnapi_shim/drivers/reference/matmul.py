"""FULLY_CONNECTED."""

from nnapi_shim.drivers.reference.arrays import Array, centred
from nnapi_shim.drivers.reference.linear import with_bias
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def fully_connected(op: BoundOperation) -> list[Array]:
    """output[b,u] = act(bias[u] + sum over k of input[b,k] * weights[u,k]).

    input: any shape, seen as [batch, input_size]. weights: [units, input_size].
    """
    inputs, weights = centred(op.input), centred(op.weights)
    units, input_size = weights.shape
    if inputs.size % input_size:
        raise op_failed(f"input has {inputs.size} elements, not a multiple of {input_size}")
    if op.bias.value.size != units:
        raise op_failed(f"bias has {op.bias.value.size} values; weights have {units} rows")
    total = inputs.reshape(-1, input_size) @ weights.T
    return [with_bias(op, total, op.weights)]
