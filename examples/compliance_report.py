"""Prints which operations of a model devices for HAL 1.0 and 1.1 can be given, and why not others.

The model has operations of the feature levels 1 to 7.
"""

import numpy as np

import nnapi_shim
from nnapi_shim import FuseCode, OperandType, PaddingCode


def model() -> nnapi_shim.Model:
    """Finished; every operation reads the image that is the input."""
    branch = nnapi_shim.Model()
    given = branch.input(OperandType.TENSOR_FLOAT32, [1, 4, 4, 4])
    branch.outputs(branch.operation("RELU", [given]))
    branch.finish()

    whole = nnapi_shim.Model()
    image = whole.input(OperandType.TENSOR_FLOAT32, [1, 4, 4, 4])
    condition = whole.input(OperandType.TENSOR_BOOL8, [1])
    signed = whole.input(OperandType.TENSOR_QUANT8_ASYMM_SIGNED, [1, 4], scale=0.5)
    unsigned = whole.input(OperandType.TENSOR_QUANT8_ASYMM, [1, 4], scale=0.5)
    filters, bias = np.zeros((2, 3, 3, 4), np.float32), np.zeros(2, np.float32)
    convolution = [image, filters, bias, PaddingCode.SAME, 1, 1, FuseCode.NONE]
    whole.outputs(
        whole.operation("ADD", [image, image, FuseCode.NONE]),
        whole.operation("CONV_2D", [*convolution, False]),  # the layout that it has anyway
        whole.operation("SUB", [image, image, FuseCode.NONE]),
        whole.operation("CONV_2D", [*convolution, True]),
        whole.operation("SOFTMAX", [whole.operation("RESHAPE", [image, np.array([4, 4, 4])]), 1.0]),
        whole.operation("LOG", [image]),
        whole.operation("ADD", [signed, signed, FuseCode.NONE], scale=1.0),
        whole.operation("IF", [condition, branch, branch, image]),
        whole.operation("RESHAPE", [np.zeros(4, np.int32), np.array([2, 2])]),
        whole.operation("PACK", [0, image, image]),
        whole.operation("RSQRT", [unsigned], scale=0.5),
        whole.operation("REVERSE", [image, np.array([1])]),
    )
    whole.finish()
    return whole


if __name__ == "__main__":
    print(nnapi_shim.compliance(model()))
