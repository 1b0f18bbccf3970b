"""Executions hold while another thread writes to their inputs; the long run is __main__.py."""

import ctypes
import mmap
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.library import processor_tiers
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ExecutionPreference, Priority, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.types import Request, RequestArgument
from tests.conformance.vectors import ROOT
from tests.drivers.cpu.guard_pages import Guarded
from tests.races.writer import Race, Writer
from tests.single import build, f32, i32

ON_CPU = [("nnapi-cpu", tier, 0.1) for tier in processor_tiers()]
ON_REFERENCE = [("nnapi-reference", "", 0.1)]


@pytest.mark.parametrize(("device", "tier", "minutes"), ON_CPU + ON_REFERENCE)
@pytest.mark.slow
def test_inputs_that_change(device, tier, minutes):
    command = [sys.executable, "-m", "tests.races", "--device", device, "--minutes", str(minutes)]
    environment = os.environ | {"NNAPI_SHIM_TIER": tier}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    lines = result.stdout.splitlines()
    assert result.returncode == 0, (lines[-1:], result.stderr[-2000:])
    assert lines[-1].startswith("done in ")
    assert "computed" in lines[-1]
    assert "OP_FAILED" in lines[-1]


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_indices_that_change(device):
    """What crashes first, if anything does."""
    command = [sys.executable, "-m", "tests.races", "--device", device, "--minutes", "0.06"]
    command += ["EMBEDDING_LOOKUP", "HEATMAP_MAX_KEYPOINT", "ROI_POOLING"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, (result.stdout.splitlines()[-1:], result.stderr[-2000:])


@pytest.mark.parametrize("device", [CpuDevice, ReferenceDevice])
@pytest.mark.parametrize("length", [1, 4, 3])
def test_an_output_that_is_its_own_index(device, length):
    """Two mappings of one file: the results take the place of the indices that are left.

    One thread is enough. Without the kernel's leave: what is at the addresses tells of no overlap.
    """
    count, size = 1 << 15, 16
    values = np.full((size, length), -1e30, np.float32)
    indices = np.arange(count, dtype=np.int32) % size
    length_bytes = 4 * count * length
    file = os.memfd_create("shared")
    os.ftruncate(file, length_bytes)
    os.pwrite(file, indices.tobytes(), 0)
    maps = [mmap.mmap(file, length_bytes) for _ in range(2)]
    os.close(file)
    as_input, as_output = (ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in maps)
    shared = indices.nbytes
    # Results overwrite the indices from the second on.
    inside = Guarded(values.tobytes(), at_end=True)
    built = build(Op.GATHER, [f32(values), 0, i32(indices)], [f32()])
    prepared = device().prepareModel(
        built.model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )
    request = Request(
        (
            RequestArgument(inside.address, inside.size, values.shape),
            RequestArgument(as_input, shared, indices.shape),
        ),
        (RequestArgument(as_output, length_bytes, ()),),
    )
    try:
        result = prepared.createReusableExecution(request, False, 0).compute(None)
        assert result.status is ErrorStatus.NONE
    except NnapiError as error:
        assert error.code is ResultCode.OP_FAILED


def test_the_writer_writes():
    legal, wild = np.arange(64, dtype=np.int32).tobytes(), np.full(64, -1, np.int32).tobytes()
    memory, seen = Guarded(legal, at_end=True), set()
    writer = Writer()
    deadline = time.monotonic() + 60
    with writer.racing([Race(memory, legal, wild)]):
        # A busy machine may take a while to start the writer's thread.
        while len(seen) < 2 and time.monotonic() < deadline:
            seen.add(ctypes.string_at(memory.address, 4))
    assert seen == {legal[:4], wild[:4]}
    assert ctypes.string_at(memory.address, len(legal)) == legal
    assert writer.rounds
