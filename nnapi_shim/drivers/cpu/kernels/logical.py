"""LOGICAL_AND LOGICAL_OR LOGICAL_NOT: bytes of which 0 is false; results are 0 and 1."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.broadcasting import pairwise
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, mapped
from nnapi_shim.drivers.cpu.lowering.logical import LOGICAL
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


@helper
def logical(x, y, flip):
    """Whether the larger of x and y is not 0; the smaller one where flip is 0xFF."""
    return np.int32((max(x ^ flip, y ^ flip) ^ flip) != 0)


@helper
def is_0(x):
    """Whether x is 0."""
    return np.int32(x == 0)


flip_byte = helper(lambda a: np.uint8(a.flip))

pairwise("logical_b8", LOGICAL, READ["u8"], WRITE["b8"], (1, 1), flip_byte, logical)
mapped("logical_not", is_0, "u8", "b8")
