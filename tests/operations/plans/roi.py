"""Examples of the roi family."""

from typing import TYPE_CHECKING

from tests.operations.plans.boxes import EIGHTH, corners, images, real_tensor, type_of
from tests.operations.plans.common import DEPTHS, Plan, Random, pick

if TYPE_CHECKING:
    from tests.operations.cases import Use

STRIDES = (0.5, 1.0, 2.0, 2.5)
"""Their multiples are numbers of all types."""


def regions(use: "Use", rng: Random, batch: int) -> Plan:
    """Rois of any size inside several feature maps."""
    batches, height, width, depth = 3, pick(rng, (1, 5, 12)), pick(rng, (1, 7)), pick(rng, DEPTHS)
    nchw = bool(rng.integers(2))
    stride_y, stride_x = float(rng.choice(STRIDES)), float(rng.choice(STRIDES))
    count = batch * pick(rng, (1, 4))
    boxes = corners(rng, (count,), width * stride_x, height * stride_y)
    return {
        "input": (batches, depth, height, width) if nchw else (batches, height, width, depth),
        "rois": real_tensor(type_of(use, "rois"), boxes, EIGHTH),
        "batch_index": images(rng, count, batches),
        "out_height": pick(rng, (1, 2, 7)),
        "out_width": pick(rng, (1, 3, 5)),
        "height_stride": stride_y,
        "width_stride": stride_x,
        "height_sampling_ratio": pick(rng, (0, 1, 2, 3)),
        "width_sampling_ratio": pick(rng, (0, 1, 2, 3)),
        "nchw": nchw,
    }


PLANS = {"ROI_ALIGN": regions, "ROI_POOLING": regions}
