"""For each pass over steps, what it looks for, in random forms and with what it has to leave."""

from math import prod

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.random_models.rewrites.products import Window, connected, convolution
from tests.random_models.rewrites.sketch import F16, F32, FLOATS, S8, U8, Sketch
from tests.single import CONSTANT, INPUT

SAME, VALID = 1, 2


def _product(s: Sketch, x: int, depth: int, code: int) -> int:
    """A convolution that keeps height and width, or a product of a matrix."""
    if len(s.dimensions(x)) == 2:
        return connected(s, x, depth, code)
    window = Window((1, 1), VALID) if s.chance(0.6) else Window((s.one_of(1, 3), 3), SAME)
    return convolution(s, x, window, depth, code)


def sum_gathered(s: Sketch) -> int:
    """Rows that indices choose, and their sum or mean; now and then almost."""
    shape = s.one_of((), (), (), (2,)), s.between(1, 20), s.one_of(16, 16, 32, 64, 8, 12, 80)
    axis, size, inner = len(shape[0]), *shape[1:]
    table = s.source(s.one_of(F32, F32, F32, F16), (*shape[0], size, inner))
    gathered = [_rows_of(s, table, axis, size) for _ in range(s.one_of(1, 1, 2))]
    if s.chance(0.2):
        return s.passed_on(gathered[0])
    for rows in gathered:
        count, last = prod(s.dimensions(rows)[:-1]), s.dimensions(rows)[-1]
        if s.chance(0.2) and count % 2 == 0:
            rows = s.add(O.RESHAPE, [rows, s.numbers([count // 2, 2 * last])])
        rank = len(s.dimensions(rows))
        axes = s.numbers([s.one_of(rank - 2, rank - 2, rank - 2, 0, rank - 1)])
        if s.chance(0.5):
            total = s.add(O.MEAN, [rows, axes, s.numbers(s.one_of(0, 1))])
        else:
            kind = s.one_of(O.REDUCE_SUM, O.REDUCE_SUM, O.REDUCE_MAX)
            total = s.add(kind, [rows, axes, s.boolean(s.chance(0.5))])
    return s.passed_on(rows) if s.chance(0.2) else total


def _rows_of(s: Sketch, table: int, axis: int, size: int) -> int:
    """A GATHER or EMBEDDING_LOOKUP; some indices lie outside of the table."""
    length = s.one_of(s.between(1, 9), s.between(1, 40), s.between(510, 515))
    shape = s.one_of((length,), (s.between(1, 3), length))
    indices = s.rng.integers(0, size, shape)
    if s.chance(0.05):
        indices.flat[s.between(0, length - 1)] = s.one_of(-1, size)
    if axis == 0 and len(shape) == 1 and s.chance(0.4):
        return s.add(O.EMBEDDING_LOOKUP, [s.numbers(indices), table])
    return s.add(O.GATHER, [table, s.numbers(axis), s.numbers(indices)])


def fuse_additions(s: Sketch) -> int:
    """Products and ADDs of what they give."""
    type = s.one_of(F32, F32, U8, S8)
    if s.chance(0.8):
        shape: tuple[int, ...] = s.between(1, 2), s.between(1, 6), s.between(1, 6), s.between(1, 20)
    else:
        shape = s.between(1, 6), s.between(1, 20)
    depth = s.between(1, 40)
    x = s.source(type, shape)
    y = _product(s, x, depth, s.one_of(0, 0, 1, 3))
    for _ in range(s.between(1, 3)):
        if s.chance(0.3):
            full = s.dimensions(y)
            z = s.source(
                type, full if s.chance(0.8) else s.one_of(full[-1:], (*full[:-1], 1), (1,))
            )
        else:
            z = _product(s, s.one_of(x, y), depth, s.one_of(0, 0, 1, 2))
        scale = (
            {}
            if type is F32
            else {"parameters": (s.one_of(0.5, 1.0, 3.0), s.quantization(type)[1])}
        )
        y = s.add(O.ADD, [*s.either(y, z), s.numbers(s.one_of(0, 0, 1, 2, 3))], **scale)
    return y


def write_in_place(s: Sketch) -> int:
    """Parts that are joined and split again."""
    type = s.one_of(F32, F32, F16, U8, S8)
    parameters = s.quantization(type)
    if s.chance(0.25):
        return _shifted(s, type, parameters)
    height, width = s.between(1, 6), s.between(1, 6)
    channels = s.between(1, 6)
    x = s.source(type, (1, height, width, channels), parameters)
    parts = []
    for _ in range(s.between(1, 3)):
        if s.chance(0.5):
            part = convolution(
                s, x, Window((1, 1), VALID), s.between(1, 6), s.one_of(0, 1), parameters
            )
        else:
            part = s.passed_on(x)
        parts.append(part if s.chance(0.8) else s.passed_on(part))
    axis = 3 if s.chance(0.7) else 1
    whole = [
        part for part in parts if axis == 3 or s.dimensions(part)[3] == s.dimensions(parts[0])[3]
    ]
    both = s.add(O.CONCATENATION, [*whole, s.numbers(axis)], parameters=parameters)
    if s.chance(0.4):
        both = s.passed_on(both)
    size = s.dimensions(both)[axis]
    divisors = [number for number in (2, 3, 4, 5) if size % number == 0]
    if divisors and s.chance(0.6):
        count = s.one_of(*divisors)
        first = s.add(O.SPLIT, [both, s.numbers(axis), s.numbers(count)], count=count)
        read = [s.passed_on(first + at) for at in range(count) if s.chance(0.7)]
        if len(read) > 1 and s.chance(0.5):
            return s.add(O.PACK, [s.numbers(0), *read])
    elif s.chance(0.7):
        begin = [0, s.between(0, height - 1), 0, 0]
        sizes = [-1, 1, -1, -1]
        part = s.add(O.SLICE, [both, s.numbers(begin), s.numbers(sizes)])
        return s.passed_on(part)
    return both


def _shifted(s: Sketch, type: T, parameters: tuple[float, int]) -> int:
    """Rows of an image, some of which are taken, changed, and joined with others."""
    height, width, channels = s.between(3, 8), s.between(1, 6), s.between(1, 20)
    x = s.passed_on(s.source(type, (1, height, width, channels), parameters))
    kept = s.between(height // 2, height - 1)
    first = s.one_of(0, s.between(0, height - kept))
    part = _rows(s, x, first, kept)
    if kept > 1 and s.chance(0.3):
        part = _rows(s, part, s.between(0, 1), kept - 1)
    elif kept > 1 and s.chance(0.2):
        part = s.add(O.SPLIT, [part, s.numbers(1), s.numbers(kept)], count=kept) + s.between(0, 1)
    part = s.add(s.one_of(O.RELU, O.TANH), [part]) if type in FLOATS else s.passed_on(part)
    missing = height - s.dimensions(part)[1]
    other = s.source(type, (1, missing, width, channels), parameters)
    joined = [*s.either(part, other), s.numbers(1)]
    return s.passed_on(s.add(O.CONCATENATION, joined, parameters=parameters))


def _rows(s: Sketch, x: int, first: int, count: int) -> int:
    return s.add(O.SLICE, [x, s.numbers([0, first, 0, 0]), s.numbers([-1, count, -1, -1])])


def fuse_tiles(s: Sketch) -> int:
    """Convolutions, and products and sums of what they give, pixel by pixel or almost."""
    type = s.one_of(F32, F32, F32, U8, S8)
    depth = s.one_of(16, 32, 48) if type is F32 else s.one_of(64, 96)
    shape = s.one_of(1, 1, 1, 2), s.between(10, 20), s.between(8, 20), depth
    x = s.source(type, shape)
    if s.chance(0.6):
        x = s.passed_on(x)  # its memory may be written over
    y = x
    form = s.between(0, 7)
    if form == 0:
        return _over_its_input(s, x)
    if form == 1:
        return _images_side_by_side(s, x)
    if s.chance(0.6):
        y = convolution(s, x, Window((s.one_of(1, 2, 3), 3), SAME), 0, s.one_of(0, 1, 3))
    elif s.chance(0.4):
        y = convolution(s, x, Window((3, 3), SAME), depth, s.one_of(0, 1))
    for _ in range(s.between(1, 3)):
        y = _behind(s, x, y) if s.chance(0.6) else _summed(s, x, y)
    return s.passed_on(y) if s.chance(0.5) else y  # what it writes is in the arena, then


def _over_its_input(s: Sketch, x: int) -> int:
    """A depthwise convolution and a product, in the end with x, which is written over."""
    y = convolution(s, x, Window((2, 3), SAME), 0)
    y = convolution(s, y, Window((1, 1), VALID), s.dimensions(x)[-1])
    return s.passed_on(s.add(s.one_of(O.MUL, O.SUB), [x, y, s.numbers(0)]))


def _images_side_by_side(s: Sketch, x: int) -> int:
    """A convolution of some images, and a product of as many rows as one of them has pixels."""
    images, height, width, _ = s.dimensions(x)
    depth = s.one_of(16, 24, 32)
    y = convolution(s, x, Window((3, 3), SAME), depth, s.one_of(0, 1))
    y = s.add(O.RESHAPE, [y, s.numbers([height * width, images * depth])])
    return connected(s, y, s.between(16, 48))


def _behind(s: Sketch, x: int, y: int) -> int:
    """A product of a result, or of what it holds in rows of another length, or of x."""
    if s.chance(0.1):
        y = x
    shape = s.dimensions(y)
    depth = s.dimensions(x)[-1] if s.chance(0.6) else s.between(8, 70)
    if len(shape) == 4 and s.chance(0.7):
        window = Window((1, 1), VALID)
        if s.chance(0.1):
            window = s.one_of(Window((3, 3), SAME), Window((1, 1), VALID, (2, 2)))
        return convolution(s, y, window, depth, s.one_of(0, 1, 3))
    columns = s.one_of(shape[-1], 2 * shape[-1], shape[-1] // 2)
    if prod(shape) % columns == 0:
        y = s.add(O.RESHAPE, [y, s.numbers([-1, columns])])
    elif len(shape) == 4:
        y = s.add(O.RESHAPE, [y, s.numbers([-1, shape[-1]])])
    return connected(s, y, depth, s.one_of(0, 1))


def _summed(s: Sketch, x: int, y: int) -> int:
    """A result with x, itself, another like it, a row, or one number."""
    type, shape = s.type(y), s.dimensions(y)
    few = s.one_of(shape[-1:], (1,), (1, 1), (*shape[:-1], 1))
    others = [y, s.source(type, shape), s.tensor(type, few, kind=s.one_of(INPUT, CONSTANT))]
    others += [x] * 4 if s.dimensions(x) == shape else []
    pairs = s.either(y, s.one_of(*others)) if s.chance(0.7) else (x, y)
    kind = s.one_of(O.ADD, O.MUL, O.MUL, O.SUB)
    return s.add(kind, [*pairs, s.numbers(s.one_of(0, 1))])


def fuse_elementwise(s: Sketch) -> int:
    """What goes element by element or row by row, of some hundred elements or many."""
    type = s.one_of(F32, F32, F32, F32, F16, U8, S8)
    if s.chance(0.4):
        return _repeated(s, type)
    shape = s.one_of(
        (s.between(6, 12), s.between(8, 16)),
        (s.between(2, 8), s.between(4, 6), s.between(6, 13)),
        (s.between(900, 1300),),
        (8, 16),
        (16, 16),
        (s.between(2, 4) * 4, 1, 16),
        (s.between(200, 300), 64),
    )
    whole = [s.source(type, shape)]
    rows: list[int] = []
    axis = len(shape) - 1
    for _ in range(s.between(2, 6)):
        x = whole[-1] if s.chance(0.7) else s.one_of(*whole)
        if rows and s.chance(0.3):
            rows.append(_of_rows(s, rows[-1]))
        form = s.between(0, 5)
        if form == 0:
            whole.append(s.passed_on(x))
        elif form == 1:
            whole.append(s.add(s.one_of(O.LOGISTIC, O.TANH, O.RELU), [x]))
        elif form == 2 and axis and (type is F32 or type is F16):
            kind = s.one_of(O.MEAN, O.REDUCE_MAX, O.REDUCE_SUM)
            keeps = s.numbers(1) if kind is O.MEAN else s.boolean(True)
            axes = s.one_of([axis], [axis], [0], [axis // 2], [0, axis])
            rows.append(s.add(kind, [x, s.numbers(axes), keeps]))
        elif form == 3 and axis:
            whole.append(s.add(O.SOFTMAX, [x, s.real(1.0, F16 if type is F16 else F32)]))
        else:
            other = s.one_of(*whole, *rows) if s.chance(0.8) else s.constant(type, (shape[-1],))
            if s.type(other) == s.type(x):
                kind = s.one_of(O.ADD, O.MUL, O.SUB)
                whole.append(s.add(kind, [*s.either(x, other), s.numbers(s.one_of(0, 0, 1))]))
    return whole[-1]


def _repeated(s: Sketch, type: T) -> int:
    """Tensors, and such as are combined with each part of them, in the same chain."""
    count, rows, columns = s.one_of(4, 8, 16), s.one_of(2, 4), s.one_of(8, 16, 32)
    whole = [s.source(type, (count, rows, columns))]
    parts = [s.source(type, s.one_of((rows, columns), (1, rows, columns)))]
    if s.chance(0.7):
        parts.append(s.passed_on(parts[0]))  # its memory may be written over
    each = s.source(type, (count, rows, 1))
    kinds = O.ADD, O.MUL, O.SUB
    for _ in range(s.between(2, 5)):
        x = whole[-1] if s.chance(0.7) else s.one_of(*whole)
        form = s.between(0, 3)
        if form == 0:
            parts.append(s.passed_on(parts[-1]))
        elif form == 1:
            whole.append(s.passed_on(x))
        else:
            other = each if form == 2 and s.chance(0.7) else x
            pair = s.either(other, parts[-1])
            whole.append(s.add(s.one_of(*kinds), [*pair, s.numbers(s.one_of(0, 0, 1))]))
    return s.passed_on(s.one_of(whole[-1], parts[-1]))


def _of_rows(s: Sketch, x: int) -> int:
    """What is made of one number for each row or column, or of those of a square the other way."""
    shape = s.dimensions(x)
    if len(shape) == 2 and 16 in shape and s.chance(0.5):
        return s.add(O.RESHAPE, [x, s.numbers(shape[::-1])])
    return s.add(O.ADD, [*s.either(x, s.constant(s.type(x), shape)), s.numbers(0)])


def run_parallel(s: Sketch) -> int:
    """Branches of small steps that do not need each other."""
    type = s.one_of(F32, F32, F16, U8)
    shape = s.between(60, 90), s.between(80, 120)
    if type is U8:
        shape = s.between(130, 180), s.between(130, 180)
    x = s.source(type, shape)
    made = [x]
    for _ in range(s.between(2, 5)):
        y = s.one_of(x, *made)
        form = s.between(0, 3)
        if form == 0:
            made.append(s.add(O.TRANSPOSE, [y, s.numbers([1, 0])]))
        elif form == 1:
            made.append(s.add(O.SOFTMAX, [y, s.real(1.0, F16 if type is F16 else F32)]))
        elif form == 2:
            made.append(s.add(O.L2_NORMALIZATION, [y]))
        else:
            made.append(s.passed_on(y))
    ends = [index for index in made if s.dimensions(index) == shape and s.type(index) == type]
    return s.add(O.MAXIMUM, [*s.either(ends[-1], ends[0])])


ON_STEPS = (
    sum_gathered,
    fuse_additions,
    write_in_place,
    fuse_tiles,
    fuse_elementwise,
    run_parallel,
)
