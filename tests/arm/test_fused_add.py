"""The ADD in the epilogue of a quantized product on AArch64, run in an emulator: its outputs are
those of nnapi-reference, bit by bit.

Models of a convolution and an ADD give the constants, and the reference their results. The sums of
the convolution are computed here; the epilogue that `emit_sums` writes does the rest.
"""

import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.isa import aarch64
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDITION
from nnapi_shim.drivers.cpu.passes.schedule import fuse_additions
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.reference.fixed_point import decomposed
from tests.arm.test_arm import COMPILER, QEMU, ROOT, SYSROOT, needs_compiler, needs_emulator

U8, S8, QC8 = "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_SYMM_PER_CHANNEL"
MODELS, PIXELS, MOST_COLUMNS = 160, 61, 16
UNUSED = 0xA5
"""In the output, where nothing is to be written."""
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
#define FUNCTION(name, shape) sums_##name##_##shape
#define NAMED(name, shape) FUNCTION(name, shape)
#define VARIANT(name) extern sums NAMED(name, SHAPE);
VARIANTS
#undef VARIANT
#define VARIANT(name) { #name, NAMED(name, SHAPE) },
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


class Shape(NamedTuple):
    """A tile: rows x vectors of four columns."""

    rows: int
    vectors: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.vectors}"

    @property
    def columns(self) -> int:
        return 4 * self.vectors

    @property
    def outputs(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def call(self) -> np.dtype[Any]:
        """numbers: rows, columns, zero point and flip of the product. block: what is added, and
        how. bounds: of the product. panel: the bias, which is in the sums already, and constants of
        columns.
        """
        return np.dtype(
            [
                ("numbers", "<i8", 4),
                ("block", "<i8", ADDITION.words),
                ("bounds", "<f4", 2),
                ("panel", "<i4", (6, self.columns)),
                ("sums", "<i4", self.outputs),
                ("addend", "u1", self.outputs),
            ],
            align=True,
        )


ODD = Shape(3, 3)
"""Vectors are added in pairs: this tile has a pair and one alone."""


def shapes() -> list[Shape]:
    """ODD, one vector, and the tiles of kernels with an addend on each tier."""
    tilings = [tier.tiling_of(is_quantized=True) for tier in aarch64.ARCHITECTURE.tiers]
    found = {Shape(tiling.rows, tiling.vectors) for tiling in tilings}
    found |= {Shape(each.odd_rows, each.odd_vectors) for each in tilings if each.odd_rows}
    return [ODD, *sorted(found | {Shape(8, 1)})]


class Fused(NamedTuple):
    """A model whose ADD is fused. sums, addends and results: [PIXELS, columns]."""

    fields: dict[str, Any]
    multipliers: Any
    sums: Any
    addends: Any
    results: Any
    kind: str


def programs(folder: Path, tiles: Sequence[Shape]) -> tuple[dict[Shape, Path], list[str]]:
    """A program for each shape, that of the first with mistakes, too, and the names of these."""
    environment = {"NNAPI_SHIM_BUILD_TIER": "neon", "NNAPI_SHIM_BUILD_MACHINE": "aarch64"}
    command = [sys.executable, "-m", "tests.arm.emit_sums", folder / "sums.o", *map(str, tiles)]
    mistakes = subprocess.check_output(
        command, cwd=ROOT, env=os.environ | environment, text=True
    ).split()
    numbers = {"WORDS": ADDITION.words, "UNUSED": UNUSED}
    (folder / "main.c").write_text(MAIN)
    paths = {}
    for shape in tiles:
        paths[shape] = folder / f"sums_{shape}"
        names = ["correct", *(mistakes if shape == tiles[0] else ())]
        own = {"ROWS": shape.rows, "COLUMNS": shape.columns, "SHAPE": shape}
        own["VARIANTS"] = " ".join(f"VARIANT({name})" for name in names)
        defines = [f"-D{name}={value}" for name, value in (numbers | own).items()]
        sources = [folder / "main.c", folder / "sums.o"]
        subprocess.run([COMPILER, "-O1", *defines, *sources, "-o", paths[shape]], check=True)
    return paths, mistakes


def fused(random: np.random.Generator) -> Fused | None:
    """A random model, if its ADD is fused."""
    kind = random.choice([U8, S8])
    least, dtype = (0, np.uint8) if kind == U8 else (-128, np.int8)

    def zero_point() -> int:
        return least + int(random.choice([0, 255, 128, random.integers(256)]))

    def scale() -> float:
        return float(np.float32(2.0 ** random.uniform(-5, 2)))

    columns, depth = int(random.integers(1, MOST_COLUMNS + 1)), int(random.integers(1, 5))
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

    with (
        patch.object(fuse_additions, "_add", seen),
        # As on AArch64, where no rounding mode stands in the way.
        patch.object(fuse_additions, "may_be_floored", lambda fields: False),
    ):
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


def calls(model: Fused, shape: Shape) -> Iterator[tuple[Any, Any]]:
    """Calls, and the outputs that they have to leave."""
    fields = model.fields
    mantissas, exponents = decomposed(model.multipliers)
    tables = [mantissas, np.maximum(exponents, 0), np.minimum(exponents, 0), mantissas, exponents]
    for m, n in itertools.product(
        range(0, PIXELS, shape.rows), range(0, model.sums.shape[1], shape.columns)
    ):
        part = np.s_[m : m + shape.rows, n : n + shape.columns]
        sums, addends, results = (each[part] for each in (model.sums, model.addends, model.results))
        rows, columns = sums.shape
        call = np.zeros((), shape.call)
        call["numbers"] = rows, columns, fields["zero_point"], fields["output_flip"]
        call["block"] = np.frombuffer(fields["addition"], "<i8")
        call["bounds"] = fields["low"], fields["high"]
        call["panel"][1:, :columns] = [table[part[1]] for table in tables]
        call["sums"][:, :columns] = sums[np.minimum(range(shape.rows), rows - 1)]  # stored again
        call["addend"][:rows, :columns] = addends
        outputs = np.full(shape.outputs, UNUSED, np.uint8)
        outputs[:rows, :columns] = results
        yield call, outputs


def computed(path: Path, variant: str, data: bytes, shape: Shape) -> Any:
    command = [QEMU, "-L", SYSROOT, path, variant]
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, *shape.outputs)


def test_shapes() -> None:
    assert {1, 2, 3, 4} <= {shape.vectors for shape in shapes()}


@needs_compiler
@needs_emulator
def test_sums_as_the_reference(tmp_path: Path) -> None:
    if not TIERS[library.current().tier].fused:
        pytest.skip("this processor's constants are for sums that are rounded twice")
    random = np.random.default_rng(3)
    models = [model for _ in range(MODELS) if (model := fused(random))]
    assert len(models) > MODELS / 2
    assert min(Counter(model.kind for model in models).values()) > MODELS / 5
    at = list(ADDITION.fields).index("own")
    own = Counter(int(np.frombuffer(model.fields["addition"], "<i8")[at]) for model in models)
    assert min(own[0], own[1]) > MODELS / 5
    paths, mistakes = programs(tmp_path, shapes())
    assert len(mistakes) > 5
    for shape, path in paths.items():
        pairs = [pair for model in models for pair in calls(model, shape)]
        data = np.stack([call for call, _ in pairs]).tobytes()
        expected = np.stack([outputs for _, outputs in pairs])
        np.testing.assert_array_equal(computed(path, "correct", data, shape), expected, str(shape))
        for mistake in mistakes if shape == ODD else ():
            assert not np.array_equal(computed(path, mistake, data, shape), expected), mistake
