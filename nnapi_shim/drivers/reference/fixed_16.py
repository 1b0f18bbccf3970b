"""What the quantized LSTMs compute with 16-bit fixed-point numbers, held in int64 arrays."""

import numpy as np

from nnapi_shim.drivers.reference import fixed_functions
from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.fixed_point import doubling_high_product, limited, one

ONE = one(16)


def saturated_16(values: Array) -> Array:
    """Within 16 bits."""
    return limited(values, 16)


def product_16(a: Array, b: Array | int) -> Array:
    """SRDHM of 16-bit numbers."""
    return doubling_high_product(a, np.asarray(b), 16)


def logistic_16(values: Array, integer_bits: int) -> Array:
    """1 / (1 + e^-x), without integer bits."""
    return fixed_functions.logistic(values, integer_bits, 16)


def tanh_16(values: Array, integer_bits: int) -> Array:
    """The hyperbolic tangent, without integer bits."""
    return fixed_functions.tanh(values, integer_bits, 16)
