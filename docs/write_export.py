"""Writes export.md, the mapping of operations to other formats, from the tables of exports."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.formats.graph.rule import Rule
from nnapi_shim.formats.onnx.exporting.table import RULES as ONNX
from nnapi_shim.formats.tflite.exporting.table import RULES as TFLITE
from nnapi_shim.operations import registry

HEAD = """# Models as files

This page describes how `Model.save` and `nnapi-shim convert` write a model: as `.tflite`, `.onnx`,
C or Python. `make docs` writes the page from `docs/write_export.py` and the tables of the exports;
do not edit it.

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

The suffix of the file selects the format. `save` replaces an existing file only with
`overwrite=True`, and writes a file completely or not at all. Operands keep their names as names of
tensors, inputs and outputs; an operand without a name is called `operand_` and its number. If
operations have no counterpart in the format, one error lists each of them with its number and the
reason, and nothing is written.

## TensorFlow Lite

These files are for [LiteRT](https://ai.google.dev/edge/litert) and Netron. Writing them needs the
[extra](installing.md#extras) `tflite`. The signature is `serving_default`. Each operator has the
lowest version that supports the model.

- Quantized operations stay quantized if a LiteRT kernel supports them; otherwise they are computed
  in float32 between DEQUANTIZE and QUANTIZE. An unsigned image with a per-channel filter is
  converted to signed before the operation, and the result back to unsigned.
- float16 operations are computed in float32, between casts.
- Channels come last; operations with channels first are written between transpositions.
- Explicit padding becomes SAME or VALID if that is equivalent, otherwise a PAD operator.
- States that `Model.carry` carries become variables. A subgraph that runs once initialises them.

Results equal those of NNAPI bit for bit in float32 and for most quantized operations; some kernels
round differently, by one step. XNNPACK, which LiteRT uses by default, rounds in another way.

## ONNX

These files are for [ONNX Runtime](https://onnxruntime.ai) and others, in opset 19. Writing them
needs the [extra](installing.md#extras) `onnx`.

- Quantized models are written as QDQ: each operation in float32 between DequantizeLinear and
  QuantizeLinear; weights and biases as integers with their scales, per channel where NNAPI has
  that. Operations that only move elements move the quantized ones. The result of one operation
  differs from NNAPI's by at most one step; the differences grow over many layers, most after a
  softmax. On x86 processors without VNNI, ONNX Runtime's sums of 8-bit products saturate, which can
  be tens of steps, unless the program sets its option `session.x64quantprecision` to 1.
- 16-bit quantization is written as arithmetic (Cast, Sub, Mul), because opset 19 has none.
- ONNX has channels first: operations on images are written between transpositions. These move down
  through elementwise operations, concatenations and reductions until they cancel each other: most
  networks of convolutions keep one, at their input.
- IF becomes If. WHILE becomes Loop; the condition is computed before the loop and at the end of
  each round.
- ONNX has no variables: carried states stay inputs and outputs, and the entry `nnapi_shim.carried`
  of the model's metadata lists which belong together.

## Source code

`model.c` builds the model with NDK functions only: `create_model` and `free_model`. With
`-DNNAPI_MAIN` it is a program that reads its inputs from files and writes its outputs to stdout.
Constants above 128 bytes are static arrays, which NNAPI refers to without a copy. Names become
comments. The program itself must carry states from run to run.

`model.py` builds the model with nnapi_shim: `create_model()` calls the typed methods of Model, or
`add_operation` where no method adds the same operation. Run as a program, it runs the model on the
files that are given, or on random inputs. Constants of more than 16 elements go to `model.py.npz`
in the same folder. The result is the same model: operations, names, carried states; operands may
have other numbers, and inputs with default values may be left out.

Operations and operand types of extensions have no names in source code, and are refused.

## What each operation becomes

*none* with a reason means that the format has no counterpart. Inputs that decide shapes, sizes or
activations must be constants, with some exceptions. Only the first dimension may have an unknown
size. `make check-exports` counts the equal results and the refused models among the conformance
vectors of NNAPI.

| operation | TensorFlow Lite | ONNX |
|---|---|---|
"""


def main() -> None:
    """Write export.md."""
    Path(__file__).with_name("export.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    for operation in registry():
        name = operation.type.name
        cells = [_cell(rules[name]) for rules in (TFLITE, ONNX)]
        yield f"| {name} | {cells[0]} | {cells[1]} |\n"


def _cell(rule: Rule) -> str:
    """The exported form of an operation and a remark, or the reason why it has none."""
    if rule.lower is None:
        return f"*none*: {rule.why}"
    return f"{rule.target} ({rule.why})" if rule.why else rule.target


if __name__ == "__main__":
    main()
