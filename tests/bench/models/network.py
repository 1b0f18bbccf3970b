"""What the architectures of this folder are written against: layers with random weights.

In float32 or, with the ranges of a float run, in int8 as TensorFlow Lite's converter quantizes:
weights symmetric, of convolutions by channel; activations asymmetric; biases in 32 bits. Where
operands of different ranges meet in one that has only one range (CONCATENATION and what moves or
averages), all of them have the widest.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim import Model, Operand

Array = np.ndarray[Any, np.dtype[Any]]
Ranges = Sequence[tuple[float, float]]

INT8 = "TENSOR_QUANT8_ASYMM_SIGNED"
SEED = 20
SAMPLES = 2
"""How many random inputs the ranges are taken from."""


class Network:
    """A model that is being built, layer by layer.

    ranges: of all activations in the order in which they are made; None builds float32.
    width: the share of the channels that inner layers have; 1 but in tests.

    parameters: how many weights and biases there are by now. normalised: how many channels have a
    batch normalisation, which is part of weights and biases here.
    """

    def __init__(self, ranges: Ranges | None = None, width: float = 1.0) -> None:
        self.model = Model()
        self.ranges, self.width = ranges, width
        self.activations: list[Operand] = []
        self.equal: list[list[int]] = []
        self._places: dict[int, int] = {}
        self.parameters = self.normalised = self._layers = 0

    @property
    def is_float(self) -> bool:
        """Whether float32 is built."""
        return self.ranges is None

    def input(self, shape: Sequence[int], name: str = "input") -> Operand:
        """An input of numbers."""
        if self.is_float:
            return self._made(self.model.input("TENSOR_FLOAT32", shape, name=name))
        return self._made(self.model.input(INT8, shape, **self._next(), name=name))

    def indexes(self, shape: Sequence[int], name: str) -> Operand:
        """An input of whole numbers, such as words."""
        return self.model.input("TENSOR_INT32", shape, name=name)

    def conv(
        self,
        x: Operand,
        channels: int,
        kernel: int | tuple[int, int] = 1,
        stride: int = 1,
        activation: str = "NONE",
        padding: str = "SAME",
        has_normalisation: bool = True,
        is_exact: bool = False,
        gain: float = 1.0,
    ) -> Operand:
        """A convolution; kernel: height and width. is_exact: `width` does not count. gain: of its
        weights, where those of the usual size would let activations grow from block to block.
        """
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        channels = channels if is_exact else self.scaled(channels)
        if has_normalisation:
            self.normalised += channels
        depth = x.dimensions[-1]
        shape = (channels, height, width, depth)
        filter, bias = self._weights(x, shape, 0, activation, gain)
        return self._made(
            self.model.conv_2d(
                x, filter, bias, padding=padding, stride=stride, activation=activation,
                **self._next(),
            )
        )  # fmt: skip

    def depthwise(
        self,
        x: Operand,
        kernel: int | tuple[int, int] = 3,
        stride: int = 1,
        activation: str = "NONE",
        has_normalisation: bool = True,
    ) -> Operand:
        """A convolution of each channel by itself."""
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        depth = x.dimensions[-1]
        if has_normalisation:
            self.normalised += depth
        filter, bias = self._weights(x, (1, height, width, depth), 3, activation)
        return self._made(
            self.model.depthwise_conv_2d(
                x, filter, bias, 1, padding="SAME", stride=stride, activation=activation,
                **self._next(),
            )
        )  # fmt: skip

    def doubled(self, x: Operand, channels: int) -> Operand:
        """A picture of twice the height and width, by a transposed convolution of 2x2."""
        channels = self.scaled(channels)
        filter, bias = self._weights(x, (channels, 2, 2, x.dimensions[-1]), 0, "NONE")
        _, height, width, _ = x.dimensions
        shape = (1, 2 * height, 2 * width, channels)
        made = self.model.transpose_conv_2d(
            x, filter, bias, False, padding="VALID", stride=2, output_shape=shape, **self._next()
        )
        return self._made(made)

    def classes(self, x: Operand, count: int, gain: float = 4.0) -> Operand:
        """The head of a classifier, which is rather sure of itself."""
        return self.softmax(self.dense(x, count, gain=gain))

    def dense(self, x: Operand, units: int, activation: str = "NONE", gain: float = 1.0) -> Operand:
        """A fully connected layer of the last dimension; NNAPI has one scale for its weights."""
        weights, bias = self._weights(x, (units, x.dimensions[-1]), None, activation, gain)
        made = self._made(
            self.model.fully_connected(x, weights, bias, activation=activation, **self._next())
        )
        if len(x.dimensions) == 2:
            return made
        return self.reshape(made, (*x.dimensions[:-1], units))

    def add(self, x: Operand, y: Operand, activation: str = "NONE") -> Operand:
        """Their sum."""
        return self._made(self.model.add(x, y, activation=activation, **self._next()))

    def mul(self, x: Operand, y: Operand) -> Operand:
        """Their product; dimensions of 1 are stretched."""
        return self._made(self.model.mul(x, y, **self._next()))

    def add_number(self, x: Operand, value: float, activation: str = "NONE") -> Operand:
        """The same number added everywhere; it is above 0."""
        return self.add(x, self._number(x, value), activation)

    def mul_number(self, x: Operand, value: float) -> Operand:
        """All of it times a number above 0."""
        return self.mul(x, self._number(x, value))

    def matmul(self, x: Operand, y: Operand, adj_y: bool = False) -> Operand:
        """Products of the matrices in the last two dimensions."""
        return self._made(self.model.batch_matmul(x, y, adj_y=adj_y, **self._next()))

    def hard_swish(self, x: Operand) -> Operand:
        """The product of x and relu6(x + 3) / 6."""
        return self._made(self.model.hard_swish(x, **self._next()))

    def logistic(self, x: Operand) -> Operand:
        """The sigmoid."""
        return self.model.logistic(x)

    def tanh(self, x: Operand) -> Operand:
        """The hyperbolic tangent."""
        return self.model.tanh(x)

    def softmax(self, x: Operand) -> Operand:
        """Over the last dimension."""
        fixed = {} if self.is_float else {"scale": 1 / 256, "zero_point": -128}
        return self.model.softmax(x, **fixed)

    def max_pool(self, x: Operand, size: int, stride: int, padding: str = "SAME") -> Operand:
        """Largest values of windows."""
        made = self.model.max_pool_2d(x, filter=size, stride=stride, padding=padding)
        return self._same(x, made)

    def average_pool(self, x: Operand, size: int, stride: int, padding: str = "SAME") -> Operand:
        """Means of windows."""
        made = self.model.average_pool_2d(x, filter=size, stride=stride, padding=padding)
        return self._same(x, made)

    def mean(self, x: Operand) -> Operand:
        """The mean of each channel, as an image of one pixel."""
        return self._same(x, self.model.mean(x, [1, 2], keep_dims=True))

    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand:
        """The same numbers in other dimensions."""
        return self._same(x, self.model.reshape(x, list(shape)))

    def transpose(self, x: Operand, order: Sequence[int]) -> Operand:
        """The dimensions in another order."""
        return self._same(x, self.model.transpose(x, list(order)))

    def slice(self, x: Operand, begin: Sequence[int], size: Sequence[int]) -> Operand:
        """A part."""
        return self._same(x, self.model.slice(x, list(begin), list(size)))

    def concat(self, parts: Sequence[Operand], axis: int = 3) -> Operand:
        """One behind the other."""
        made = self._made(self.model.concatenation(parts, axis, **self._next()))
        self.equal.append([self._places[part.index] for part in (*parts, made)])
        return made

    def halves(self, x: Operand) -> tuple[Operand, Operand]:
        """The first and the second half of the channels."""
        first, second = self.model.split(x, len(x.dimensions) - 1, 2)
        return self._same(x, first), self._same(x, second)

    def in_float(self, layer: Callable[[Model, Operand], Operand], x: Operand) -> Operand:
        """A layer of the model's own methods that is computed in float32 in both kinds: what loses
        too much in 8 bits, or what they do not have.
        """
        if self.is_float:
            return self._made(layer(self.model, x))
        made = layer(self.model, self.model.dequantize(x, output="TENSOR_FLOAT32"))
        return self._made(self.model.quantize(made, output=INT8, **self._next()))

    def embedding(self, words: Operand, count: int, depth: int) -> Operand:
        """A vector for each word."""
        table = self.random((count, depth), 1.0)
        self.parameters += table.size
        if self.is_float:
            return self._made(self.model.gather(self.model.constant(table), 0, words))
        scale = np.float32(np.abs(table).max() / 127)
        content = self.model.constant(np.rint(table / scale).astype(np.int8), scale=float(scale))
        made = self.model.gather(content, 0, words, scale=float(scale))
        return self._made(made)  # its range is that of the table

    def vector(self, depth: int, middle: float) -> Array:
        """Parameters of a float layer, about `middle`."""
        self.parameters += depth
        return (middle + self.random((depth,), 0.1)).astype(np.float32)

    def finish(self, *outputs: Operand) -> Model:
        """The model, whole."""
        self.model.outputs(*outputs)
        self.model.finish()
        return self.model

    def scaled(self, channels: int) -> int:
        """How many channels there are of so many at this width."""
        return channels if self.width == 1 else max(8, round(channels * self.width / 8) * 8)

    def random(self, shape: Sequence[int], deviation: float) -> Array:
        """The same numbers in both kinds of a model."""
        self._layers += 1
        generator = np.random.default_rng((SEED, self._layers))
        return generator.standard_normal(shape, np.float32) * np.float32(deviation)

    def _number(self, x: Operand, value: float) -> Operand:
        number = np.full((1,) * len(x.dimensions), value, np.float32)
        if self.is_float:
            return self.model.constant(number)
        whole = np.full(number.shape, 127, np.int8)
        return self.model.constant(whole, INT8, value / 255, -128)

    def _weights(
        self,
        x: Operand,
        shape: Sequence[int],
        axis: int | None,
        activation: str,
        gain: float = 1.0,
    ) -> tuple[Operand, Operand]:
        """Weights and biases that keep the size of activations; axis: that of the channels, along
        which there are scales.
        """
        count = shape[0 if axis is None else axis]
        products = int(np.prod(shape)) // count
        gain *= 2**0.5 if activation != "NONE" else 1.0
        weights = self.random(shape, gain / products**0.5)
        bias = self.random((count,), 0.1)
        self.parameters += weights.size + bias.size
        if self.is_float:
            return self.model.constant(weights), self.model.constant(bias)
        others = None if axis is None else tuple(n for n in range(len(shape)) if n != axis)
        scales = np.abs(weights).max(others, keepdims=True).astype(np.float32) / np.float32(127)
        whole = np.rint(weights / scales).astype(np.int8)
        products_scale = np.float32(x.scale) * scales.reshape(-1)
        content = np.rint(bias / products_scale).astype(np.int32)
        if axis is None:
            own, bias_scale = {"scale": float(scales.item())}, float(products_scale[0])
        else:
            own, bias_scale = {"scales": scales.ravel().tolist(), "channel_dim": axis}, 0.0
        return (
            self.model.constant(whole, **own),
            self.model.constant(content, "TENSOR_INT32", bias_scale),
        )

    def _made(self, operand: Operand) -> Operand:
        """Remember an activation, whose range counts."""
        self._places[operand.index] = len(self.activations)
        self.activations.append(operand)
        return operand

    def _same(self, x: Operand, made: Operand) -> Operand:
        """Remember one that has the range of another, if that has one of its own."""
        if x.index in self._places:
            self._made(made)
            self.equal.append([self._places[x.index], self._places[made.index]])
        return made

    def _next(self) -> dict[str, Any]:
        """Scale and zero point of the activation that is made next."""
        if self.ranges is None:
            return {}
        low, high = self.ranges[len(self.activations)]
        scale = np.float32((high - low) / 255)
        return {
            "scale": float(scale),
            "zero_point": int(np.clip(round(-128 - low / scale), -128, 127)),
        }


def calibrated(network: Network, model: Model) -> Ranges:
    """The range of every activation of a float model in runs with random inputs."""
    generator = np.random.default_rng(SEED)
    lows = np.zeros(len(network.activations))
    highs = np.zeros(len(network.activations))
    compilation = model.compile("nnapi-cpu")
    for _ in range(SAMPLES):
        result = compilation.intermediates(*random_inputs(model, generator))
        for location, operand in enumerate(network.activations):
            value = result[operand]
            lows[location] = min(lows[location], float(value.min()))
            highs[location] = max(highs[location], float(value.max()))
    changed = True
    while changed:
        changed = False
        for group in network.equal:
            low, high = lows[group].min(), highs[group].max()
            changed |= bool((lows[group] > low).any() or (highs[group] < high).any())
            lows[group], highs[group] = low, high
    highs = np.maximum(highs, lows + 1e-3)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


WORDS = 1000
"""Inputs of whole numbers are below."""


def random_inputs(model: Model, generator: np.random.Generator) -> list[Array]:
    """An input of each operand that is one: pictures and the like, from -1 to 1."""
    result = []
    for operand in model.graph.input_operands:
        shape = tuple(int(size) for size in operand.dimensions)
        if operand.type.name == "TENSOR_INT32":
            result.append(generator.integers(0, WORDS, shape, np.int32))
            continue
        numbers = generator.uniform(-1, 1, shape).astype(np.float32)
        if operand.type.name == INT8:
            whole = np.rint(numbers / np.float32(operand.scale)) + operand.zero_point
            numbers = np.clip(whole, -128, 127).astype(np.int8)
        result.append(numbers)
    return result
