"""Writes what becomes of the operators of TensorFlow Lite, from the tables of the import."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.formats.tflite.importing.table import LOWERINGS, why_not
from nnapi_shim.formats.tflite.schema import names

HEAD = """# Files of TensorFlow Lite

Written by `make docs` from `docs/write_import.py` and the tables of the import; do not edit.
[Model files](start/models.md) says how such a file is loaded.

- Activations are fused. TANH and SIGN_BIT, which NNAPI does not fuse and LiteRT's kernels leave
  out, are refused.
- Weights with scales per channel stay as they are. Fully connected layers that have such weights
  are convolutions with a filter of one pixel.
- Weights of 16 bits in float are unpacked, and so are quantized weights beside float32 values.
- Weights with a scale for each block of elements (blockwise INT4 and INT8) become float32 beside
  float32 values; LiteRT quantizes those values to 8 bits first, so that its results are coarser.
  Other kinds of `quantization.details` are refused.
- Quantized operations that NNAPI has for real numbers alone stand between DEQUANTIZE and QUANTIZE,
  and so do outputs with other scales than NNAPI gives them. Such a result is LiteRT's or a step
  beside it.
- States are inputs and outputs that are carried from run to run (`Model.carry`); so are resource
  variables, with the first values that the file gives them. `Compilation.reset()` begins anew.
- Quantized sequences of LSTM cells are a QUANTIZED_LSTM for each step. Those with projection or
  normalisation are computed in float32.
- Subgraphs of IF and WHILE are models.
- Constants of 64 bits that 32 bits hold, shapes, and what is computed of shapes are folded. A size
  that only a run tells is an unknown dimension.
- Places of 64 bits that ARG_MAX and ARG_MIN give are TENSOR_INT32; other values of 64 bits that are
  computed have no type in NNAPI.
- Activations of 16 bits (16x8) are refused: NNAPI's operations take such values in few places, and
  none that computes sums of products. `load(path, partial=True)` leaves them to LiteRT.
- A tensor of rank 0 has dimensions [1].
- Of equal elements TOPK_V2 takes the later first, as NNAPI does; LiteRT takes the earlier.

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
