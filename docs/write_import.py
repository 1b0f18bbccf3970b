"""Writes what becomes of the operators of TensorFlow Lite, from the tables of the import."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.formats.tflite.importing.table import LOWERINGS, why_not
from nnapi_shim.formats.tflite.schema import names

HEAD = """# Files of TensorFlow Lite

Written by `make docs` from `docs/write_import.py` and the tables of the import; do not edit.
[Model files](start/models.md) says how such a file is loaded.

## Features of files

| feature | | how, or why not |
|---|---|---|
| fused RELU, RELU6, RELU_N1_TO_1 | taken | fused; of integers an operation behind |
| fused TANH, SIGN_BIT | refused | NNAPI fuses none, and LiteRT's kernels leave them out |
| weights with scales per channel | taken | as they are; FULLY_CONNECTED with them is a \
convolution with a filter of one pixel |
| weights of 4 bits, by tensor or by channel | taken | unpacked to 8 bits |
| weights with a scale for each block of elements (blockwise INT4 and INT8) | taken | float32 \
beside float32 values; LiteRT quantizes those values to 8 bits first, so that its results are \
coarser. Other kinds of `quantization.details` are refused |
| weights in float16, quantized weights beside float32 values | taken | unpacked to float32 |
| sparse constants behind DENSIFY | taken | the zeros are put in |
| quantized operators that NNAPI has for real numbers alone; outputs with other scales than \
NNAPI gives | taken | between DEQUANTIZE and QUANTIZE: LiteRT's result or a step beside it |
| quantized NEG, REDUCE_PROD, FLOOR_DIV, MAXIMUM and MINIMUM of different scales | refused | \
LiteRT does not compute what their scales say |
| RESIZE_BILINEAR of INT8 | taken | in float32, as NNAPI computes it; LiteRT rounds the scale to \
1/1024, so that its places are up to (columns of the output) / 2048 of a pixel beside: 51 steps \
where 11 columns become 640 |
| comparisons of quantized values with different scales | taken | LiteRT rounds to 1/256 of a \
step before, NNAPI does not |
| activations of 16 bits (16x8) | taken | as float32 that is rounded to the steps of the scale \
behind each operator: LiteRT's result or a step of 16 bits beside it, 2 of LOGISTIC and TANH, up \
to 12 of SOFTMAX with a large beta. Inputs and outputs of the model have the elements as \
TENSOR_INT32 |
| EXP, LOG, RSQRT, PRELU, RESIZE_BILINEAR and cells of 16 bits | refused | LiteRT computes them \
by tables or in steps that are many steps of 16 bits away from the formula |
| states | taken | inputs and outputs that are carried from run to run (`Model.carry`); so are \
resource variables, with the first values that the file gives them. `Compilation.reset()` begins \
anew |
| quantized sequences of LSTM cells | taken | a QUANTIZED_LSTM for each step; those with \
projection or normalisation in float32 |
| subgraphs of IF and WHILE | taken | models |
| STABLEHLO_COMPOSITE | taken | the operators of its decomposition |
| constants of 64 bits that 32 bits hold, shapes, and what is computed of shapes | taken | \
folded. A size that only a run tells is an unknown dimension |
| places of 64 bits that ARG_MAX and ARG_MIN give | taken | TENSOR_INT32 |
| other values of 64 bits that are computed, UINT32, STRING | refused | NNAPI has no such type |
| other sizes of inputs than those of the file | taken | `load(path, shapes={"x": (1, 43844, 1)})` |
| tensors of rank above 4 | partial | dimensions that lie side by side are merged where the \
operator allows it; not inputs of the model, of truth values, or where more than 4 are left |
| a tensor of rank 0 | taken | has dimensions [1] |
| files that were compiled for an NPU (`DISPATCH_OP`) | refused | they hold its program |
| COS | taken | 1 - 2 sin(x / 2)^2: within 5e-7 of LiteRT, for large numbers as well |
| ROUND | taken | exact, halves to even |
| GELU | taken | by tanh, or by the error function (Abramowitz and Stegun 7.1.26): within 3e-7 \
of the number of LiteRT |
| TFLite_Detection_PostProcess with a score threshold below 0 | partial | where scores cannot be \
below 0 by what gives them |
| Convolution2DTransposeBias of MediaPipe | taken | TRANSPOSE_CONV_2D, in float32 |
| equal elements in TOPK_V2 | taken | the later comes first, as in NNAPI; LiteRT takes the earlier |

`make check-imports` runs every operator in its documented forms here and in LiteRT. What has no
place in a model is left to LiteRT by `load(path, partial=True)`.

A file that is damaged is refused with the place, such as `operator 3 CONV_2D: input 1 is tensor 99;
the graph has 12`. Nothing is read outside of it, and what is made of it is bounded by its size:
64 MiB and 16 bytes for each of its own, all graphs together. A field of the schema that this
version does not know has the operator refused that it concerns, or the file;
`tests/formats/tflite/schema_fields.py` names all fields that are known, and what becomes of each.

## Operators that are expressed

"""

NOT = """

An operator of these can still have types, ranks or constants that NNAPI does not have; the message
says which.

## Operators that are not

| why | operators |
|---|---|
"""


def main() -> None:
    """Write the file beside this one."""
    Path(__file__).with_name("import.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    yield ", ".join(sorted(LOWERINGS))
    yield NOT
    reasons: dict[str, list[str]] = {}
    for name in names("BuiltinOperator").values():
        if name not in LOWERINGS:
            reasons.setdefault(why_not(name, False), []).append(name)
    for why, operators in sorted(reasons.items()):
        yield f"| {why} | {', '.join(sorted(operators))} |\n"


if __name__ == "__main__":
    main()
