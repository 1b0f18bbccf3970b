"""Writes import.md, the mapping of TensorFlow Lite and ONNX operators, from the tables of the
imports.
"""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.formats.onnx.importing import table as onnx
from nnapi_shim.formats.tflite.importing.table import LOWERINGS, why_not
from nnapi_shim.formats.tflite.schema import names

HEAD = """# Files of TensorFlow Lite and ONNX

This page lists which features and operators of a `.tflite` or [`.onnx`](#files-of-onnx) file
nnapi_shim can load, and how.
[Model files](start/models.md) describes how to load a file. In short:

```python
import nnapi_shim

model = nnapi_shim.load("examples/shapes/float.onnx")
print(nnapi_shim.Compilation(model).outputs)
```

`make docs` writes this page from
`docs/write_import.py` and the tables of the import; do not edit it.

## Files of TensorFlow Lite

### Features

| feature | supported | how, or why not |
|---|---|---|
| fused RELU, RELU6, RELU_N1_TO_1 | yes | fused; for integers a separate operation follows |
| fused TANH, SIGN_BIT | no | NNAPI cannot fuse them, and LiteRT's kernels ignore them |
| weights with scales per channel | yes | unchanged; FULLY_CONNECTED with them becomes a \
1x1 convolution |
| weights of 4 bits, by tensor or by channel | yes | unpacked to 8 bits |
| weights with a scale for each block of elements (blockwise INT4 and INT8) | yes | float32 \
if the other input is float32; LiteRT quantizes that input to 8 bits first, so that its results \
are coarser. Other kinds of `quantization.details` are refused |
| weights in float16 | yes | unpacked to float32 |
| quantized weights of operators on float32 | yes | float32; 65,536 \
of FULLY_CONNECTED, LSTM and RNN or more \
stay 8-bit, behind a DEQUANTIZE. LiteRT rounds the other input to 8 bits, NNAPI does not |
| sparse constants, the input of DENSIFY | yes | stored densely, with the zeros |
| quantized operators that NNAPI has only for floats; outputs with other scales than \
NNAPI's | yes | between DEQUANTIZE and QUANTIZE: within one step of LiteRT's result |
| operators that move elements, and the poolings, with other scales in than out | yes | the \
stored elements are copied, as in LiteRT: by CAST of the type to itself. Several outputs must have \
one scale |
| quantized NEG, REDUCE_PROD, FLOOR_DIV, MAXIMUM and MINIMUM of different scales | no | \
LiteRT's results do not match the scales |
| RESIZE_BILINEAR of INT8 | yes | in float32, as NNAPI computes it. LiteRT rounds the scale to \
1/1024, which moves its sampling points by up to (columns of the output) / 2048 of a pixel: 51 \
steps if 11 columns become 640 |
| comparisons of quantized values with different scales | yes | LiteRT first rounds to 1/256 \
of a step, NNAPI does not |
| activations of 16 bits (16x8) | yes | as float32, rounded to steps of the scale after \
each operator: within one 16-bit step of LiteRT's result, up to 6 for LOGISTIC and 12 for TANH, \
which LiteRT approximates, and up to 12 for SOFTMAX with a large beta. Inputs and outputs of the \
model have the quantized elements as TENSOR_INT32 |
| EXP, LOG, RSQRT, PRELU, RESIZE_BILINEAR and cells of 16 bits | no | LiteRT's tables and \
approximations differ from the formula by many 16-bit steps |
| states | yes | inputs and outputs that are carried from run to run (`Model.carry`); so are \
resource variables, with their first values from the file. `Compilation.reset()` restores the \
first values |
| quantized sequences of LSTM cells | yes | a QUANTIZED_LSTM for each step; those with \
projection or normalisation in float32 |
| subgraphs of IF and WHILE | yes | models |
| STABLEHLO_COMPOSITE | yes | the operators of its decomposition |
| a subgraph or decomposition whose inputs or outputs have other scales or zero points than the \
tensors outside | yes | the stored elements pass unchanged, as in LiteRT: by CAST of the type to \
itself |
| a subgraph or decomposition whose inputs or outputs have other types than the tensors outside \
| no | LiteRT gives the tensors inside the types of those outside, and its kernels then refuse \
most graphs |
| 64-bit constants that fit 32 bits, shapes, and computations on shapes | yes | \
folded. A size that depends on data is an unknown dimension |
| 64-bit indices from ARG_MAX and ARG_MIN | yes | TENSOR_INT32 |
| other computed 64-bit values, UINT32, STRING | no | NNAPI has no such type |
| other sizes of inputs than those of the file | yes | `load(path, shapes={"x": (1, 43844, 1)})` |
| tensors of rank above 4 | partly | unchanged for operators of any rank in NNAPI. Else \
adjacent dimensions are merged if the operator allows it; not for inputs of the model or booleans, \
and not if more than 4 dimensions remain |
| a tensor of rank 0 | yes | has dimensions [1] |
| files that were compiled for an NPU (`DISPATCH_OP`) | no | they hold a program of that NPU |
| COS | yes | 1 - 2 sin(x / 2)^2: within 5e-7 of LiteRT, also for large numbers |
| ROUND | yes | exact, halves to even |
| GELU | yes | by tanh, or by the error function (Abramowitz and Stegun 7.1.26): within 3e-7 \
of LiteRT's result |
| TFLite_Detection_PostProcess with a score threshold below 0 | partly | if the operator that \
computes the scores cannot give values below 0 |
| Convolution2DTransposeBias of MediaPipe | yes | TRANSPOSE_CONV_2D, in float32 |
| equal elements in TOPK_V2 | yes | the later one comes first, as in NNAPI; in LiteRT the earlier |

`make check-imports` runs every operator in its documented forms here and in LiteRT.
`load(path, partial=True)` runs in LiteRT what has no NNAPI counterpart; an operator that calls
graphs runs as a whole. Inputs and outputs can then have types that NNAPI lacks;
`nnapi-shim run --partial` takes only INT64 of them.

A damaged file is refused with the location of the defect, such as
`operator 3 CONV_2D: input 1 is tensor 99; the graph has 12`. Loading reads nothing outside of the
file. The memory that it allocates is bounded by the size of the file: 64 MiB plus 16 bytes for each
byte of the file, all graphs together. If the file uses a field of the schema that this version does
not know, the operator with that field is refused, or the whole file;
`tests/formats/tflite/schema_fields.py` lists all known fields, and how each is treated.

### Operators

"""

NOT = """

A use of these operators can still have types, ranks or constants that NNAPI does not support; the
message names them.

### Operators without a counterpart

| reason | operators |
|---|---|
"""


ONNX = """
## Files of ONNX

`nnapi_shim.load("model.onnx")` reads files of IR version 1 to 14 with opset 6 to 28. It needs no
other package. Inputs and outputs have the names of the file; a tensor of rank 0 has dimensions [1].

### Features of ONNX files

| feature | supported | how, or why not |
|---|---|---|
| images, which ONNX stores as NCHW | yes | computed with the channels last, as nnapi-cpu does; \
a TRANSPOSE stands where the graph needs the other order, at inputs and outputs for instance. \
Weights are transposed when the file is loaded |
| signals (N, C, W) | yes | images of height 1 |
| volumes (N, C, D, H, W) | no | NNAPI's images have two dimensions; element-wise operators take \
them |
| inputs with open dimensions, such as the batch | with sizes | `load(path, shapes={"x": (1, 3, \
224, 224)})`; on the command line `model.onnx@x=1,3,224,224` |
| computations on constants and shapes | yes | folded, in 64 bits |
| int64 inputs, indices and results | yes | TENSOR_INT32. A run refuses values beyond 32 bits |
| int64 sums and products of computed values | no | they could exceed 32 bits |
| float16 | yes | TENSOR_FLOAT16 |
| float64, bfloat16, float8, 16-bit, uint32, uint64, 4-bit, text | no | NNAPI has no such \
tensors; constants of 4 bits are taken where DequantizeLinear makes them floats |
| QuantizeLinear, DequantizeLinear | yes | QUANTIZE and DEQUANTIZE; of constants also with \
scales per channel or block. Results are within one step of ONNX's, which rounds halves to even \
|
| QLinearConv, QLinearMatMul | yes | quantized CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D and \
FULLY_CONNECTED where NNAPI has the combination of types and scales, else in float32 |
| the QLinear operators of ONNX Runtime (`com.microsoft`) | partly | QLinearAdd, QLinearMul, \
QLinearConcat, QGemm, pooling and activations, in float32 |
| float operators between DequantizeLinear and QuantizeLinear | yes | Conv, Gemm, MatMul, Add and \
Mul as quantized operations; the others in float32 |
| BatchNormalization after Conv | yes | a part of the convolution |
| MatMulInteger, ConvInteger, DynamicQuantizeLinear | yes | exact: in int32, or in float32 if no \
sum reaches 2^24 |
| If | yes | IF; a branch of a constant condition takes the place of the node |
| Loop | partly | WHILE; with stacked results of the iterations their number must be known at \
import, and they are unrolled, up to 4,096 operators |
| Scan | partly | unrolled, up to 4,096 operators; not version 8 |
| LSTM, GRU, RNN | partly | unrolled, up to 512 steps; constant weights, sequences of one length \
|
| functions that the file defines | yes | their nodes take the place of the call |
| constants in other files (`external_data`) | yes | in files below the folder of the model |
| broadcasting, dimensions of size 1 | yes | as in numpy |
| tensors of rank above 4 | partly | neighbouring dimensions are merged where the operator \
allows it; inputs of the model only in operations that take them |
| infinities and NaN | partly | NNAPI's operations clamp infinities to the largest float32. \
IsNaN and IsInf of computed values, and comparisons of them with infinity, are refused for that \
reason |
| nodes with results of the training mode, sparse initializers, sequences, optional values | no \
| NNAPI has none |
| operators without a counterpart | in parts | `load(path, partial=True)` runs them in ONNX \
Runtime |
| models in parts: values of types that NNAPI lacks, or whose dimensions depend on the data | yes \
| operators that read them run in ONNX Runtime |
| models in parts: values that ONNX Runtime tests by IsInf or IsNaN | in ONNX Runtime | so do all \
operators that they follow from, since NNAPI's operations clamp infinities |

`make check-imports-onnx` runs the test cases of the package `onnx` here: those of single operators,
those from PyTorch, and its whole models. A case whose parameters are inputs is tried again with
constants in their place. A refused case is run again in parts, and compared with ONNX Runtime.
Results on nnapi-cpu:

| cases | all | equal | equal with constant parameters | refused | wrong | \
of the refused, equal in parts: NNAPI and ONNX Runtime | ONNX Runtime alone | \
refused by ONNX Runtime, too | refused | wrong |
|---|---|---|---|---|---|---|---|---|---|---|
{results}

`load(path, partial=True)` needs the package onnxruntime if an operator has no counterpart, and no
other package. Each part of ONNX Runtime is an `.onnx` file in memory with the nodes, functions and
constants of the file, unchanged; If, Loop and Scan run whole. `python -m
tests.formats.onnx.random_graphs` compares random graphs in parts with ONNX Runtime on the whole
graph: {random}.

Each model that `Model.save` writes as `.onnx` comes back with equal results, or is refused: of the
conformance vectors that can be exported, 2,521 are equal and 394 refused, most of them because a
parameter, such as the weights of ConvTranspose, is an input.

A damaged file, or one that claims more than it holds, is refused with one line. What loading
allocates is bounded by the size of the file as for `.tflite` files.

### Operators of ONNX

"""

RESULTS = """| operators | 1884 | 620 | 231 | 1033 | 0 | 129 | 502 | 401 | 1 | 0 |
| PyTorch and others | 140 | 95 | 4 | 41 | 0 | 0 | 23 | 18 | 0 | 0 |
| whole models | 9 | 9 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |"""

RANDOM = "1,886 of 2,000 are computed by both runtimes, 114 by ONNX Runtime alone, 0 are wrong"

ONNX_FOLDED = """

Only where the result follows from constants and dimensions: """

ONNX_NOT = """.

### Operators of ONNX without a counterpart

| reason | operators |
|---|---|
"""


def main() -> None:
    """Write import.md."""
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
    yield ONNX.replace("{results}", RESULTS).replace("{random}", RANDOM)
    yield ", ".join(sorted(onnx.LOWERINGS))
    yield ONNX_FOLDED
    yield ", ".join(onnx.FOLDED)
    yield ONNX_NOT
    reasons = {}
    for name, why in onnx.REASONS.items():
        reasons.setdefault(why, []).append(name)
    for why, operators in sorted(reasons.items()):
        yield f"| {why} | {', '.join(sorted(operators))} |\n"


if __name__ == "__main__":
    main()
