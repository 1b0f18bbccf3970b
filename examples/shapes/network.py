"""A small convolutional network in numpy: forward, backward, and its training with Adam."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Layer(NamedTuple):
    """kind: conv, depthwise, pointwise or dense."""

    kind: str
    channels: int
    stride: int = 1


LAYERS = (
    Layer("conv", 16, 2),
    Layer("conv", 32, 2),
    Layer("depthwise", 32),
    Layer("pointwise", 64),
    Layer("depthwise", 64, 2),
    Layer("pointwise", 80),
    Layer("dense", 10),
)
"""All but the last have 3 x 3 or 1 x 1 filters, SAME padding and RELU6; a mean over the pixels
precedes the last one.
"""


def initial(generator: np.random.Generator) -> list[list[Array]]:
    """Random weights and zero biases of each layer.

    Shapes of weights: (3, 3, inputs, outputs), (3, 3, channels), (inputs, outputs).
    """
    parameters = []
    depth = 3
    for kind, channels, _ in LAYERS:
        shapes = {"conv": (3, 3, depth, channels), "depthwise": (3, 3, channels)}
        shape = shapes.get(kind, (depth, channels))
        summed = 9 if kind == "depthwise" else int(np.prod(shape[:-1]))
        weights = generator.normal(0, (2 / summed) ** 0.5, shape)
        if depth == 3:
            weights -= weights.mean((0, 1), keepdims=True)  # start with edges, not with colours
        parameters.append([weights.astype(np.float32), np.zeros(channels, np.float32)])
        depth = channels
    return parameters


def taps(x: Array, stride: int) -> list[Array]:
    """The nine shifted views that a 3 x 3 filter of SAME padding reads."""
    before = 1 if stride == 1 else 0
    padded = np.pad(x, ((0, 0), (before, 1), (before, 1), (0, 0)))
    size = x.shape[1]
    return [
        padded[:, row : row + size : stride, column : column + size : stride]
        for row in range(3)
        for column in range(3)
    ]


def back_to_input(gradients: list[Array], shape: tuple[int, ...], stride: int) -> Array:
    """Sum the gradients of nine taps into one of the input."""
    before = 1 if stride == 1 else 0
    batch, size, _, depth = shape
    padded = np.zeros((batch, size + before + 1, size + before + 1, depth), gradients[0].dtype)
    for number, gradient in enumerate(gradients):
        row, column = divmod(number, 3)
        padded[:, row : row + size : stride, column : column + size : stride] += gradient
    return padded[:, before : before + size, before : before + size]


def forward(parameters: list[list[Array]], x: Array) -> tuple[Array, list[Array]]:
    """Scores before the softmax, and the input of each layer with that of the mean at the end."""
    inputs = []
    for layer, (weights, bias) in zip(LAYERS, parameters, strict=True):
        inputs.append(x)
        if layer.kind == "conv":
            x = np.concatenate(taps(x, layer.stride), -1) @ weights.reshape(-1, layer.channels)
        elif layer.kind == "depthwise":
            kernels = weights.reshape(9, -1)
            x = sum(
                tap * kernel for tap, kernel in zip(taps(x, layer.stride), kernels, strict=True)
            )
        elif layer.kind == "pointwise":
            x = x @ weights
        else:
            return x.mean((1, 2)) @ weights + bias, inputs
        x = np.clip(x + bias, 0, 6)
    raise AssertionError("the last layer is dense")


def backward(
    parameters: list[list[Array]], inputs: list[Array], gradient: Array
) -> list[list[Array]]:
    """Gradients of all parameters. gradient: that of the scores."""
    found: list[list[Array]] = []
    mean = inputs[-1].mean((1, 2))
    found.append([mean.T @ gradient, gradient.sum(0)])
    pixels = inputs[-1].shape[1] * inputs[-1].shape[2]
    x = np.broadcast_to((gradient @ parameters[-1][0].T)[:, None, None] / pixels, inputs[-1].shape)
    for number in reversed(range(len(LAYERS) - 1)):
        layer, (weights, _), given = LAYERS[number], parameters[number], inputs[number]
        result = inputs[number + 1]
        x = x * ((result > 0) & (result < 6))
        flat = x.reshape(-1, layer.channels)
        if layer.kind == "conv":
            rows = np.concatenate(taps(given, layer.stride), -1).reshape(-1, 9 * given.shape[-1])
            found.append([(rows.T @ flat).reshape(weights.shape), flat.sum(0)])
            columns = np.split(x @ weights.reshape(-1, layer.channels).T, 9, -1)
        elif layer.kind == "depthwise":
            views = taps(given, layer.stride)
            of_weights = np.stack([(view * x).sum((0, 1, 2)) for view in views])
            found.append([of_weights.reshape(weights.shape), flat.sum(0)])
            columns = [x * kernel for kernel in weights.reshape(9, -1)]
        else:
            found.append([given.reshape(-1, given.shape[-1]).T @ flat, flat.sum(0)])
            x = x @ weights.T
            continue
        x = back_to_input(columns, given.shape, layer.stride) if number else x
    return found[::-1]


def train(
    pictures: Array, numbers: Array, epochs: int, generator: np.random.Generator, batch: int = 64
) -> list[list[Array]]:
    """Weights and biases after so many passes over the pictures (bytes)."""
    parameters = initial(generator)
    means = [[np.zeros_like(p) for p in pair] for pair in parameters]
    squares = [[np.zeros_like(p) for p in pair] for pair in parameters]
    steps = epochs * (len(pictures) // batch)
    step = 0
    for epoch in range(epochs):
        order = generator.permutation(len(pictures))
        total = 0.0
        for start in range(0, len(order) - batch + 1, batch):
            chosen = order[start : start + batch]
            scores, inputs = forward(parameters, pictures[chosen].astype(np.float32) / 255)
            shares = softmax(scores)
            rows = np.arange(batch)
            total -= float(np.log(shares[rows, numbers[chosen]] + 1e-9).mean())
            shares[rows, numbers[chosen]] -= 1
            step += 1
            rate = 3e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for pair, gradients, mean, square in zip(
                parameters,
                backward(parameters, inputs, shares / batch),
                means,
                squares,
                strict=True,
            ):
                for p, g, m, s in zip(pair, gradients, mean, square, strict=True):
                    m += 0.1 * (g - m)
                    s += 0.001 * (g * g - s)
                    at = m / (1 - 0.9**step)
                    p -= (rate * at / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)).astype(np.float32)
        print(
            f"epoch {epoch + 1} of {epochs}: loss {total / (len(order) // batch):.3f}", flush=True
        )
    return parameters


def softmax(scores: Array) -> Array:
    """The shares of the classes."""
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)
