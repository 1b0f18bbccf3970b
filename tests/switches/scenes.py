"""What two threads do at once: objects that they share, and what each of them has to get.

A scene is made anew for each try. Its first two functions are done on two threads; whatever they
give is an array or a tuple of arrays, the same as when one thread does both.
"""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim import Compilation, FuseCode, Model
from nnapi_shim.drivers.cpu.compile.segments import MAX_KEPT
from nnapi_shim.runtime.memory import FdMemory

F32, I32 = "TENSOR_FLOAT32", "TENSOR_INT32"
NONE = FuseCode.NONE
CPU, REFERENCE = "nnapi-cpu", "nnapi-reference"

Work = Callable[[], Any]
Scene = Callable[[Path], tuple[Work, Work]]


def numbers(*shape: int) -> Any:
    """Small whole numbers, some below 0, of which float32 sums are exact."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7) % 11 - 5).astype(np.float32).reshape(shape)


def folded(rows: int | None = None) -> Model:
    """X * W' + c with the first dimension of x unknown; W' and c follow from constants."""
    with Model() as model:
        x = model.input(F32, [rows, 24])
        weights = model.transpose(numbers(24, 16), np.int32([1, 0]))
        bias = model.add(numbers(16), numbers(16)[::-1].copy())
        product = model.fully_connected(x, weights, bias)
        other = model.add(numbers(16), np.float32([1]))
        model.outputs(model.add(product, other), model.relu(product))
    return model


def convolutions(rows: int | None = None) -> Model:
    """Two of them, the filters of which are packed; the height is unknown."""
    with Model() as model:
        x = model.input(F32, [1, rows, 9, 8])
        bias = numbers(16)
        first = model.conv_2d(x, numbers(16, 3, 3, 8), bias, padding="SAME")
        model.outputs(model.conv_2d(first, numbers(16, 1, 1, 16), bias, padding="SAME"))
    return model


def shaped(rank: int = 2) -> Model:
    """Two segments: a sum behind a RESHAPE to the shape that another input gives."""
    with Model() as model:
        x, shape = model.input(F32, [24]), model.input(I32, [rank])
        model.outputs(model.add(model.reshape(x, shape), np.float32([1])))
    return model


def kept_boxes() -> Model:
    """Boxes of which the data decides how many are kept, and something after them."""
    with Model() as model:
        scores, boxes = model.input(F32, [6, 2]), model.input(F32, [6, 8])
        batches = model.input(I32, [6])
        actual = model.operation(
            "BOX_WITH_NMS_LIMIT", [scores, boxes, batches, 0.1, -1, 0, 0.4, 1.0, 0.3]
        )
        model.outputs(model.add(actual[0], np.float32([1])), *actual[1:])
    return model


def growing() -> Model:
    """A loop whose operand grows with each round: its graphs are run, not inlined."""
    with Model() as condition:
        x = condition.input(F32, [None])
        total = condition.reduce_sum(x, np.int32([0]), keep_dims=True)
        condition.outputs(condition.less(total, np.float32([20]), dimensions=[1]))
    with Model() as body:
        x = body.input(F32, [None])
        body.outputs(body.concatenation([x, x], 0))
    with Model() as model:
        x = model.input(F32, [None])
        model.outputs(*model.while_(condition, body, [x]))
    return model


def arguments(model: Callable[..., Model], rows: int) -> tuple[Any, ...]:
    """Inputs for one of the models above."""
    if model is folded:
        return (numbers(rows, 24),)
    if model is convolutions:
        return (numbers(1, rows, 9, 8),)
    if model is shaped:
        return numbers(24), np.int32([rows, 24 // rows])
    if model is kept_boxes:
        scores = np.linspace(0.05, 0.9, 12).astype(np.float32).reshape(6, 2)
        corners = np.arange(6, dtype=np.float32)[:, None] * rows
        boxes = np.concatenate([corners, corners, corners + 5, corners + 5] * 2, 1)
        return scores, boxes, np.int32([0] * 6)
    return (np.ones(rows, np.float32),)


MODELS = (folded, convolutions, shaped, kept_boxes, growing)


def first_runs(model: Callable[..., Model], device: str, other_shape: bool) -> Scene:
    """The first run of a compilation, on two threads."""

    def scene(folder: Path) -> tuple[Work, Work]:
        compiled = Compilation(model(), device)
        rows = 3 if other_shape else 2
        return (
            lambda: compiled.run(*arguments(model, 2)),
            lambda: compiled.run(*arguments(model, rows)),
        )

    return scene


def many_shapes(folder: Path) -> tuple[Work, Work]:
    """More shapes than are kept, while another run is under way."""
    compiled = Compilation(folded(), CPU)
    for rows in range(3, 3 + MAX_KEPT):
        compiled.run(numbers(rows, 24))
    return (
        lambda: compiled.run(numbers(2, 24)),
        lambda: [compiled.run(numbers(rows, 24))[0] for rows in range(1, 20)][-1],
    )


def many_values(folder: Path) -> tuple[Work, Work]:
    """More values that decide shapes than are kept."""
    compiled = Compilation(shaped(3), CPU)
    ways = [(a, b, 24 // a // b) for a in range(1, 25) for b in range(1, 25) if 24 % (a * b) == 0]
    assert len(ways) > MAX_KEPT + 10
    for way in ways[1 : MAX_KEPT + 1]:
        compiled.run(numbers(24), np.int32(way))
    return (
        lambda: compiled.run(numbers(24), np.int32(ways[0])),
        lambda: [compiled.run(numbers(24), np.int32(way)) for way in ways[-10:]][-1],
    )


def mapped(folder: Path) -> tuple[Work, Work]:
    """Weights in a file, which are packed for each compilation."""
    path = folder / "weights"
    path.write_bytes(numbers(16, 24).tobytes())
    with path.open("rb") as file:
        memory = FdMemory(4 * 16 * 24, mmap.PROT_READ, file.fileno(), 0)
    with Model() as model:
        x = model.input(F32, [None, 24])
        weights = model.add_operand(F32, [16, 24])
        model.runtime.set_operand_value_from_memory(weights.index, memory, 0, 4 * 16 * 24)
        model.outputs(model.fully_connected(x, weights, numbers(16)))
    compiled = Compilation(model, CPU)
    return lambda: compiled.run(numbers(2, 24)), lambda: compiled.run(numbers(2, 24))


def both_compile(folder: Path) -> tuple[Work, Work]:
    """Two compilations of one model, then of an equal one."""
    model, equal = folded(2), folded(2)
    x = numbers(2, 24)
    return lambda: Compilation(model, CPU).run(x), lambda: Compilation(equal, CPU).run(x)


def same_cache(folder: Path) -> tuple[Work, Work]:
    """Both leave the same file, or find it."""
    model, x = convolutions(6), numbers(1, 6, 9, 8)
    cache = (folder, b"\1" * 32)

    def work() -> Any:
        return Compilation(model, CPU, cache=cache).run(x)

    return work, work


def two_devices(folder: Path) -> tuple[Work, Work]:
    """A plan of steps on several devices, whose buffers grow."""
    compiled = Compilation(growing(), [REFERENCE, CPU])
    return (
        lambda: compiled.run(np.ones(2, np.float32)),
        lambda: compiled.run(np.ones(3, np.float32)),
    )


def relaxed(folder: Path) -> tuple[Work, Work]:
    """Weights that are kept as float16."""
    with Model() as model:
        x = model.input(F32, [None, 512])
        model.relax_computation_float32_to_float16()
        model.outputs(model.fully_connected(x, numbers(1024, 512), numbers(1024)))
    compiled = Compilation(model, CPU)
    one = numbers(1, 512)
    return lambda: compiled.run(one), lambda: compiled.run(one)


def closing(folder: Path) -> tuple[Work, Work]:
    """Objects that are made and closed by both."""
    model = folded(2)

    def work() -> Any:
        compiled = Compilation(model, CPU)
        result = compiled.run(numbers(2, 24))
        compiled.close()
        return result

    return work, work


def building(folder: Path) -> tuple[Work, Work]:
    """Two models under construction: nothing is shared but what the library keeps itself."""

    def work() -> Any:
        return Compilation(folded(2), CPU).run(numbers(2, 24))

    return work, work


def _name(model: Callable[..., Model], device: str, other_shape: bool) -> str:
    return f"{model.__name__} {device}{' other shape' if other_shape else ''}"


SCENES: dict[str, Scene] = {
    _name(model, device, other): first_runs(model, device, other)
    for model in MODELS
    for device in (CPU, REFERENCE)
    for other in (False, True)
} | {
    scene.__name__: scene
    for scene in (
        many_shapes,
        many_values,
        mapped,
        both_compile,
        same_cache,
        two_devices,
        relaxed,
        closing,
        building,
    )
}


def equal(one: Any, other: Any) -> bool:
    """Whether two results are the same, bit by bit."""
    if isinstance(one, Sequence):
        return len(one) == len(other) and all(map(equal, one, other))
    return one.shape == other.shape and one.tobytes() == other.tobytes()
