"""TRANSPOSE, REVERSE, CHANNEL_SHUFFLE, and conversions between space, depth and batch."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperation, Check, Operation, form, same_as
from nnapi_shim.operations.rules import (
    axis_exists,
    known_rank,
    one_dimensional,
    outputs_fit,
    positive,
    rank_at_most,
    rank_limit,
    same_parameters,
    same_rank,
    sized,
    source_dimensions,
    zero_point_level,
)
from nnapi_shim.operations.shapes import in_layout, nhwc
from nnapi_shim.operations.signatures import ONE_TO_ONE, movement, rows

SINCE_2 = rows("T T", f32=2, f16=3, qu8=2, qs8=4)


def perm_is_a_permutation(op: BoundOperation) -> None:
    """Every axis is named once."""
    rank = len(op.input.dimensions)
    if op.perm is None:
        # Differs: documented is the reverse order for any rank; the reference has it for rank 2.
        if rank != 2:
            raise op_failed(
                f"perm is omitted and the input has rank {rank}; it must have rank 2",
                "transpose.perm-omitted",
            )
    # Differs: the reference accepts a repeated axis, with an undefined result.
    elif sorted(op.perm) != list(range(rank)):
        raise op_failed(
            f"perm is {list(op.perm)}; it must hold each of 0 to {rank - 1} once", "transpose.perm"
        )


def permuted(op: BoundOperation) -> list[Dimensions]:
    """Size i of the output is size perm[i] of the input."""
    return [tuple(op.input.dimensions[axis] for axis in op.perm or (1, 0))]


def one_axis(op: BoundOperation) -> None:
    """There is one axis, in [0, rank)."""
    rank = len(op.input.dimensions)
    if len(op.axis) != 1 or not 0 <= op.axis[0] < rank:
        raise op_failed(
            f"axis is {list(op.axis)}; it must hold one number from 0 to {rank - 1}", "reverse.axis"
        )


def groups_divide(op: BoundOperation) -> None:
    """The size along the axis is a multiple of num_groups."""
    size = op.input.dimensions[op.axis]
    if size % op.num_groups:
        raise op_failed(
            f"num_groups is {op.num_groups}; it must divide {size}, the size of axis {op.axis}",
            "channel-shuffle.num-groups",
        )


def depth_divides(op: BoundOperation) -> None:
    """The depth is a multiple of block_size^2."""
    *_, depth = nhwc(op.input.dimensions, op.nchw)
    if depth % op.block_size**2:
        raise op_failed(
            f"block_size is {op.block_size}; its square must divide the depth {depth}",
            "depth-to-space.block-size",
        )


def depth_to_space(op: BoundOperation) -> list[Dimensions]:
    """[batch, height * block, width * block, depth / block^2]."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    block = op.block_size
    return [in_layout((batch, height * block, width * block, depth // block**2), op.nchw)]


def space_divides(op: BoundOperation) -> None:
    """Height and width are multiples of block_size."""
    _, height, width, _ = nhwc(op.input.dimensions, op.nchw)
    if height % op.block_size or width % op.block_size:
        raise op_failed(
            f"block_size is {op.block_size}; it must divide the height {height} and width {width}",
            "space-to-depth.block-size",
        )


def space_to_depth(op: BoundOperation) -> list[Dimensions]:
    """[batch, height / block, width / block, depth * block^2]."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    block = op.block_size
    return [in_layout((batch, height // block, width // block, depth * block**2), op.nchw)]


def block_is_two_sizes(op: BoundOperation) -> None:
    """block_shape holds the height and the width of a block."""
    if len(op.block_shape) != 2 or min(op.block_shape) < 1:
        raise op_failed(
            f"block_shape is {list(op.block_shape)}; it must hold a height and a width from 1",
            "operation.block-shape",
        )


def blocks_divide_batch(op: BoundOperation) -> None:
    """The batch is a multiple of the elements of a block."""
    batch, (height, width) = op.input.dimensions[0], op.block_shape
    if batch % (height * width):
        raise op_failed(
            f"input has batch {batch}; it must be a multiple of {height} * {width}",
            "batch-to-space-nd.batch",
        )


def batch_to_space(op: BoundOperation) -> list[Dimensions]:
    """[batch / block height / block width, height * block height, width * block width, depth]."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    down, across = op.block_shape
    return [in_layout((batch // (down * across), height * down, width * across, depth), op.nchw)]


def padded_image(op: BoundOperation) -> tuple[int, int]:
    """Height and width after SPACE_TO_BATCH_ND has padded them."""
    _, height, width, _ = nhwc(op.input.dimensions, op.nchw)
    top, bottom, left, right = op.paddings
    return top + height + bottom, left + width + right


def blocks_divide_padded_image(op: BoundOperation) -> None:
    """The padded height and width are multiples of those of a block."""
    if len(op.paddings) != 4:
        raise op_failed(
            f"paddings has {len(op.paddings)} elements; its dimensions must be [2, 2]",
            "space-to-batch-nd.paddings-dimensions",
        )
    # Differs: documented paddings are at least 0; the reference crops for negative ones.
    sizes = padded_image(op)
    if min(sizes) < 0 or any(n % block for n, block in zip(sizes, op.block_shape, strict=True)):
        raise op_failed(
            f"input has size {list(sizes)} with its paddings; it must be a multiple of block_shape "
            f"{list(op.block_shape)}",
            "space-to-batch-nd.block-shape",
        )


def space_to_batch(op: BoundOperation) -> list[Dimensions]:
    """[batch * elements of a block, padded height / its own, padded width / its own, depth]."""
    batch, _, _, depth = nhwc(op.input.dimensions, op.nchw)
    (down, across), (height, width) = op.block_shape, padded_image(op)
    return [in_layout((batch * down * across, height // down, width // across, depth), op.nchw)]


TRANSPOSE = movement(
    OperationType.TRANSPOSE,
    doc="output[i...] = input[j...] with j[perm[k]] = i[k]; perm is (1, 0) if omitted.",
    types=SINCE_2,
    forms=[form("input perm:TENSOR_INT32")],
    values=["perm"],
    omittable=["perm"],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input"), one_dimensional("perm"), perm_is_a_permutation],
    allow_zero_sized=True,
    shape=permuted,
)

REVERSE = movement(
    OperationType.REVERSE,
    doc="output = input with the order of the elements along axis reversed.",
    types=rows("T T", f32=7, f16=7, i32=7, qu8=7, qs8=7),
    forms=[form("input axis:TENSOR_INT32")],
    values=["axis"],
    rules=[
        same_parameters("input", "output"),
        same_rank("input", "output"),
        source_dimensions("axis", 1),
    ],
    checks=[rank_limit(8, "input"), one_axis],
    shape=lambda op: [op.input.dimensions],
    quantization=same_as("input", but="i32"),
)

CHANNEL_SHUFFLE = movement(
    OperationType.CHANNEL_SHUFFLE,
    doc="output[k * num_groups + g] = input[g * size / num_groups + k], along axis.",
    types=rows("T T", f32=3, f16=3, qu8=3, qs8=4),
    forms=[form("input num_groups:INT32 axis:INT32")],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input"), axis_exists, positive("num_groups"), groups_divide],
    shape=lambda op: [op.input.dimensions],
)


def of_image(
    type: OperationType, *, inputs: str, checks: Sequence[Check], **parts: Any
) -> Operation:
    """A movement between the dimensions of an image. inputs: all but the layout."""
    return movement(
        type,
        forms=[form(inputs), form(f"{inputs} nchw:BOOL", since=3)],
        defaults={"nchw": False},
        checks=[known_rank(4, "input"), *checks],
        legacy=True,
        **parts,
    )


DEPTH_TO_SPACE = of_image(
    OperationType.DEPTH_TO_SPACE,
    doc="output[n, h * b + i, w * b + j, c] = input[n, h, w, (i * b + j) * depth / b^2 + c], "
    "b = block_size.",
    types=ONE_TO_ONE,
    inputs="input block_size:INT32",
    checks=[positive("block_size"), depth_divides],
    shape=depth_to_space,
)

SPACE_TO_DEPTH = of_image(
    OperationType.SPACE_TO_DEPTH,
    doc="output[n, h, w, (i * b + j) * depth + c] = input[n, h * b + i, w * b + j, c], "
    "b = block_size.",
    types=ONE_TO_ONE,
    inputs="input block_size:INT32",
    checks=[positive("block_size"), space_divides],
    shape=space_to_depth,
)

# Differs: documented for any number of spatial dimensions; the reference has two.
BATCH_TO_SPACE_ND = of_image(
    OperationType.BATCH_TO_SPACE_ND,
    doc="output[n, h * bh + i, w * bw + j, c] = input[(i * bw + j) * batch / (bh * bw) + n, h, w, "
    "c], (bh, bw) = block_shape.",
    types=SINCE_2,
    inputs="input block_shape:TENSOR_INT32",
    values=["block_shape"],
    checks=[sized("block_shape", 2), block_is_two_sizes, blocks_divide_batch],
    shape=batch_to_space,
)

# Differs: documented for any number of spatial dimensions; the reference has two.
SPACE_TO_BATCH_ND = of_image(
    OperationType.SPACE_TO_BATCH_ND,
    doc="output[(i * bw + j) * batch + n, h, w, c] = padded input[n, h * bh + i, w * bw + j, c], "
    "(bh, bw) = block_shape; the padding is the number 0.",
    types=SINCE_2,
    inputs="input block_shape:TENSOR_INT32 paddings:TENSOR_INT32",
    values=["block_shape", "paddings"],
    rules=[zero_point_level],
    checks=[
        sized("block_shape", 2),
        sized("paddings", 2, 2),
        block_is_two_sizes,
        blocks_divide_padded_image,
        outputs_fit,
    ],
    shape=space_to_batch,
)
