"""Examples of the rearrange family."""

from typing import TYPE_CHECKING

from nnapi_shim.operations.shapes import in_layout
from tests.operations.plans.common import SIZES, Plan, Random, pick, sizes, small_sizes
from tests.single import i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def transpose(use: "Use", rng: Random, batch: int) -> Plan:
    """Any order of up to four axes; omitted for some of rank 2."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    if len(dimensions) == 2 and rng.random() < 0.5:
        return {"input": dimensions, "perm": None}
    return {"input": dimensions, "perm": i32(rng.permutation(len(dimensions)))}


def reverse(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 6)))
    return {"input": dimensions, "axis": i32([pick(rng, range(len(dimensions)))])}


def channel_shuffle(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis; that has some groups of any size."""
    rank = pick(rng, range(1, 5))
    axis, groups = pick(rng, range(-rank, rank)), pick(rng, (1, 2, 3, 4, 8))
    dimensions = list(small_sizes(rng, batch, rank))
    dimensions[axis] = groups * (pick(rng, SIZES) if batch else 0)
    return {"input": tuple(dimensions), "axis": axis, "num_groups": groups}


def _image(use: "Use", rng: Random, nhwc: tuple[int, int, int, int]) -> Plan:
    nchw = "nchw" in use.names and bool(rng.integers(2))
    return {"input": in_layout(nhwc, nchw), "nchw": nchw}


def depth_to_space(use: "Use", rng: Random, batch: int) -> Plan:
    """A depth that the square of the block divides."""
    block = pick(rng, (1, 2, 3))
    _, height, width, depth = small_sizes(rng, batch, 4)
    depth *= block**2
    return {**_image(use, rng, (batch, height, width, depth)), "block_size": block}


def space_to_depth(use: "Use", rng: Random, batch: int) -> Plan:
    """A height and width that the block divides."""
    block = pick(rng, (1, 2, 3))
    _, height, width, depth = small_sizes(rng, batch, 4)
    image = batch, height * block, width * block, depth
    return {**_image(use, rng, image), "block_size": block}


def batch_to_space(use: "Use", rng: Random, batch: int) -> Plan:
    """A batch that the block divides."""
    block = pick(rng, (1, 2, 3)), pick(rng, (1, 2, 4))
    image = small_sizes(rng, batch * block[0] * block[1], 4)
    return {**_image(use, rng, image), "block_shape": i32(block)}


def space_to_batch(use: "Use", rng: Random, batch: int) -> Plan:
    """Padding that makes up for what is missing to whole blocks, or is a cut."""
    block = pick(rng, (1, 2, 3)), pick(rng, (1, 2, 4))
    _, *sizes, depth = small_sizes(rng, batch, 4)
    paddings = []
    for size, step in zip(sizes, block, strict=True):
        before = pick(rng, range(-min(size, 2), 4))
        paddings.append((before, -(size + before) % step + step * pick(rng, (0, 1))))
    image = _image(use, rng, (batch, *sizes, depth))
    return {**image, "block_shape": i32(block), "paddings": i32(paddings)}


PLANS = {
    "TRANSPOSE": transpose,
    "REVERSE": reverse,
    "CHANNEL_SHUFFLE": channel_shuffle,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "BATCH_TO_SPACE_ND": batch_to_space,
    "SPACE_TO_BATCH_ND": space_to_batch,
}
