"""Small valid models: every operation in some of its uses, chains, IF and WHILE."""

import ctypes
import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.quantization import SCALARS, STRUCT_CODES
from tests.operations.cases import USES, Use, example

F32, I32, B8 = T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_BOOL8
OMITTED = b""
INFINITE = float("inf")
CAPACITY = 1 << 15
"""Bytes for an output whose size the recipe does not know."""


@dataclass
class Operand:
    """An operand; value: bytes of a constant, OMITTED, a Recipe, or None."""

    type: T
    dimensions: tuple[int, ...] = ()
    scale: float = 0.0
    zero_point: int = 0
    channels: tuple[int, tuple[float, ...]] | None = None
    value: Any = None
    contents: Any = None
    """A buffer with the value; for an input, with contents that suit it."""

    @property
    def length(self) -> int:
        """Bytes; CAPACITY where the dimensions are not known."""
        if self.type not in SCALARS and not all(self.dimensions or (0,)):
            return CAPACITY
        if self.type not in STRUCT_CODES:
            return 4
        count = np.dtype(STRUCT_CODES[self.type]).itemsize
        for size in self.dimensions:
            count *= size
        return count


@dataclass
class Recipe:
    """A model to be built."""

    name: str
    operands: list[Operand] = field(default_factory=list)
    operations: list[tuple[int, list[int], list[int]]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def add(self, type: T, dimensions: tuple[int, ...] = (), *details: Any, **more: Any) -> int:
        """An operand; its index."""
        self.operands.append(Operand(type, dimensions, *details, **more))
        value = self.operands[-1].value
        if isinstance(value, bytes) and value:
            self.operands[-1].contents = buffer_of(value)
        return len(self.operands) - 1

    def constant(self, type: T, values: Any) -> int:
        """An operand with a value."""
        array = np.array(values, STRUCT_CODES[type])
        return self.add(type, array.shape, value=array.tobytes())

    def input(self, type: T, values: Any) -> int:
        """An input with contents that suit it."""
        array = np.array(values, STRUCT_CODES[type])
        self.inputs.append(self.add(type, array.shape, contents=buffer_of(array.tobytes())))
        return self.inputs[-1]

    def run(self, operation: int, inputs: list[int], *outputs: Any) -> int:
        """An operation; the index of its first output."""
        made = [self.add(*details) for details in outputs]
        self.operations.append((operation, inputs, made))
        return made[0]


def buffer_of(data: bytes) -> Any:
    """Memory with these contents, and room behind them."""
    return (ctypes.c_uint8 * (len(data) + 64)).from_buffer_copy(data + bytes(64))


def chain(length: int, sizes: tuple[int, ...] = (2, 3)) -> Recipe:
    """ADD and MUL after each other; the output's dimensions are known or not."""
    recipe = Recipe(f"chain of {length}")
    a = recipe.input(F32, np.full(sizes, -1.5))
    b = recipe.input(F32, np.full(sizes, 0.5))
    none = recipe.constant(T.INT32, 0)
    for number in range(length):
        a = recipe.run((O.ADD, O.MUL)[number % 2], [a, b, none], (F32, sizes if length % 2 else ()))
    recipe.outputs = [a]
    return recipe


def large_constant() -> Recipe:
    """An ADD with a constant that is read at finish."""
    recipe = Recipe("large constant")
    a = recipe.input(F32, np.ones((8, 16)))
    b = recipe.constant(F32, np.ones((8, 16)))
    recipe.outputs = [recipe.run(O.ADD, [a, b, recipe.constant(T.INT32, 1)], (F32, (8, 16)))]
    return recipe


def condition() -> Recipe:
    """Whether x is below 10."""
    recipe = Recipe("condition")
    x = recipe.input(F32, [1])
    recipe.outputs = [recipe.run(O.LESS, [x, recipe.constant(F32, [10])], (B8, (1,)))]
    return recipe


def growing() -> Recipe:
    """2 |x| + 1, which passes any limit soon, whatever x is."""
    recipe = Recipe("growing")
    x = recipe.run(O.ABS, [recipe.input(F32, [1])], (F32, (1,)))
    none = recipe.constant(T.INT32, 0)
    x = recipe.run(O.ADD, [x, x, none], (F32, (1,)))
    recipe.outputs = [recipe.run(O.ADD, [x, recipe.constant(F32, [1]), none], (F32, (1,)))]
    return recipe


def loop(outer: tuple[int, ...]) -> Recipe:
    """A WHILE that ends."""
    recipe = Recipe("loop")
    graphs = [recipe.add(T.MODEL, value=graph()) for graph in (condition, growing)]
    x = recipe.input(F32, [1])
    recipe.outputs = [recipe.run(O.WHILE, [*graphs, x], (F32, outer))]
    return recipe


def branch(outer: tuple[int, ...]) -> Recipe:
    """An IF, one of whose branches holds a WHILE."""
    recipe = Recipe("branch")
    graphs = [recipe.add(T.MODEL, value=graph) for graph in (growing(), loop((1,)))]
    chosen, x = recipe.input(B8, [1]), recipe.input(F32, [1])
    recipe.outputs = [recipe.run(O.IF, [chosen, *graphs, x], (F32, outer))]
    return recipe


def of_use(use: Use, seed: int) -> Recipe:
    """One operation with random sizes and contents; what decides shapes is a constant."""
    sample = example(use, np.random.default_rng(seed))
    recipe = Recipe(str(use))
    values = use.operation.match(use.inputs, use.outputs).value_positions
    inputs = []
    free = [
        position
        for position, value in enumerate(sample.inputs)
        if value.operand.type not in SCALARS
        and not value.is_omitted
        and value.operand.channel_quant is None
    ]
    arguments = [position for position in free if position not in values] or free
    for position, value in enumerate(sample.inputs):
        it = value.operand
        details = (it.type, it.dimensions, it.scale, it.zero_point)
        index = recipe.add(*details)
        operand = recipe.operands[index]
        if value.is_omitted:
            if it.scale == 0 and "QUANT" in it.type.name and it.channel_quant is None:
                operand.scale = 1.0
            operand.value = OMITTED
        else:
            data = value.array.tobytes()
            if position in arguments:
                operand.contents = buffer_of(data)
                recipe.inputs.append(index)
            else:
                operand.value, operand.contents = data, buffer_of(data)
            if it.channel_quant is not None:
                operand.channels = it.channel_quant.channel_dim, it.channel_quant.scales
        inputs.append(index)
    shapes = use.operation.shape(sample.op)
    for value, shape in zip(sample.outputs, shapes, strict=True):
        it = value.operand
        known = seed % 2 and all(shape) and not use.operation.data_dependent
        dimensions = tuple(shape) if known else ()
        recipe.outputs.append(recipe.add(it.type, dimensions, it.scale, it.zero_point))
    recipe.operations = [(use.operation.type, inputs, list(recipe.outputs))]
    return recipe


PATTERN = np.array((0, 1, -1, 2, 3, -2, 0, 5, 1, 1, 8, -3), "<i4").tobytes()
"""As numbers of any type these are small or negative: nothing grows large by them."""
MOST_BYTES = 1 << 15


def pattern(length: int, start: int = 0) -> bytes:
    """Bytes of PATTERN, from one of its numbers on."""
    repeated = PATTERN * (length // len(PATTERN) + 2)
    return repeated[4 * start : 4 * start + length]


def scrambled(recipe: Recipe, rng: random.Random) -> Recipe:
    """A copy of a recipe with some details changed: values, types, sizes, operations, order."""
    changed = Recipe(f"scrambled {recipe.name}")
    changed.operands = [replace(operand) for operand in recipe.operands]
    changed.operations = [(type, list(a), list(b)) for type, a, b in recipe.operations]
    changed.inputs, changed.outputs = list(recipe.inputs), list(recipe.outputs)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        way = rng.randrange(7)
        operand = rng.choice(changed.operands)
        _, inputs, outputs = rng.choice(changed.operations)
        if way == 0:
            operand.type = rng.choice(tuple(T))
            operand.scale = 0.5 if "QUANT" in operand.type.name else 0.0
            _refill(operand, rng)
        elif way == 1:
            sizes = list(operand.dimensions) + [1] * rng.randrange(2)
            if sizes:
                sizes[rng.randrange(len(sizes))] = rng.choice((0, 1, 2, 3, 5))
            operand.dimensions = tuple(sizes)
            _refill(operand, rng)
        elif way == 2 and isinstance(operand.value, bytes):
            _refill(operand, rng)
        elif way == 3:
            one, other = rng.randrange(len(inputs)), rng.randrange(len(inputs))
            inputs[one], inputs[other] = inputs[other], inputs[one]
        elif way == 4:
            at = rng.randrange(len(changed.operations))
            changed.operations[at] = (rng.choice(tuple(O)), inputs, outputs)
        elif way == 5:
            position = rng.randrange(len(inputs))
            index = inputs[position]
            if changed.operands[index].value is None and index in changed.inputs:
                _make_constant(changed, index, rng)
            elif isinstance(changed.operands[index].value, bytes):
                changed.operands[index].value = None
                changed.inputs.append(index)
        else:
            operand.scale = operand.scale and rng.choice((1e-30, 0.001, 0.5, 1.0, 100.0, INFINITE))
    return changed


def _make_constant(recipe: Recipe, index: int, rng: random.Random) -> None:
    """An input becomes a constant, omitted now and then; one input stays."""
    if len(recipe.inputs) == 1:
        return
    recipe.inputs.remove(index)
    operand = recipe.operands[index]
    operand.value = OMITTED
    if rng.random() < 0.7 and operand.contents is not None:
        operand.value = bytes(operand.contents)[: operand.length]


def _refill(operand: Operand, rng: random.Random) -> None:
    """Other contents, of the size that belongs to the operand now."""
    length = operand.length
    if isinstance(operand.value, Recipe) or length > MOST_BYTES:
        return
    data = pattern(length, rng.randrange(12))
    if isinstance(operand.value, bytes):
        operand.value = data
    if operand.value is not None or operand.contents is not None:
        operand.contents = buffer_of(data)


def catalogue(seed: int) -> list[Recipe]:
    """All kinds of models; the simple ones several times, as they are to come often."""
    rng = random.Random(seed)
    simple = [chain(length) for length in (1, 1, 1, 2, 3, 6)] + [large_constant()]
    control = [maker(outer) for maker in (loop, branch) for outer in ((1,), (0,), ())]
    by_type: dict[int, list[Use]] = {}
    for use in USES:
        by_type.setdefault(use.operation.type, []).append(use)
    chosen = [use for listed in by_type.values() for use in rng.sample(listed, min(2, len(listed)))]
    every = []
    for use in chosen:
        try:
            every.append(of_use(use, rng.randrange(1 << 30)))
        except Exception as error:
            raise RuntimeError(f"no example of {use}") from error
    return simple * (len(every) // (2 * len(simple))) + every + control * 6
