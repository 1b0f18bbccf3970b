"""Makes the files of this folder: draws pictures, trains the network, quantizes it, tests it.

    python examples/shapes/train.py

It takes some minutes, and needs numpy, Pillow and nnapi_shim with the extras tflite and onnx.
"""

from pathlib import Path
from typing import Any

import numpy as np
from drawing import LABELS, dataset, picture
from network import LAYERS, Array, forward, train

import nnapi_shim

FOLDER = Path(__file__).resolve().parent
SIZE, TRAINED, TESTED, EPOCHS = 32, 10000, 1000, 24
INT8 = "TENSOR_QUANT8_ASYMM_SIGNED"
SOFTMAX = {"scale": 1 / 256, "zero_point": -128}
"""The quantization of a SOFTMAX's output, which NNAPI prescribes."""


def filters(number: int, weights: Array) -> Array:
    """Weights of a layer in NNAPI's order: outputs, height, width, inputs."""
    kind = LAYERS[number].kind
    if kind == "conv":
        return weights.transpose(3, 0, 1, 2)
    if kind == "depthwise":
        return weights[None]
    return weights.T[:, None, None] if kind == "pointwise" else weights.T


def float_model(parameters: list[list[Array]]) -> nnapi_shim.Model:
    """The network in float32; pixels are 0 to 1."""
    with nnapi_shim.Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, SIZE, SIZE, 3], name="picture")
        for number, (layer, (weights, bias)) in enumerate(zip(LAYERS, parameters, strict=True)):
            filter = np.ascontiguousarray(filters(number, weights))
            options = {"padding": "SAME", "stride": layer.stride, "activation": "RELU6"}
            if layer.kind == "dense":
                x = model.fully_connected(model.mean(x, [1, 2], keep_dims=False), filter, bias)
            elif layer.kind == "depthwise":
                x = model.depthwise_conv_2d(x, filter, bias, 1, **options)
            else:
                x = model.conv_2d(x, filter, bias, **options)
        model.outputs(model.softmax(x, name="scores"))
    return model


def largest(model: nnapi_shim.Model, pictures: Array) -> list[tuple[float, float]]:
    """The smallest and largest result of each operation over some pictures."""
    compilation = nnapi_shim.Compilation(model)
    results = [operation.outputs[0] for operation in model.operations]
    ranges = np.zeros((len(results), 2))
    for pixels in pictures:
        values = compilation.intermediates(pixels[None].astype(np.float32) / 255)
        for number, operand in enumerate(results):
            found = values[operand]
            ranges[number, 0] = min(ranges[number, 0], found.min())
            ranges[number, 1] = max(ranges[number, 1], found.max())
    return [(float(low), float(high)) for low, high in ranges]


def quantized(parameters: list[list[Array]], ranges: list[tuple[float, float]]) -> nnapi_shim.Model:
    """The network in int8: weights have a scale for each output channel, results one scale."""

    def of_range(low: float, high: float) -> dict[str, Any]:
        scale = (high - low) / 255
        return {"scale": scale, "zero_point": int(np.clip(round(-128 - low / scale), -128, 127))}

    with nnapi_shim.Model() as model:
        x = model.input(INT8, [1, SIZE, SIZE, 3], scale=1 / 255, zero_point=-128, name="picture")
        remaining = iter(ranges)
        for number, (layer, (weights, bias)) in enumerate(zip(LAYERS, parameters, strict=True)):
            if layer.kind == "dense":
                next(remaining)  # the mean keeps the scale of its input
                x = model.mean(x, [1, 2], keep_dims=False)
            filter = filters(number, weights)
            channel_dim = 3 if layer.kind == "depthwise" else 0
            others = tuple(n for n in range(filter.ndim) if n != channel_dim)
            if layer.kind == "dense":
                others = (0, 1)  # FULLY_CONNECTED has one scale for its weights
            scales = (np.abs(filter).max(others, keepdims=True) / 127).astype(np.float32)
            stored = np.rint(filter / scales).astype(np.int8)
            products = np.float32(x.scale) * scales.ravel()
            stored_bias = np.rint(bias / products).astype(np.int32)
            result = of_range(*next(remaining))
            options = {"padding": "SAME", "stride": layer.stride, "activation": "RELU6", **result}
            if layer.kind == "dense":
                own = model.constant(stored, INT8, float(scales.item()))
                own_bias = model.constant(stored_bias, "TENSOR_INT32", float(products[0]))
                x = model.fully_connected(x, own, own_bias, **result)
                continue
            own = model.constant(stored, scales=scales.ravel().tolist(), channel_dim=channel_dim)
            own_bias = model.constant(stored_bias, "TENSOR_INT32")
            if layer.kind == "depthwise":
                x = model.depthwise_conv_2d(x, own, own_bias, 1, **options)
            else:
                x = model.conv_2d(x, own, own_bias, **options)
        model.outputs(model.softmax(x, name="scores", **SOFTMAX))
    return model


def accuracy(model: nnapi_shim.Model, pictures: Array, numbers: Array) -> float:
    """The share of pictures whose shape has the highest score."""
    compilation = nnapi_shim.Compilation(model)
    is_float = compilation.inputs[0].type.name == "TENSOR_FLOAT32"
    right = 0
    for pixels, number in zip(pictures, numbers, strict=True):
        value = pixels / np.float32(255) if is_float else (pixels.astype(np.int16) - 128)
        value = value[None].astype(np.float32 if is_float else np.int8)
        right += int(compilation.run(value).argmax() == number)
    return right / len(pictures)


def main() -> None:
    """Make all files anew."""
    pictures, numbers = dataset(TRAINED, SIZE, seed=1)
    tests, expected = dataset(TESTED, SIZE, seed=2)
    parameters = train(pictures, numbers, EPOCHS, np.random.default_rng(0))
    scores, _ = forward(parameters, tests.astype(np.float32) / 255)
    print(f"numpy: {(scores.argmax(1) == expected).mean():.1%} of {TESTED} pictures right")
    in_float = float_model(parameters)
    in_int8 = quantized(parameters, largest(in_float, pictures[:200]))
    for name, model in (
        ("float.tflite", in_float),
        ("float.onnx", in_float),
        ("int8.tflite", in_int8),
    ):
        model.save(FOLDER / name, overwrite=True)
    for name, model in (("float", in_float), ("int8", in_int8)):
        print(f"{name}: {accuracy(model, tests, expected):.1%} right")
    (FOLDER / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    generator = np.random.default_rng(3)
    picture("star", 64, generator).save(FOLDER / "star.png")
    for label in LABELS:
        folder = FOLDER / "pictures" / label
        folder.mkdir(parents=True, exist_ok=True)
        picture(label, SIZE, generator).save(folder / "0.png")


if __name__ == "__main__":
    main()
