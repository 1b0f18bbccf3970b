"""A model that is drawn operation by operation; shapes follow from the declarations alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import dtype_of
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions, Operand, Operation, SymmPerChannelQuantParams
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.declare import BoundOperand
from tests.operations.plans.common import Random
from tests.random_models.graph import COMPUTED, Graph, Item, Node
from tests.single import CONSTANT, INPUT, Value

F32, F16 = T.TENSOR_FLOAT32, T.TENSOR_FLOAT16
U8, S8 = T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED
I32 = T.TENSOR_INT32
FLOATS, BYTES = (F32, F16), (U8, S8)


class Sketch:
    """A graph that grows.

    whole: floats are small whole numbers, so that sums are exact in any order.
    """

    def __init__(self, rng: Random, *, whole: bool = False) -> None:
        self.rng = rng
        self.whole = whole
        self.power = 0
        """Of 2, which whole floats are multiplied with."""
        self.graph = Graph()
        self._bound: list[BoundOperand] = []

    # Random choices

    def chance(self, probability: float) -> bool:
        """True now and then."""
        return bool(self.rng.random() < probability)

    def one_of(self, *choices: Any) -> Any:
        """One of them."""
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, least: int, most: int) -> int:
        """A whole number; both ends are possible."""
        return int(self.rng.integers(least, most + 1))

    def either(self, one: Any, other: Any) -> tuple[Any, Any]:
        """Two in either order."""
        return (one, other) if self.chance(0.5) else (other, one)

    def quantization(self, type: T) -> tuple[float, int]:
        """Scale and zero point of a type; of others than quantized ones, none."""
        if type not in BYTES:
            return 0.0, 0
        low, high = QUANTIZED_RANGE[type]
        scale = float(np.float32(2.0 ** self.rng.uniform(-8, -1)))
        return scale, self.one_of(low, high, (low + high + 1) // 2, self.between(low, high))

    # Operands

    def type(self, index: int) -> T:
        """Of an operand."""
        return self._bound[index].type

    def dimensions(self, index: int) -> Dimensions:
        """Of an operand."""
        return self._bound[index].dimensions

    def parameters(self, index: int) -> tuple[float, int]:
        """Scale and zero point of an operand."""
        return self._bound[index].scale, self._bound[index].zero_point

    def _contents(self, type: T, shape: Dimensions) -> Any:
        rng = self.rng
        if type in FLOATS:
            if self.whole:
                return (rng.integers(-6, 7, shape) * 2.0**self.power).astype(dtype_of(type))
            return (rng.normal(size=shape) * 2).astype(dtype_of(type))
        if type in QUANTIZED_RANGE:
            low, high = QUANTIZED_RANGE[type]
            return rng.integers(low, high + 1, shape).astype(dtype_of(type))
        return rng.integers(-99, 100, shape).astype(dtype_of(type))

    def tensor(
        self,
        type: T,
        shape: Dimensions,
        parameters: tuple[float, int] | None = None,
        *,
        kind: str = INPUT,
        contents: Any = None,
    ) -> int:
        """A new operand that the model is given: an input, or a constant."""
        scale, zero_point = self.quantization(type) if parameters is None else parameters
        array = self._contents(type, shape) if contents is None else contents
        array = np.ascontiguousarray(np.asarray(array, dtype_of(type)))
        return self._add(
            Item(Value(Operand(type, array.shape, scale, zero_point), array), kind, array.shape)
        )

    def constant(self, type: T, shape: Dimensions, *rest: Any, **others: Any) -> int:
        """As `tensor`: a constant."""
        return self.tensor(type, shape, *rest, kind=CONSTANT, **others)

    def by_channel(self, shape: Dimensions, dim: int = -1, kind: str = INPUT) -> int:
        """A new operand with a scale for each index of a dimension, the last by default."""
        type = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
        scales = tuple([float(np.float32(self.rng.uniform(0.01, 1))) for _ in range(shape[dim])])
        if self.whole:
            scales = tuple([2.0 ** self.between(-3, 0) for _ in scales])
        quant = SymmPerChannelQuantParams(scales, dim % len(shape))
        array = self.rng.integers(-127, 128, shape).astype(np.int8)
        return self._add(Item(Value(Operand(type, shape, channel_quant=quant), array), kind, shape))

    def numbers(self, values: Any) -> int:
        """A constant of int32: a number, or a tensor."""
        array = np.array(values, np.int32)
        return self._add(
            Item(
                Value(Operand(I32 if array.shape else T.INT32, array.shape), array),
                CONSTANT,
                array.shape,
            )
        )

    def boolean(self, value: bool) -> int:
        """A constant that is true or false."""
        return self._add(Item(Value(Operand(T.BOOL), np.array(value)), CONSTANT, ()))

    def real(self, value: float, type: T = F32) -> int:
        """A constant number of a floating-point type."""
        kind = T.FLOAT16 if type is F16 else T.FLOAT32
        return self._add(Item(Value(Operand(kind), np.array(value, dtype_of(kind))), CONSTANT, ()))

    def omitted(self, type: T) -> int:
        """An optional input that is left out."""
        return self._add(Item(Value(Operand(type), is_omitted=True), CONSTANT, ()))

    def _add(self, item: Item) -> int:
        index = len(self.graph.items)
        self.graph.items.append(item)
        bound = bound_operand(index, item.value.operand)
        bound.value = item.value.array
        bound.is_omitted = item.value.is_omitted
        self._bound.append(bound)
        return index

    # Operations

    def add(
        self,
        type: O,
        inputs: Sequence[int],
        output: T | None = None,
        parameters: tuple[float, int] | None = None,
        count: int = 1,
    ) -> int:
        """Add an operation; the index of its (first) output. Raises what its declaration raises.

        output: type of the outputs, that of the first input by default. parameters: their scale and
        zero point, where the operation leaves them open; random ones by default.
        """
        kind = self.type(inputs[0]) if output is None else output
        first = len(self._bound)
        mark = len(self.graph.items)
        try:
            for _ in range(count):
                arguments = self.quantization(kind) if parameters is None else parameters
                operand = Operand(kind, (), *arguments)
                self._add(Item(Value(operand), COMPUTED, ()))
            outputs = tuple(range(first, first + count))
            self._resolve(Operation(type, tuple(inputs), outputs))
        except Exception:
            del self.graph.items[mark:], self._bound[mark:]
            raise
        self.graph.nodes.append(Node(type, tuple(inputs), outputs))
        return first

    def _resolve(self, item: Operation) -> None:
        """Dimensions and parameters of what an operation writes."""
        op = bound_operation(item, self._operands(), self._input, self._bound.__getitem__)
        declaration = op.match.operation
        declaration.required_level(op)
        for check in declaration.checks:
            check(op)
        shapes, parameters = declaration.shape(op), declaration.quantization(op)
        for output, shape, (scale, zero_point) in zip(op.outputs, shapes, parameters, strict=True):
            output.dimensions, output.scale, output.zero_point = shape, scale, zero_point
            old = self.graph.items[output.index]
            operand = old.value.operand._replace(
                dimensions=shape, scale=scale, zero_point=zero_point
            )
            self.graph.items[output.index] = old._replace(value=Value(operand), declared=shape)

    def _operands(self) -> list[Operand]:
        return [item.value.operand for item in self.graph.items]

    def _input(self, index: int, is_value: bool) -> Any:
        bound = self._bound[index]
        if bound.is_omitted:
            return None
        if not is_value:
            return bound
        if bound.type in SCALARS:
            value = bound.value.item()
            return bool(value) if bound.type is T.BOOL else value
        return tuple(bound.value.ravel().tolist())

    # What stands around an idiom

    def source(
        self, type: T, shape: Dimensions, parameters: tuple[float, int] | None = None
    ) -> int:
        """What an idiom begins with: an input, one that there is already, or computed of one."""
        if self.chance(0.3):
            for index, bound in enumerate(self._bound):
                same = parameters is None or (bound.scale, bound.zero_point) == parameters
                if (bound.type, bound.dimensions) == (type, shape) and same:
                    return index
        x = self.tensor(type, shape, parameters)
        return self.passed_on(x) if self.chance(0.4) else x

    def passed_on(self, x: int) -> int:
        """What an operation makes of an operand, of the same type, dimensions and parameters."""
        type, shape = self.type(x), self.dimensions(x)
        kinds = [self._reshaped]
        if type in (*FLOATS, *BYTES):
            kinds += [self._clamped, self._largest, self._reversed]
        if type in FLOATS:
            kinds += [self._negative, self._plus]
        made = self.one_of(*kinds)(x, shape)
        return int(made)

    def _reshaped(self, x: int, shape: Dimensions) -> int:
        if not shape:
            return x
        flat = self.add(O.RESHAPE, [x, self.numbers([-1])]) if len(shape) <= 4 else x
        return self.add(O.RESHAPE, [flat, self.numbers(shape)])

    def _clamped(self, x: int, shape: Dimensions) -> int:
        return self.add(self.one_of(O.RELU, O.RELU6) if len(shape) <= 4 else O.RELU, [x])

    def _largest(self, x: int, shape: Dimensions) -> int:
        return self.add(O.MAXIMUM, [x, x], parameters=self.parameters(x))

    def _reversed(self, x: int, shape: Dimensions) -> int:
        begin = self.numbers([0] * len(shape))
        return self.add(O.SLICE, [x, begin, self.numbers(shape)])

    def _negative(self, x: int, shape: Dimensions) -> int:
        return self.add(self.one_of(O.NEG, O.ABS), [x])

    def _plus(self, x: int, shape: Dimensions) -> int:
        return self.add(O.ADD, [*self.either(x, self.tensor(self.type(x), shape)), self.numbers(0)])
