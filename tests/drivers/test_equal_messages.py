"""Both devices say the same of values that an operation refuses when it is reached."""

from zlib import crc32

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import ResultCode
from tests.operations.cases import USES, example
from tests.single import INPUT, execute, scalar, tensor

FIRST = {use.operation.type.name: use for use in reversed(USES) if use.variant in ("f32", "b8")}
"""A use of each operation."""

BAD = (-9, -1, 0, 2, 3)

INDEXES = [
    ("GATHER", "indices"),
    ("EMBEDDING_LOOKUP", "lookups"),
    ("ROI_ALIGN", "batch_index"),
    ("ROI_POOLING", "batch_index"),
    ("AXIS_ALIGNED_BBOX_TRANSFORM", "batch_index"),
]
BOXES = [
    ("ROI_ALIGN", "rois"),
    ("ROI_POOLING", "rois"),
    ("AXIS_ALIGNED_BBOX_TRANSFORM", "rois"),
    ("HEATMAP_MAX_KEYPOINT", "boxes"),
    ("BOX_WITH_NMS_LIMIT", "rois"),
    ("GENERATE_PROPOSALS", "anchors"),
]


@pytest.fixture(scope="module")
def devices():
    return ReferenceDevice(), CpuDevice()


def sample_of(use):
    return example(use, np.random.default_rng(crc32(f"{use}{use.names}".encode())))


def refusals(devices, sample, **kinds):
    """What each device refuses with; None where it computes."""
    result = []
    for device in devices:
        try:
            execute(device, sample.use.operation.type, sample.inputs, sample.outputs, **kinds)
            result.append(None)
        except NnapiError as error:
            result.append(error)
    return result


def same(devices, sample, **kinds):
    """Whether both refuse, with the same words and for the same rule."""
    reference, cpu = refusals(devices, sample, **kinds)
    assert (reference is None) == (cpu is None), (reference, cpu)
    if reference is not None:
        assert (cpu.code, cpu.message, cpu.rule) == (
            reference.code,
            reference.message,
            reference.rule,
        )
    return reference is not None


@pytest.mark.parametrize("kinds", [{}, {"scalars_are": INPUT}], ids=["constants", "inputs"])
@pytest.mark.parametrize("name", sorted(FIRST))
def test_numbers(devices, name, kinds):
    """Axes, sizes, strides, masks, activations: every whole number in turn."""
    use = FIRST[name]
    for position, (operand, type) in enumerate(zip(use.names, use.inputs, strict=True)):
        for bad in BAD:
            sample = sample_of(use)
            value = sample.inputs[position]
            if type is T.INT32:
                sample.inputs[position] = scalar(type, bad)
            elif operand in use.operation.values and not value.is_omitted:
                sample.inputs[position] = tensor(type, np.full_like(value.array, bad))
            else:
                break
            same(devices, sample, **kinds)


@pytest.mark.parametrize(("name", "operand"), INDEXES)
@pytest.mark.parametrize("index", [-1, 99, -(2**31), 2**31 - 1])
def test_indexes(devices, name, operand, index):
    """The last one is outside."""
    sample = sample_of(FIRST[name])
    position = sample.use.names.index(operand)
    values = np.array(sample.inputs[position].array)
    values.flat[-1] = index
    sample.inputs[position] = tensor(T.TENSOR_INT32, values)
    assert same(devices, sample)
    reference, _ = refusals(devices, sample)
    assert f": number {values.size - 1} of " in reference.message
    assert f"is {index}; allowed are 0 to " in reference.message


@pytest.mark.parametrize(("name", "operand"), BOXES)
def test_boxes(devices, name, operand):
    """The last one ends before it begins."""
    sample = sample_of(FIRST[name])
    position = sample.use.names.index(operand)
    values = np.array(sample.inputs[position].array)
    values.reshape(-1, 4)[-1] = (3, 1, 2, 2)
    sample.inputs[position] = tensor(T.TENSOR_FLOAT32, values)
    assert same(devices, sample)
    reference, _ = refusals(devices, sample)
    assert reference.code is ResultCode.OP_FAILED


@pytest.mark.parametrize("name", ["ROI_ALIGN", "ROI_POOLING"])
@pytest.mark.parametrize("box", [(-1, 0, 1, 1), (0, 0, 1e6, 1), (0, -0.5, 1, 1), (0, 0, 1, 1e9)])
def test_boxes_outside(devices, name, box):
    """The last one leaves the feature map."""
    sample = sample_of(FIRST[name])
    position = sample.use.names.index("rois")
    values = np.array(sample.inputs[position].array)
    values.reshape(-1, 4)[-1] = box
    sample.inputs[position] = tensor(T.TENSOR_FLOAT32, values)
    assert same(devices, sample)


def test_scores(devices):
    """One of them is NaN."""
    sample = sample_of(FIRST["GENERATE_PROPOSALS"])
    position = sample.use.names.index("scores")
    values = np.array(sample.inputs[position].array)
    values.flat[-1] = np.nan
    sample.inputs[position] = tensor(T.TENSOR_FLOAT32, values)
    assert same(devices, sample)
