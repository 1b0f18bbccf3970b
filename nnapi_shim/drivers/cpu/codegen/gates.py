"""The gates of an LSTM."""

from nnapi_shim.drivers.cpu.toolchain.kernel import helper

INPUT, FORGET, CELL, OUTPUT, RESULT = range(5)
"""The gates of an LSTM, and what comes after them."""


@helper
def of_gate(gate, into, forget, cell, out):
    """The one of four values that belongs to a gate."""
    if gate == INPUT:
        return into
    if gate == FORGET:
        return forget
    return cell if gate == CELL else out
