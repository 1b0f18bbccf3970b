"""IF and WHILE around small random graphs."""

from collections.abc import Callable, Sequence
from typing import Any

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Dimensions
from tests.random_models import glue
from tests.random_models.graph import COMPUTED, Graph, Node
from tests.random_models.growth import Growth
from tests.single import INPUT, Value, bool8, f32, i32, scalar, tensor

Draw = Callable[[Growth, Sequence[OperationType]], Any]

JOINED = tuple(type for type in glue.MOVABLE if type != T.TENSOR_INT32)
"""Types that CONCATENATION takes."""


def draw(growth: Growth, type: OperationType, draw_operation: Draw) -> bool:
    """Add an IF or WHILE; False if nothing there fits one."""
    make = _if if type is OperationType.IF else _while
    return make(growth, draw_operation)


def _if(growth: Growth, draw_operation: Draw) -> bool:
    condition = _condition(growth)
    taken = _some_tensors(growth, int(growth.rng.integers(4)))
    then, otherwise = _inner(growth, taken), _inner(growth, taken)
    for branch in (then, otherwise):
        _fill(branch, draw_operation)
    results = [i for i in then.graph.computed() if then.value(i).operand.type in glue.MOVABLE]
    if not results:
        return False
    count = min(len(results), int(growth.rng.integers(1, 4)))
    chosen = [results[at] for at in growth.rng.permutation(len(results))[:count].tolist()]
    then.graph.outputs = chosen
    same = growth.chance(0.7)
    outputs = []
    for index in chosen:
        value = then.value(index)
        dimensions = value.operand.dimensions if same else None
        twin = _made_like(otherwise, value, dimensions)
        if twin is None:
            return False
        otherwise.graph.outputs.append(twin)
        outputs.append(glue.like(value))
    node = Node(OperationType.IF, (condition, *taken), (), (_declared(then), _declared(otherwise)))
    added = growth.add_node(node, outputs)
    if same and growth.chance(0.5):
        _declare(growth, added)
    return True


def _while(growth: Growth, draw_operation: Draw) -> bool:
    """Counts to a limit; what it carries besides goes through a few operations in every round."""
    if not {OperationType.ADD, OperationType.LESS} <= set(growth.allowed):
        return False
    rng = growth.rng
    counter = growth.given(i32([0]))
    taken = _some_tensors(growth, int(rng.integers(4)))
    carried: list[int] = []
    for index in taken[: int(rng.integers(len(taken) + 1))]:
        state = _start(growth, index)
        if state is not None:
            carried.append(state)
    arguments = [counter, *carried, *taken[len(carried) :]]
    condition, body = _inner(growth, arguments), _inner(growth, arguments)
    limit = i32([int(rng.integers(4))])
    condition.graph.outputs = condition.add(
        OperationType.LESS, (condition.graph.inputs[0], limit), (bool8(),)
    )
    (count,) = body.add(
        OperationType.ADD, (body.graph.inputs[0], i32([1]), scalar(T.INT32, 0)), (i32(),)
    )
    _fill(body, draw_operation)
    body.graph.outputs = [count]
    grows = False
    for position in range(1, len(carried) + 1):
        next_state, has_grown = _next(body, body.graph.inputs[position])
        if next_state is None:
            return False
        grows |= has_grown
        body.graph.outputs.append(next_state)
    outputs = [glue.like(growth.value(index)) for index in arguments[: len(carried) + 1]]
    outputs = outputs[: int(rng.integers(1, len(outputs) + 1))]
    node = Node(
        OperationType.WHILE,
        tuple(arguments),
        (),
        (_declared(condition, grows), _declared(body, grows)),
    )
    added = growth.add_node(node, outputs)
    if not grows and growth.chance(0.5):
        _declare(growth, added)
    return True


def _start(growth: Growth, index: int) -> int | None:
    """What a loop starts with; floating-point numbers up to 1."""
    value = growth.value(index)
    if value.operand.type not in glue.MOVABLE or 0 in value.operand.dimensions:
        return None
    if len(value.operand.dimensions) > glue.MAX_RESHAPED_RANK:
        return None
    if value.operand.type in glue.FLOATS and not glue.is_within(value.array, 1.0):
        return glue.tamed(growth, index, 1.0)
    return index


def _next(body: Growth, state: int) -> tuple[int | None, bool]:
    """What a round makes of an operand that it carries, and whether that is larger."""
    value = body.value(state)
    type, dimensions = value.operand.type, value.operand.dimensions
    joins = OperationType.CONCATENATION in body.allowed and type in JOINED
    if joins and value.array.size <= 32 and body.chance(0.15):
        arguments = (state, state, scalar(T.INT32, 0))
        return body.add(OperationType.CONCATENATION, arguments, (glue.like(value),))[0], True
    made = _made_like(body, value, dimensions)
    if made is not None and type in glue.FLOATS:
        made = glue.clamped(body, made, 1.0)
    return made, False


def _made_like(growth: Growth, value: Value, dimensions: Dimensions | None) -> int | None:
    """A computed tensor with the type and parameters of another one; dimensions None: any.

    It is not among the outputs of the graph yet.
    """
    type = value.operand.type
    pool = growth.pool.get(type, [])
    result = None
    if pool:
        result = pool[int(growth.rng.integers(len(pool)))]
        if dimensions is not None:
            result = glue.adapted(growth, result, dimensions)
    if result is None:
        result = growth.given(_random_like(growth, value, dimensions))
    if type in QUANTIZED_RANGE:
        result = glue.requantized(growth, result, value)
    if result is None:
        return None
    if growth.graph.items[result].kind == COMPUTED and result not in growth.graph.outputs:
        return result
    return glue.copied(growth, result)


def _random_like(growth: Growth, value: Value, dimensions: Dimensions | None) -> Value:
    expected = value.operand.dimensions if dimensions is None else dimensions
    low, high = QUANTIZED_RANGE.get(value.operand.type, (-1, 1))
    contents = growth.rng.integers(low, high + 1, expected)
    return tensor(value.operand.type, contents, value.operand.scale, value.operand.zero_point)


# Parts of both


def _condition(growth: Growth) -> int:
    """One truth value: given, or computed from a number that is far from what it is compared with.

    If it were not, devices that round differently would go different ways.
    """
    names = ("GREATER", "LESS", "GREATER_EQUAL", "LESS_EQUAL")
    types = [OperationType[name] for name in names if OperationType[name] in growth.allowed]
    numbers = growth.pool.get(T.TENSOR_FLOAT32, [])
    if growth.depth == 0 and types and numbers and growth.chance(0.6):
        source = numbers[int(growth.rng.integers(len(numbers)))]
        made = glue.adapted(growth, source, (1,))
        if made is not None:
            number = float(growth.value(made).array[0])
            bound = number + float(growth.rng.choice((-1, 1))) * (0.5 + abs(number) / 2)
            type = types[int(growth.rng.integers(len(types)))]
            if abs(bound) < 1e30:
                return growth.add(type, (made, f32([bound])), (bool8(),))[0]
    return growth.given(bool8([int(growth.rng.integers(2))]))


def _some_tensors(growth: Growth, count: int) -> list[int]:
    """Tensors of the pool; new ones while there are none."""
    result = []
    known = [i for indexes in growth.pool.values() for i in indexes]
    tensors = [i for i in known if growth.value(i).operand.dimensions]
    for _ in range(count):
        if tensors and growth.chance(0.8):
            result.append(tensors[int(growth.rng.integers(len(tensors)))])
        else:
            numbers = growth.rng.uniform(-1, 1, growth.rng.integers(1, 5, 2))
            result.append(growth.given(tensor(T.TENSOR_FLOAT32, numbers)))
    return result


def _inner(growth: Growth, taken: Sequence[int]) -> Growth:
    """A graph that has these operands of the outer one as its inputs."""
    inner = Growth(growth.rng, growth.allowed, 1.0, growth.depth + 1, growth.special)
    for index in taken:
        operand, array, *_ = growth.value(index)
        inner.graph.inputs.append(inner.given(Value(operand, array), INPUT))
    return inner


def _fill(growth: Growth, draw_operation: Draw) -> None:
    for _ in range(int(growth.rng.integers(1, 4))):
        draw_operation(growth, tuple(sorted(growth.allowed)))


def _declared(growth: Growth, nothing: bool = False) -> Graph:
    """The graph; nothing: it declares no dimensions, because they change from round to round."""
    graph = growth.graph
    if nothing:
        kinds = (COMPUTED, INPUT)
        graph.items = [
            item._replace(declared=()) if item.kind in kinds else item for item in graph.items
        ]
    return graph


def _declare(growth: Growth, indexes: Sequence[int]) -> None:
    items = growth.graph.items
    for index in indexes:
        dimensions = items[index].value.operand.dimensions
        if 0 not in dimensions:
            items[index] = items[index]._replace(declared=dimensions)
