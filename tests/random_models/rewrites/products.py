"""Convolutions and other products of an idiom, of floats and of bytes."""

from collections.abc import Sequence
from typing import NamedTuple

from numpy import float32

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.random_models.rewrites.sketch import FLOATS, I32, S8, U8, Sketch
from tests.single import CONSTANT, INPUT


class Window(NamedTuple):
    """Of a convolution, height first. pads: a code, or those on the left, right, top, bottom."""

    size: tuple[int, int] = (1, 1)
    pads: int | Sequence[int] = 2
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)


def some_window(s: Sketch, padded: float = 0.4) -> Window:
    """A random one. padded: how often it has padding of its own."""
    size = s.one_of(1, 2, 3, 3, 4), s.one_of(1, 2, 3, 3, 4)
    pads: int | Sequence[int] = 1 if s.chance(padded) else 2
    if s.chance(padded):
        pads = [s.between(0, size[1] - 1) for _ in range(2)]
        pads += [s.between(0, size[0] - 1) for _ in range(2)]
    stride = (s.between(1, 3), s.between(1, 3)) if s.chance(0.5) else (1, 1)
    dilation = (s.between(1, 3), s.between(1, 3)) if s.chance(0.3) else (1, 1)
    return Window(size, pads, stride, dilation)


def weights(s: Sketch, type: T, shape: tuple[int, ...]) -> tuple[int, float]:
    """A filter for inputs of a type, and its scale."""
    kind = CONSTANT if s.chance(0.85) else INPUT
    if type in FLOATS:
        return s.tensor(type, shape, kind=kind), 0.0
    scale = float(s.one_of(0.0078125, 0.02, 0.5))
    zero = 0 if type is S8 else s.between(0, 255)
    return s.tensor(type, shape, (scale, zero), kind=kind), scale


def bias(s: Sketch, x: int, scale: float, depth: int) -> int:
    """One for an input and a filter of this scale."""
    type = s.type(x)
    if type in FLOATS:
        return s.constant(type, (depth,))
    return s.constant(I32, (depth,), (float(float32(s.parameters(x)[0]) * float32(scale)), 0))


def convolution(
    s: Sketch,
    x: int,
    window: Window,
    depth: int = 0,
    activation: int = 0,
    parameters: tuple[float, int] | None = None,
    nchw: bool | None = None,
) -> int:
    """CONV_2D of an image in the order NHWC to a depth; 0 for a DEPTHWISE_CONV_2D."""
    type, channels = s.type(x), s.dimensions(x)[3]
    multiplier = s.one_of(1, 1, 2) if depth == 0 else 0
    shape = (depth, *window.size, channels) if depth else (1, *window.size, channels * multiplier)
    filter, scale = weights(s, type, shape)
    out = shape[0] if depth else shape[3]
    inputs = [x, filter, bias(s, x, scale, out)]
    pads = [window.pads] if isinstance(window.pads, int) else window.pads
    numbers = [*pads, window.stride[1], window.stride[0]]
    numbers += [activation] if depth else [multiplier, activation]
    inputs += map(s.numbers, numbers)
    if window.dilation != (1, 1) or nchw is not None:
        inputs.append(s.boolean(bool(nchw)))
    if window.dilation != (1, 1):
        inputs += [s.numbers(window.dilation[1]), s.numbers(window.dilation[0])]
    kind = O.CONV_2D if depth else O.DEPTHWISE_CONV_2D
    return s.add(kind, inputs, parameters=parameters or _wide(s, type))


def connected(s: Sketch, x: int, columns: int, activation: int = 0) -> int:
    """FULLY_CONNECTED of a matrix."""
    filter, scale = weights(s, s.type(x), (columns, s.dimensions(x)[-1]))
    inputs = [x, filter, bias(s, x, scale, columns), s.numbers(activation)]
    return s.add(O.FULLY_CONNECTED, inputs, parameters=_wide(s, s.type(x)))


def _wide(s: Sketch, type: T) -> tuple[float, int] | None:
    """Parameters that a sum of products rarely leaves."""
    if type not in (U8, S8):
        return None
    return float(s.one_of(0.25, 0.5, 0.7, 2.0, 8.0)), s.quantization(type)[1]
