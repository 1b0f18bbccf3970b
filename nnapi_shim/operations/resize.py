"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from math import floor

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Iterator
from nnapi_shim.operations.declare import BoundOperation, Form, Operation, form, same_as
from nnapi_shim.operations.rules import float32, image_not_empty, known_rank
from nnapi_shim.operations.shapes import in_layout, nhwc
from nnapi_shim.operations.signatures import rows

FLAGS = ("nchw:BOOL", "align_corners:BOOL", "half_pixel_centers:BOOL")


def forms(fewest: int) -> Iterator[Form]:
    """Width and height as sizes or as scales, and `fewest` flags or more."""
    for size, since in (
        ("output_width:INT32 output_height:INT32", 1),
        ("width_scale height_scale", 3),
    ):
        for count, level in list(enumerate((1, 3, 4, 4)))[fewest:]:
            yield form(" ".join(("input", size, *FLAGS[:count])), since=max(since, level))


def flags_exclude_each_other(op: BoundOperation) -> None:
    """At most one of align_corners and half_pixel_centers is set."""
    if op.align_corners and op.half_pixel_centers:
        raise op_failed(
            "align_corners and half_pixel_centers are both true; one may be", "resize.align-corners"
        )


def scaled(size: int, scale: float, name: str) -> int:
    """The largest integer up to size * scale, a product in float32."""
    if not abs(size * scale) < 2**32:
        raise op_failed(
            f"{name}_scale is {scale:g}; the {name} must be smaller than 2^32", "resize.scale"
        )
    return floor(float32(size * scale))


def resized(op: BoundOperation) -> list[Dimensions]:
    """[batch, output_height, output_width, depth] in the operation's layout."""
    batch, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    if op.output_width is None:
        sizes = {
            "width": scaled(width, op.width_scale, "width"),
            "height": scaled(height, op.height_scale, "height"),
        }
    else:
        sizes = {"width": op.output_width, "height": op.output_height}
    for name, size in sizes.items():
        if size < 1:
            raise op_failed(
                f"output has {name} {size}; it must be at least 1", "resize.output-size"
            )
    return [in_layout((batch, sizes["height"], sizes["width"], depth), op.nchw)]


def resize(type: OperationType, doc: str, floats: int, flags: int, work: int) -> Operation:
    """A resizing operation.

    floats: level of its float32 form. flags: number of required flags.
    """
    return Operation(
        type,
        doc=doc,
        columns="input width_scale height_scale -> output",
        types=rows("T s s T", f32=floats, f16=3, qu8=3, qs8=4),
        forms=forms(flags),
        defaults={
            "output_width": None,
            "output_height": None,
            "nchw": False,
            "align_corners": False,
            "half_pixel_centers": False,
        },
        checks=[known_rank(4, "input"), image_not_empty, flags_exclude_each_other],
        allow_zero_sized=True,
        infinite_scales=type is OperationType.RESIZE_NEAREST_NEIGHBOR,
        shape=resized,
        quantization=same_as("input"),
        work=work,
    )


RESIZE_BILINEAR = resize(
    OperationType.RESIZE_BILINEAR,
    "output[n,y,x,c] = the mean of the four input pixels around (y, x), weighted by distance.",
    floats=1,
    flags=0,
    work=7,
)
RESIZE_NEAREST_NEIGHBOR = resize(
    OperationType.RESIZE_NEAREST_NEIGHBOR,
    "output[n,y,x,c] = the input pixel that is nearest to (y, x).",
    floats=3,
    flags=1,
    work=0,
)
