"""What the example devices run: their level, and operations on float32."""

from tests.conformance.vectors import ROOT

DRIVERS = ROOT / "examples" / "drivers"
FLOAT_1_0 = "ADD,MUL,FLOOR,RELU,TANH,LOGISTIC,RESHAPE,CONCATENATION,SOFTMAX,FULLY_CONNECTED"
FLOAT_1_1 = "ADD,SUB,DIV,MEAN,SQUEEZE,SPACE_TO_BATCH_ND,BATCH_TO_SPACE_ND,STRIDED_SLICE,TRANSPOSE"
DEVICES = [("example-plain", 1, FLOAT_1_0), ("example-threaded", 2, FLOAT_1_1)]
"""Name, feature level, operations."""
