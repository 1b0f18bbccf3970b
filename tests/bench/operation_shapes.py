"""A large and a small shape of every operation, in the form of the plans of tests/operations/plans.

Each function takes a use and whether the large shape is wanted, and gives a plan: dimensions of
tensors, values of scalars, or both in a Value. Products are rated by their arithmetic, the others
by the bytes that they read and write.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations import registry
from nnapi_shim.operations.declare import Operation
from nnapi_shim.operations.work import counted
from nnapi_shim.tools.work import Sized
from tests.operations.cases import Example, Use
from tests.operations.plans.boxes import EIGHTH, corners, real_tensor, type_of
from tests.operations.plans.common import Plan
from tests.single import Value, bool8, i32, tensor

Shapes = Callable[[Use, bool], Plan]
LARGE_BYTES, SMALL = 1 << 24, 1 << 10
"""Bytes of a large tensor, more than the caches keep; elements of a small one."""


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def one_tensor(use: Use, large: bool) -> Plan:
    """A tensor [rows, 1024]."""
    slope = (1024,) if use.operation.type.name == "PRELU" else 0.5
    widest = max(ELEMENT_BYTES[use.inputs[0]], ELEMENT_BYTES[use.outputs[0]])
    count = LARGE_BYTES // widest if large else SMALL
    return {"input": (count // 1024, 1024), "alpha": slope}


def two_tensors(use: Use, large: bool) -> Plan:
    """Two tensors [rows, 1024] of the same dimensions."""
    shape = one_tensor(use, large)["input"]
    first, second = use.names[0], use.names[1]
    return {first: shape, second: shape, "activation": 0}


def positive(use: Use, large: bool) -> Plan:
    """A tensor of numbers above 0."""
    shape = one_tensor(use, large)["input"]
    if type_of(use, "input") not in (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16):
        return {"input": shape}
    return {"input": tensor(type_of(use, "input"), _rng().uniform(0.1, 8, shape))}


def powers(use: Use, large: bool) -> Plan:
    """Bases above 0, exponents from -2 to 2."""
    shape, type = one_tensor(use, large)["input"], use.inputs[0]
    return {
        "base": tensor(type, _rng().uniform(0.1, 4, shape)),
        "exponent": tensor(type, _rng().uniform(-2, 2, shape)),
    }


def image(use: Use, large: bool) -> Plan:
    """An image, NHWC."""
    return {"input": (1, 112, 112, 64) if large else (1, 7, 7, 16), "nchw": False}


def window(use: Use, large: bool) -> Plan:
    """A window of 3 x 3 with implicit padding."""
    return {
        **image(use, large),
        **dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), 1),
        **dict.fromkeys(("stride_width", "stride_height"), 1),
        **dict.fromkeys(("dilation_width", "dilation_height"), 1),
        **dict.fromkeys(("filter_width", "filter_height"), 3),
        "padding": 1,
        "activation": 0,
        "depth_multiplier": 1,
        "num_groups": 4,
    }


def filtered(use: Use, large: bool) -> Plan:
    """56 x 56 x 64 -> 64, or 7 x 7 x 16 -> 16, with 3 x 3 taps."""
    depth = 64 if large else 16
    size = 56 if large else 7
    shape = {
        "DEPTHWISE_CONV_2D": (1, 3, 3, depth),
        "GROUPED_CONV_2D": (depth, 3, 3, depth // 4),
    }.get(use.operation.type.name, (depth, 3, 3, depth))
    plan = {**window(use, large), "filter": shape, "bias": (depth,)}
    return plan | {"input": (1, size, size, depth)}


def fully_connected(use: Use, large: bool) -> Plan:
    """[1, 1024] x [1000, 1024], or a tenth of that."""
    rows, columns = (1000, 1024) if large else (32, 64)
    return {"input": (1, columns), "weights": (rows, columns), "bias": (rows,), "activation": 0}


def matrices(use: Use, large: bool) -> Plan:
    """[4, n, n] x [4, n, n]."""
    n = 128 if large else 8
    return {"lhs": (4, n, n), "rhs": (4, n, n), "adj_x": False, "adj_y": False}


def rows(use: Use, large: bool) -> Plan:
    """[rows, 1000] along the last axis."""
    return {
        "input": (1024, 1000) if large else (2, 100), "beta": 1.0, "axis": -1, "k": 5,
        "axes": i32([1]), "keep_dims": False,
    }  # fmt: skip


def picked(use: Use, large: bool) -> Plan:
    """Half of the rows of a table, in any order."""
    count = LARGE_BYTES // 1024 // ELEMENT_BYTES[use.outputs[0]] if large else 16
    indexes = i32(_rng().integers(0, count, count // 2))
    table = (count, 1024)
    keys = i32(np.arange(count))
    return {
        "input": table, "values": table, "axis": 0, "indices": indexes, "lookups": indexes,
        "keys": keys,
    }  # fmt: skip


def chosen(use: Use, large: bool) -> Plan:
    """An element of the one or of the other tensor."""
    shape = one_tensor(use, large)["input"]
    return {"condition": bool8(_rng().integers(0, 2, shape)), "input1": shape, "input2": shape}


def moved(use: Use, large: bool) -> Plan:
    """An image, and what the operations that move data take."""
    height, depth = (256, 64) if large else (8, 16)
    batch = 4 // ELEMENT_BYTES[use.outputs[0]] if large else 1
    input_ = (batch, height, height, depth)
    return {
        "input": input_, "nchw": False, "block_size": 2, "block_shape": i32([2, 2]),
        "paddings": i32([[0, 0], [0, 0]]), "num_groups": 4, "perm": i32([0, 3, 1, 2]),
        "axes": i32([0]), "begin": i32([0, 1, 1, 0]), "size": i32([-1, height - 2, height - 2, -1]),
        "end": i32([batch, height, height, depth]), "strides": i32([1, 2, 1, 1]),
        "begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 0, "num_splits": len(use.outputs),
        "multiples": i32([1, 1, 2, 1]), "shape": i32([-1, depth]), "mode": 0,
    }  # fmt: skip


def rearranged(use: Use, large: bool) -> Plan:
    """As `moved`, with the axis that the operation works along."""
    tensor_axis = type_of(use, "axis") == T.TENSOR_INT32
    return {**moved(use, large), "axis": i32([2]) if tensor_axis else 3}


def blocks(use: Use, large: bool) -> Plan:
    """Four images for one that is twice as high and wide."""
    plan = moved(use, large)
    batch, height, width, depth = plan["input"]
    return plan | {"input": (4 * batch, height // 2, width // 2, depth)}


def padded(use: Use, large: bool) -> Plan:
    """One row and column around each image."""
    pads = i32([[0, 0], [1, 1], [1, 1], [0, 0]])
    return {**moved(use, large), "paddings": pads, "pad_value": 1}


def joined(use: Use, large: bool) -> Plan:
    """Tensors, one beside the other."""
    shape = one_tensor(use, large)["input"]
    return {"inputs": [shape] * use.names.count("inputs"), "axis": 1}


def filled(use: Use, large: bool) -> Plan:
    """One value everywhere."""
    return {"dims": i32(one_tensor(use, large)["input"]), "value": 3}


def normalized(use: Use, large: bool) -> Plan:
    """An image, and the parameters of the normalizations."""
    return {
        **image(use, large), "axis": -1, "radius": 2, "bias": 1.0, "alpha": 0.1, "beta": 0.75,
        "gamma": 1.0, "epsilon": 1e-3,
    }  # fmt: skip


def instance(use: Use, large: bool) -> Plan:
    """As `normalized`; beta is a shift here."""
    return {**normalized(use, large), "beta": 0.5}


def resized(use: Use, large: bool) -> Plan:
    """To twice the size."""
    plan = {"input": (1, 64, 64, 64) if large else (1, 4, 4, 8), "nchw": False}
    size = 2 * plan["input"][1]
    return plan | {
        "output_width": size, "output_height": size, "width_scale": 2.0, "height_scale": 2.0,
        "align_corners": False, "half_pixel_centers": False,
    }  # fmt: skip


def regions(use: Use, large: bool) -> Plan:
    """Boxes of a feature map, to 7 x 7."""
    count, depth = (100, 128) if large else (2, 8)
    boxes = corners(_rng(), (count,), 50, 50)
    return {
        "input": (1, 50, 50, depth),
        "rois": real_tensor(type_of(use, "rois"), boxes, EIGHTH),
        "batch_index": i32(np.zeros(count)),
        **dict.fromkeys(("out_height", "out_width"), 7),
        **dict.fromkeys(("height_stride", "width_stride"), 1.0),
        **dict.fromkeys(("height_sampling_ratio", "width_sampling_ratio"), 2),
        "nchw": False,
    }


def is_merged(use: Use) -> bool:
    """Whether an operation of two directions has one output for both."""
    return len(use.outputs) % 2 == 1


def recurrent_cells(use: Use, large: bool) -> Plan:
    """Sizes of RNN and SVDF: batch 4, 128 inputs, 128 units."""
    n = 128 if large else 8
    fw_bw = {f"{p}{name}": (n, n) for p in ("", "fw_", "bw_") for name in ("weights",)}
    states = {f"{p}hidden_state": (4, n) for p in ("fw_", "bw_")}
    return {
        **fw_bw,
        **{f"{p}recurrent_weights": (n, n) for p in ("", "fw_", "bw_")},
        **{f"{p}bias": (n,) for p in ("", "fw_", "bw_")},
        **states,
        "hidden_state_in": (4, n), "input": (4, n) if use.operation.type.name in ("RNN", "SVDF")
        else (4, 16, n),
        "aux_input": None, "fw_aux_weights": None, "bw_aux_weights": None,
        "weights_feature": (n, n), "weights_time": (n, 10), "state_in": (4, n * 10), "rank": 1,
        "activation": 1, "time_major": False, "merge_outputs": is_merged(use),
    }  # fmt: skip


_GATES = ("input", "forget", "cell", "output")


def _float_lstm(use: Use, large: bool) -> Plan:
    """Full gates, no peephole, projection or normalization."""
    n = 128 if large else 8
    sequence = use.operation.type.name != "LSTM"
    plan: Plan = dict.fromkeys(use.names)
    plan |= {"input": (4, 16, n) if sequence else (4, n), "activation": 4}
    plan |= {
        "cell_clip": 0.0,
        "proj_clip": 0.0,
        "time_major": False,
        "merge_outputs": is_merged(use),
    }
    for prefix in ("", "fw_", "bw_"):
        for gate in _GATES:
            plan[f"{prefix}input_to_{gate}_weights"] = (n, n)
            plan[f"{prefix}recurrent_to_{gate}_weights"] = (n, n)
        for bias in ("input_gate", "forget_gate", "cell", "output_gate"):
            plan[f"{prefix}{bias}_bias"] = (n,)
        for state in ("output_state_in", "cell_state_in", "activation_state_in"):
            plan[f"{prefix}{state}"] = (4, n)
    return plan


def quantized_lstm(use: Use, large: bool) -> Plan:
    """The random plan of its family: sizes are bound to scales."""
    from tests.operations.cases import PLANS

    return PLANS[use.operation.type.name](use, _rng(), 16 if large else 2)


def planned(use: Use, large: bool) -> Plan:
    """The random plan of its family, larger by its batch."""
    return quantized_lstm(use, large)


def multinomial(use: Use, large: bool) -> Plan:
    """Draws from 1000 classes."""
    logits = (16, 1000) if large else (1, 10)
    return {"logits": logits, "sample_count": 1000 if large else 10, "seeds": i32([1, 2])}


def scalar_of(use: Use, large: bool) -> Plan:
    """A tensor whose rank is asked for."""
    return {"input": (4, 4)}


def expanded(use: Use, large: bool) -> Plan:
    """A new axis in front."""
    return {**one_tensor(use, large), "axis": 0}


def squeezed(use: Use, large: bool) -> Plan:
    """An axis of size 1 goes."""
    return {"input": (1, *one_tensor(use, large)["input"]), "axes": i32([0])}


def projected(use: Use, large: bool) -> Plan:
    """Bits of hashes of a tensor."""
    return planned(use, False)


_TABLE: dict[Shapes, str] = {
    one_tensor: "PRELU",
    positive: "LOG RSQRT SQRT",
    powers: "POW",
    window: "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D",
    filtered: "CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D",
    fully_connected: "FULLY_CONNECTED",
    matrices: "BATCH_MATMUL",
    rows: "SOFTMAX LOG_SOFTMAX ARGMAX ARGMIN TOPK_V2 MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX "
    "REDUCE_MIN REDUCE_PROD REDUCE_SUM",
    picked: "GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP",
    chosen: "SELECT",
    moved: "DEPTH_TO_SPACE SPACE_TO_DEPTH SPACE_TO_BATCH_ND TRANSPOSE SLICE STRIDED_SLICE TILE "
    "RESHAPE",
    rearranged: "CHANNEL_SHUFFLE REVERSE SPLIT",
    blocks: "BATCH_TO_SPACE_ND",
    padded: "PAD PAD_V2 MIRROR_PAD",
    joined: "CONCATENATION PACK",
    filled: "FILL",
    normalized: "L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION",
    instance: "INSTANCE_NORMALIZATION",
    resized: "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    regions: "ROI_ALIGN ROI_POOLING",
    recurrent_cells: "RNN SVDF UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN",
    _float_lstm: "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM",
    quantized_lstm: "QUANTIZED_16BIT_LSTM QUANTIZED_LSTM",
    planned: "AXIS_ALIGNED_BBOX_TRANSFORM BOX_WITH_NMS_LIMIT DETECTION_POSTPROCESSING "
    "GENERATE_PROPOSALS HEATMAP_MAX_KEYPOINT LSH_PROJECTION",
    multinomial: "RANDOM_MULTINOMIAL",
    scalar_of: "RANK",
    expanded: "EXPAND_DIMS",
    squeezed: "SQUEEZE",
}


def _each(declaration: Operation) -> Shapes:
    """The shapes of an operation that goes element by element."""
    names = declaration.input_columns
    types = [declaration.row_types(row) for row in declaration.types.values()]
    return one_tensor if types[0][names[-1]] in SCALARS or len(names) == 1 else two_tensors


SHAPES = {
    **{result.type.name: _each(result) for result in registry() if result.elementwise},
    **{name: shapes for shapes, names in _TABLE.items() for name in names.split()},
}

_SLOWER = (
    "TANH LOGISTIC ELU EXP LOG POW RSQRT SIN SQRT RANK HASHTABLE_LOOKUP RESIZE_NEAREST_NEIGHBOR"
)
MOVES_DATA = frozenset(
    result.type.name for result in registry() if result.elementwise or result.work == 0
) - frozenset(_SLOWER.split())
"""Operations that are to reach half of the machine's copy bandwidth on large tensors."""

PRODUCTS = (
    *("convolution", "depthwise", "transposed", "fully_connected", "matrices", "recurrent"),
)
"""The work of operations that are rated by their arithmetic."""


class SampleSizes(Sized):
    """The dimensions of an example."""

    def __init__(self, sample: Example) -> None:
        self.named: Any = dict(zip(sample.use.names, sample.inputs, strict=True))
        self._sample = sample

    def dimensions(self, operand: Any) -> Dimensions:
        return operand.operand.dimensions

    @property
    def outputs(self) -> int:
        return sum(prod(shape) for shape in self._sample.use.operation.shape(self._sample.op))

    def value(self, role: str, default: int) -> int:
        return int(self.named[role].array.item()) if role in self.named else default


def flops(sample: Example) -> float:
    """Arithmetic operations, of operations that are rated by them; else 0."""
    work = sample.use.operation.work
    return float(counted(work, SampleSizes(sample)) or 0) if work in PRODUCTS else 0.0


def bytes_moved(sample: Example, outputs: list[Any]) -> float:
    """Bytes of all tensors, read or written once."""
    read = sum(v.array.nbytes for v in sample.inputs if isinstance(v, Value) and not v.is_omitted)
    return read + sum(array.nbytes for array in outputs)
