"""Writes export.md, what each operation becomes in other formats, from the tables of exports."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.formats.graph.builder import Rule
from nnapi_shim.formats.onnx.exporting.table import RULES as ONNX
from nnapi_shim.formats.tflite.exporting.table import RULES as TFLITE
from nnapi_shim.operations import registry

HEAD = """# Models as files

Written by `make docs` from `docs/write_export.py` and the tables of the exports; do not edit.

```python
import numpy as np
import nnapi_shim

with nnapi_shim.Model() as model:
    x = model.input("TENSOR_FLOAT32", [None, 4], name="x")
    y = model.operation("ADD", [x, np.ones(4, np.float32), nnapi_shim.FuseCode.RELU], name="y")
    model.outputs(y)
model.save("sum.tflite")
model.save("sum.onnx")
model.save("sum.c")
model.save("sum.py")
```

The suffix says what is written. A file that is there is replaced only with `overwrite=True`; a new
one appears when it is whole. Names of operands are those of tensors, inputs and outputs; what has
none is `operand_` and its number. Where operations have no counterpart, one message lists each of
them with its number and the reason, and nothing is written.

## TensorFlow Lite

For [LiteRT](https://ai.google.dev/edge/litert) and Netron; needs `pip install
'nnapi_shim[tflite]'`. The signature is `serving_default`. Operators have the lowest version that
has what the model needs.

- Quantized operations stay quantized where a kernel takes them as they are; else they stand in
  float32 between DEQUANTIZE and QUANTIZE. An unsigned image with a filter that has scales of
  channels changes its sign in front and behind.
- float16 is computed in float32, between casts.
- Channels come last; operations with channels first stand between transpositions.
- Explicit padding is SAME or VALID where that is the same, else a PAD in front.
- States that `Model.carry` carries are variables, which a subgraph that runs once gives their
  first values.

Results are those of NNAPI bit for bit in float32 and for most quantized operations; some kernels
round otherwise, by a step. XNNPACK, which LiteRT uses by itself, rounds in its own way.

## ONNX

For [ONNX Runtime](https://onnxruntime.ai) and others, opset 19; needs `pip install
'nnapi_shim[onnx]'`.

- Quantized models are written as QDQ: each operation in float32 between DequantizeLinear and
  QuantizeLinear, weights and biases as whole numbers with their scales, per channel where they
  are. What only moves elements moves them as they are. A result differs from NNAPI's by a step at
  most in one operation; over many layers it is more, after a softmax most.
- 16 bits are arithmetic (Cast, Sub, Mul), since opset 19 has no quantization of that width.
- Channels come first in ONNX: transpositions stand around operations on images, and go where two
  of them undo each other.
- IF becomes If, WHILE becomes Loop, with the condition in front and at the end of each round.
- ONNX has no variables: carried states stay inputs and outputs, and the entry `nnapi_shim.carried`
  of the model's metadata says which belong together.

## Source

`model.c` builds the model with the functions of the NDK alone: `create_model` and `free_model`.
With `-DNNAPI_MAIN` it is a program that reads its inputs from files and writes its outputs to
stdout. Constants above 128 bytes are static arrays, which NNAPI refers to. Names stand in
comments, and states that are carried are the program's to carry.

`model.py` builds it with nnapi_shim: `create_model()`. Constants of more than 16 elements lie
beside it in `model.npz`. It is the same model: operands, operations, names, carried states.

Operations and operand types of extensions have no names in source, and are refused.

## What each operation becomes

*none* stands where there is no counterpart, with the reason. Inputs that decide shapes, sizes or
activations have to be constants, with some exceptions; sizes that are not known may be those of
the first dimension. In the conformance vectors of NNAPI, `make check-exports` counts what is equal
and what is refused.

| operation | TensorFlow Lite | ONNX |
|---|---|---|
"""


def main() -> None:
    """Write the file beside this one."""
    Path(__file__).with_name("export.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    for operation in registry():
        name = operation.type.name
        cells = [_cell(rules[name]) for rules in (TFLITE, ONNX)]
        yield f"| {name} | {cells[0]} | {cells[1]} |\n"


def _cell(rule: Rule) -> str:
    """What an operation becomes, and a remark; or why it becomes nothing."""
    if rule.lower is None:
        return f"*none*: {rule.why}"
    return f"{rule.target} ({rule.why})" if rule.why else rule.target


if __name__ == "__main__":
    main()
