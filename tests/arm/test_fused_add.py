"""The ADD in the epilogue of a quantized product on AArch64, run in an emulator: its outputs are
those of nnapi-reference, bit by bit.

Models of a convolution and an ADD give the constants, and the reference their results. The sums of
the convolution are computed here; the epilogue that `emit_sums` writes does the rest.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.isa import aarch64
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDITION
from nnapi_shim.drivers.cpu.passes.schedule import fuse_additions
from nnapi_shim.drivers.reference.fixed_point import decomposed
from tests.arm.test_arm import COMPILER, QEMU, ROOT, SYSROOT, needs_compiler, needs_emulator

MISTAKES = (
    *("shift", "borrow", "rounding", "bounds", "limits", "product_zero", "other_zero", "exchanged"),
    *("fine", "sum", "coarse"),
)
"""Of emit_sums.py."""
U8, S8, QC8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_SYMM_PER_CHANNEL"
TILING = aarch64.NEON.tiling
ROWS, COLUMNS = TILING.rows, TILING.columns
MODELS, PIXELS = 160, 61
UNUSED = 0xA5
"""In the output, where nothing is to be written."""
CALL = np.dtype(
    [
        ("numbers", "<i8", 4),
        ("block", "<i8", ADDITION.words),
        ("bounds", "<f4", 2),
        ("panel", "<i4", (6, COLUMNS)),
        ("sums", "<i4", (ROWS, COLUMNS)),
        ("addend", "u1", (ROWS, COLUMNS)),
    ]
)
"""numbers: rows, columns, zero point and flip of the product. block: what is added, and how.
bounds: of the product. panel: the bias, which is in the sums already; constants of columns.
"""
MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct call {
    int64_t numbers[4], block[WORDS];
    float bounds[2];
    int32_t panel[6 * COLUMNS], sums[ROWS * COLUMNS];
    uint8_t addend[ROWS * COLUMNS];
};
typedef int64_t word;
typedef void sums(word table, word taps, word depth, word base, word zero, word panel, word output,
    word output_stride, word rows, word columns, word correction, word flip, word zero_point,
    word output_flip, word addend, word addend_stride, word addition, float low, float high);
#define VARIANT(name) extern sums sums_##name;
VARIANTS
#undef VARIANT
#define VARIANT(name) { #name, sums_##name },
static const struct { const char *name; sums *function; } variants[] = { VARIANTS };
int main(int count, char **words)
{
    static struct call in;
    uint8_t out[ROWS * COLUMNS];
    sums *function = 0;
    for (size_t at = 0; at < sizeof variants / sizeof *variants; at++)
        if (count == 2 && strcmp(words[1], variants[at].name) == 0)
            function = variants[at].function;
    if (!function)
        return 1;
    while (fread(&in, sizeof in, 1, stdin) == 1) {
        memset(out, UNUSED, sizeof out);
        function((intptr_t)in.sums, 0, 0, 0, 0, (intptr_t)in.panel, (intptr_t)out, COLUMNS,
            in.numbers[0], in.numbers[1], 0, 0, in.numbers[2], in.numbers[3],
            (intptr_t)in.addend, COLUMNS, (intptr_t)in.block, in.bounds[0], in.bounds[1]);
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""


class Fused(NamedTuple):
    """A model whose ADD is fused. sums, addends and results: [PIXELS, columns]."""

    fields: dict[str, Any]
    multipliers: Any
    sums: Any
    addends: Any
    results: Any
    kind: str


def program(folder: Path) -> Path:
    """All variants in one."""
    environment = {"NNAPI_SHIM_BUILD_TIER": "neon", "NNAPI_SHIM_BUILD_MACHINE": "aarch64"}
    command = [sys.executable, "-m", "tests.arm.emit_sums", folder / "sums.o"]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)
    numbers = {"WORDS": ADDITION.words, "ROWS": ROWS, "COLUMNS": COLUMNS, "UNUSED": UNUSED}
    numbers["VARIANTS"] = " ".join(f"VARIANT({name})" for name in ("correct", *MISTAKES))
    (folder / "main.c").write_text(MAIN)
    defines = [f"-D{name}={value}" for name, value in numbers.items()]
    sources = [folder / "main.c", folder / "sums.o"]
    subprocess.run([COMPILER, "-O1", *defines, *sources, "-o", folder / "sums"], check=True)
    return folder / "sums"


def fused(random: np.random.Generator) -> Fused | None:
    """A random model, if its ADD is fused."""
    kind = random.choice([U8, S8])
    least, dtype = (0, np.uint8) if kind == U8 else (-128, np.int8)

    def zero_point() -> int:
        return least + int(random.choice([0, 255, 128, random.integers(256)]))

    def scale() -> float:
        return float(np.float32(2.0 ** random.choice([0, -1, random.uniform(-5, 2)])))

    columns, depth = int(random.integers(1, COLUMNS + 1)), int(random.integers(1, 5))
    zeros, scales = [zero_point() for _ in range(4)], [scale() for _ in range(3)]
    x_scale, w_scales = scale(), [scale() for _ in range(columns)]
    model = Model()
    x = model.input(kind, [1, PIXELS, 1, depth], x_scale, zeros[0])
    y = model.input(kind, [1, PIXELS, 1, columns], scales[1], zeros[2])
    weights = random.integers(-127, 128, (columns, depth))
    stored = model.constant(
        weights.astype(np.int8).reshape(columns, 1, 1, -1), QC8, scales=w_scales
    )
    # Most sums are within the bounds of the output, some are as large as there are.
    biases = random.integers(-(2**31) + 2**20, 2**31 - 2**20, columns) >> random.integers(
        0, 31, columns
    )
    bias = model.constant(biases.astype(np.int32), "TENSOR_INT32", scale=0.0)
    activations = ["NONE", "NONE", "RELU", "RELU1", "RELU6"]
    product = model.conv_2d(
        *(x, stored, bias),
        padding="VALID",
        activation=random.choice(activations),
        scale=scales[0],
        zero_point=zeros[1],
    )
    pair = (product, y) if random.random() < 0.5 else (y, product)
    activation = random.choice(activations)
    model.outputs(model.add(*pair, activation=activation, scale=scales[2], zero_point=zeros[3]))
    model.finish()
    steps: list[Any] = []
    add = fuse_additions._add

    def seen(step: Any, addition: Any, side: int) -> None:
        add(step, addition, side)
        steps.append(dict(step.fields))

    with patch.object(fuse_additions, "_add", seen):
        model.compile("nnapi-cpu")
    if not steps:
        return None
    # Small products are frequent, so are the ends of the type.
    centred = random.integers(-255, 256, (PIXELS, depth)) >> random.integers(0, 9, (PIXELS, 1))
    inputs = np.clip(centred + zeros[0], least, least + 255)
    addends = random.integers(0, 256, (PIXELS, columns)) + least
    results = model.compile("nnapi-reference").run(
        inputs.reshape(1, PIXELS, 1, -1).astype(dtype),
        addends.reshape(1, PIXELS, 1, -1).astype(dtype),
    )
    return Fused(
        fields=steps[0],
        multipliers=np.float32(x_scale * np.array(w_scales)).astype(float) / scales[0],
        sums=(inputs - zeros[0]) @ weights.T + biases,
        addends=addends.astype(dtype).view(np.uint8),
        results=results.reshape(PIXELS, columns).view(np.uint8),
        kind=kind,
    )


def calls(model: Fused) -> Iterator[tuple[Any, Any]]:
    """Calls, and the outputs that they have to leave."""
    fields = model.fields
    mantissas, exponents = decomposed(model.multipliers)
    tables = [mantissas, np.maximum(exponents, 0), np.minimum(exponents, 0), mantissas, exponents]
    for first in range(0, PIXELS, ROWS):
        sums, addends, results = (
            part[first : first + ROWS] for part in (model.sums, model.addends, model.results)
        )
        rows, columns = sums.shape
        call = np.zeros((), CALL)
        call["numbers"] = rows, columns, fields["zero_point"], fields["output_flip"]
        call["block"] = np.frombuffer(fields["addition"], "<i8")
        call["bounds"] = fields["low"], fields["high"]
        call["panel"][1:, :columns] = tables
        call["sums"][:, :columns] = sums[np.minimum(range(ROWS), rows - 1)]  # it is stored again
        call["addend"][:rows, :columns] = addends
        outputs = np.full((ROWS, COLUMNS), UNUSED, np.uint8)
        outputs[:rows, :columns] = results
        yield call, outputs


def computed(path: Path, variant: str, data: bytes) -> Any:
    command = [QEMU, "-L", SYSROOT, path, variant]
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, ROWS, COLUMNS)


@needs_compiler
@needs_emulator
def test_sums_as_the_reference(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    models = [model for _ in range(MODELS) if (model := fused(random))]
    assert len(models) > MODELS / 2
    assert min(Counter(model.kind for model in models).values()) > MODELS / 5
    at = list(ADDITION.fields).index("fine_mantissa")
    fine = [np.frombuffer(model.fields["addition"], "<i8")[at] for model in models]
    assert fine.count(2**31 - 1) > MODELS / 20  # inputs with the same scale
    pairs = [pair for model in models for pair in calls(model)]
    data = np.stack([call for call, _ in pairs]).tobytes()
    expected = np.stack([outputs for _, outputs in pairs])
    path = program(tmp_path)
    np.testing.assert_array_equal(computed(path, "correct", data), expected)
    for mistake in MISTAKES:
        assert not np.array_equal(computed(path, mistake, data), expected), mistake
