"""Every use of every operation comes back from its file as it was kept there.

The first tensor is an input and the others are constants, so that filters are packed.
"""

from zlib import crc32

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.cache import writer
from nnapi_shim.drivers.cpu.compile.packing import Packing
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, OperandLifeTime, Priority
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import (
    CacheHandles,
    DataLocation,
    Model,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
)
from nnapi_shim.operations import FAMILIES
from tests.operations.cases import USES, example

L = OperandLifeTime
OUTPUT_BYTES = 1 << 16

PACKING = (
    "pack_",
    "expand_",
    "copy_",
    "join_groups",
    "fold_filter",
    "transpose_",
    "deinterleave_",
    "widen_f16",
)
"""Kernels that move the model's constants to other places, and compute no places of their own."""


def model_of(sample):
    """A model, and the contents of its inputs."""
    operands, arguments, values = [], [], bytearray()
    for value in sample.inputs:
        if value.is_omitted:
            operands.append(value.operand._replace(lifetime=L.NO_VALUE))
        elif arguments or value.operand.type in SCALARS:
            values += bytes(-len(values) % 64)
            data = value.array.tobytes()
            position = DataLocation(0, len(values), len(data))
            values += data
            operands.append(value.operand._replace(lifetime=L.CONSTANT_COPY, location=position))
        else:
            arguments.append(value.array)
            operands.append(value.operand._replace(lifetime=L.SUBGRAPH_INPUT))
    count = len(operands)
    operands += [output.operand._replace(lifetime=L.SUBGRAPH_OUTPUT) for output in sample.outputs]
    outputs = tuple(range(count, len(operands)))
    item = Operation(sample.use.operation.type, tuple(range(count)), outputs)
    inputs = tuple(at for at, o in enumerate(operands) if o.lifetime is L.SUBGRAPH_INPUT)
    return Model(Subgraph(tuple(operands), (item,), inputs, outputs), (), bytes(values)), arguments


def outcome(prepared, arguments, count):
    """Result code and contents of the outputs."""
    actual = [np.zeros(OUTPUT_BYTES, np.uint8) for _ in range(count)]
    request = Request(
        tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in arguments),
        tuple(RequestArgument(a.ctypes.data, a.nbytes, ()) for a in actual),
    )
    try:
        result = prepared.execute(request, False, None, 10**9)
    except NnapiError as error:
        return str(error)
    return [shape.dimensions for shape in result.output_shapes], [a.tobytes() for a in actual]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "control_flow"])
def test_every_use(family, tmp_path, lowered, monkeypatch):
    packed = set()
    real = Packing.postpone

    def filling(self, step, *arguments):
        done = real(self, step, *arguments)
        if done and step.fields["output"].holds_weights:
            packed.add(step.kernel)
        return done

    monkeypatch.setattr(Packing, "postpone", filling)
    check = writer.check

    def checking(*arguments):
        try:
            check(*arguments)
        except writer.Malformed as actual:
            raise AssertionError(f"{use}: {actual}") from None

    monkeypatch.setattr(writer, "check", checking)
    names, kept = FAMILIES[family].split(), 0
    for use in USES:
        if use.operation.type.name not in names:
            continue
        model, arguments = model_of(example(use, np.random.default_rng(crc32(str(use).encode()))))
        handles = CacheHandles(str(tmp_path), crc32(str(use).encode()).to_bytes(32, "little"))
        outcomes, before = [], len(list(tmp_path.iterdir()))
        for _ in range(2):
            lowered.clear()
            prepared = CpuDevice().prepareModel(
                model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, handles
            )
            is_loaded = not lowered
            outcomes.append(outcome(prepared, arguments, len(model.main.output_indexes)))
        assert outcomes[0] == outcomes[1], use
        is_kept = len(list(tmp_path.iterdir())) > before
        assert is_loaded or not is_kept, f"{use}: kept, and not found again"
        kept += is_kept
    assert kept or family == "proposal"  # sizes that only a run tells are not kept
    assert {name for name in packed if not name.startswith(PACKING)} == set()
