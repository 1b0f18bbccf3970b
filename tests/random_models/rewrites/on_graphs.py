"""For each pass over graphs, what it looks for, in random forms and with what it has to leave."""

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.random_models.rewrites.products import Window, connected, convolution, some_window
from tests.random_models.rewrites.sketch import BYTES, F16, F32, S8, U8, Sketch
from tests.single import CONSTANT, INPUT

EACH_REAL = (O.ABS, O.EXP, O.FLOOR, O.LOGISTIC, O.NEG, O.RELU, O.RELU1, O.RELU6, O.SQRT, O.TANH)
PAIRS = (O.ADD, O.SUB, O.MUL, O.DIV)


def shape_of(s: Sketch, least: int = 1, most: int = 4) -> tuple[int, ...]:
    """Of a small tensor."""
    return tuple([s.between(1, 5) for _ in range(s.between(least, most))])


def fold_constants(s: Sketch) -> int:
    """A few operations on constants, then one on an input."""
    shape = shape_of(s)
    x = s.source(F32, shape)
    kind = s.one_of(F32, F16, U8, S8)
    y = s.constant(kind, shape)
    for _ in range(s.between(0, 2)):
        if s.chance(0.5) or kind in BYTES:
            y = s.passed_on(y)
        else:
            y = s.add(s.one_of(*PAIRS), [*s.either(y, s.constant(kind, shape)), s.numbers(0)])
    if kind in BYTES:
        y = s.add(O.DEQUANTIZE, [y], F32)
    elif kind is F16:
        y = s.add(O.CAST, [y], F32)
    for _ in range(s.between(0, 3)):
        y = s.add(s.one_of(*EACH_REAL), [y])
    if len(shape) > 1 and s.chance(0.3):
        order = s.rng.permutation(len(shape))
        y = s.add(O.TRANSPOSE, [y, s.numbers(order)])
        y = s.add(O.RESHAPE, [y, s.numbers(shape)])
    return s.add(s.one_of(*PAIRS), [*s.either(x, y), s.numbers(s.one_of(0, 0, 1))])


def merge_transposes(s: Sketch) -> int:
    """Two to four in a row."""
    shape = shape_of(s)
    x = s.source(s.one_of(F32, F16, U8, S8), shape)
    order = s.rng.permutation(len(shape))
    for _ in range(s.between(2, 4)):
        none = s.chance(0.15)
        perm = s.omitted(T.TENSOR_INT32) if none else s.numbers(order)
        x = s.add(O.TRANSPOSE, [x, perm])
        order = np.argsort(order) if s.chance(0.5) else s.rng.permutation(len(shape))
    return s.passed_on(x) if s.chance(0.6) else x


def merge_quantization(s: Sketch) -> int:
    """A DEQUANTIZE and one QUANTIZE or two of what it gives."""
    shape = shape_of(s) if s.chance(0.7) else (16, 40)
    kind = s.one_of(U8, S8, U8, S8, T.TENSOR_QUANT8_SYMM)
    extreme = (1e-40, 1e-36, 1e-31, 1e20, 1e30, 1e37, 1e38, 3e38)
    same = 0.1
    if s.chance(0.2):
        x = s.tensor(kind, shape, (float(np.float32(s.one_of(*extreme))), 0))
        same = 0.7
    elif s.chance(0.1):
        x = s.by_channel(shape)
    else:
        x = s.source(kind, shape)
    real = s.add(O.DEQUANTIZE, [x], s.one_of(F32, F32, F32, F16))
    results = []
    for _ in range(s.one_of(1, 1, 2)):
        kind = s.type(x) if s.chance(same) else s.one_of(U8, S8, s.type(x))
        kind = kind if kind in BYTES else U8
        scale, zero = s.quantization(kind)
        if s.type(x) == kind and s.chance(same):
            scale, zero = s.parameters(x)
        elif s.chance(0.5) and s.type(x) in BYTES:
            factor = s.one_of(1, 1, 1, 1.0001, 0.37, 1.9)
            scale = float(np.float32(min(s.parameters(x)[0] * factor, 3.4e38)))
            zero = s.parameters(x)[1] if kind == s.type(x) and s.chance(0.7) else zero
        elif s.chance(0.2):
            scale = float(np.float32(s.one_of(*extreme)))
        results.append(s.add(O.QUANTIZE, [real], kind, (scale, zero)))
    return s.passed_on(results[0]) if s.chance(0.6) else results[0]


def fuse_dilation(s: Sketch) -> int:
    """Blocks taken apart, a convolution, and blocks put together."""
    type = s.one_of(F32, F32, F16, U8, S8)
    blocks = s.between(1, 3), s.between(1, 3)
    size = s.one_of(1, 2, 3, 3), s.one_of(1, 2, 3, 3)
    image = s.between(1, 2), s.between(3, 8), s.between(3, 8), s.between(1, 4)
    pads = []
    for along in range(2):
        most = (size[along] - 1) * blocks[along] + (1 if s.chance(0.1) else 0)
        head = s.between(0, most)
        tail = -(image[1 + along] + head) % blocks[along]
        if tail + blocks[along] <= most and s.chance(0.5):
            tail += blocks[along]
        pads.append([head, tail])
    x = s.source(type, image)
    split = s.add(O.SPACE_TO_BATCH_ND, [x, s.numbers(blocks), s.numbers(pads)])
    padding = s.one_of(2, 2, 2, 2, 2, 1)
    stride = (1, 1) if s.chance(0.9) else (1, 2)
    window = Window(size, padding, stride)
    depth = s.one_of(0, 0, s.between(1, 5))
    y = convolution(s, split, window, depth, s.one_of(0, 0, 1, 3))
    put = blocks if s.chance(0.9) else blocks[::-1]
    return s.add(O.BATCH_TO_SPACE_ND, [y, s.numbers(put)])


def fuse_padding(s: Sketch) -> int:
    """PAD or PAD_V2, then a convolution."""
    type = s.one_of(F32, F32, F16, U8, S8)
    shape = s.between(1, 2), s.between(1, 7), s.between(1, 7), s.between(1, 4)
    x = s.source(type, shape)
    window = some_window(s, padded=0.1)
    around = [[0, 0], [0, 0], [0, 0], [0, 0]]
    for along in range(2):
        extent = (window.size[along] - 1) * window.dilation[along] + 1
        most = min(3, extent if s.chance(0.05) else extent - 1)
        around[1 + along] = [s.between(0, most), s.between(0, most)]
    is_strange = s.chance(0.1)
    if is_strange:  # the order of dimensions, which these sizes allow to be another
        x, around = s.source(type, (1, 3, 3, 4)), [[0, 0], [1, 0], [0, 1], [0, 0]]
    elif s.chance(0.1):
        around[s.one_of(0, 3)][s.between(0, 1)] = 1
    inputs = [x, s.numbers(around)]
    kind = s.one_of(O.PAD, O.PAD_V2)
    if kind is O.PAD_V2:
        zero = s.parameters(x)[1]
        if type in BYTES:
            inputs.append(s.numbers(s.one_of(zero, zero, s.between(0, 100))))
        else:
            inputs.append(s.real(s.one_of(0.0, 0.0, -0.0, 1.0), type))
    padded = s.add(kind, inputs)
    depth = s.one_of(0, s.between(1, 5))
    nchw = True if is_strange else None
    return convolution(s, padded, window, depth, s.one_of(0, 0, 1, 2, 3), nchw=nchw)


def fuse_activations(s: Sketch) -> int:
    """An operation with the activation NONE, or another one, and one that stands alone."""
    type = s.one_of(F32, F32, F16, U8, S8)
    code = s.one_of(0, 0, 0, 0, 1, 2, 3)
    form = s.between(0, 3)
    if form == 0:
        shape = shape_of(s)
        kinds = PAIRS if type not in BYTES else (O.ADD, O.SUB, O.MUL)
        x, y = s.source(type, shape), s.source(type, shape[s.between(0, len(shape) - 1) :])
        result = s.add(
            s.one_of(*kinds), [*s.either(x, y), s.numbers(code)], parameters=_some(s, type)
        )
    elif form == 1:
        image = s.source(type, (s.between(1, 2), s.between(3, 6), s.between(3, 6), s.between(1, 4)))
        kinds = (O.AVERAGE_POOL_2D, O.MAX_POOL_2D, O.L2_POOL_2D)[: 2 if type in BYTES else 3]
        window = [s.numbers(s.between(1, 3)) for _ in range(2)]
        strides = [s.numbers(s.between(1, 2)) for _ in range(2)]
        inputs = [image, s.numbers(s.one_of(1, 2)), *strides, *window, s.numbers(code)]
        result = s.add(s.one_of(*kinds), inputs)
    elif form == 2:
        image = s.source(type, (1, s.between(3, 6), s.between(3, 6), s.between(1, 4)))
        result = convolution(s, image, some_window(s), s.one_of(0, s.between(1, 5)), code)
    else:
        matrix = s.source(type, (s.between(1, 4), s.between(1, 9)))
        result = connected(s, matrix, s.between(1, 6), code)
    return s.add(s.one_of(O.RELU, O.RELU1, O.RELU6), [result])


def _some(s: Sketch, type: T) -> tuple[float, int] | None:
    return (0.5, s.quantization(type)[1]) if type in BYTES else None


def number(s: Sketch, value: float, rank: int = 1, type: T = F32) -> int:
    """A constant tensor of one number."""
    shape = (1,) * s.between(1, rank)
    return s.constant(type, shape, contents=np.full(shape, value, np.float32))


def pair(s: Sketch, kind: O, one: int, other: int, code: int = 0) -> int:
    """An operation of two operands in either order."""
    return s.add(kind, [*s.either(one, other), s.numbers(code)])


def fuse_gelu(s: Sketch) -> int:
    """The formula with TANH; now and then almost."""
    type = F32 if s.chance(0.9) else F16
    shape = (*shape_of(s, 0, 2), s.between(1, 40))
    x = s.source(type, shape)
    numbers = [0.044715, 0.7978846, 1.0, 0.5]
    if s.chance(0.4):
        numbers = s.rng.normal(size=4).tolist()
    others = [x] * 6 + [s.source(type, shape)]
    is_strange = s.chance(0.3)

    def this() -> int:
        return s.one_of(*others) if is_strange else x

    def constant(value: float) -> int:
        if is_strange and s.chance(0.1):
            return s.constant(type, s.one_of(shape, shape[-1:], (2, *shape)))
        return number(s, value, len(shape) + is_strange, type)

    a, b, one, half = map(constant, numbers)
    square = pair(s, O.MUL, this(), this())
    cube = pair(s, O.MUL, square, this())
    inner = pair(s, O.ADD, pair(s, O.MUL, cube, a), this())
    share = s.add(O.TANH, [pair(s, O.MUL, inner, b)])
    above = pair(s, O.ADD, share, one, s.one_of(0, 0, 0, 0, 0, 0, 0, 1))
    return pair(s, O.MUL, pair(s, O.MUL, above, this()), half)


def fuse_layer_norm(s: Sketch) -> int:
    """The formula with SQRT; now and then almost."""
    shape = (*shape_of(s, 0, 2), s.between(2, 70))
    is_strange = s.chance(0.4)
    if is_strange and s.chance(0.5):
        shape = (shape[-1] % 9 + 2,) * 2  # on which other means and factors fit, too
    rank, length = len(shape), shape[-1]
    x = s.source(F32, shape)
    if is_strange and s.chance(0.3):  # squares that float32 does not hold: without an addend, x / 0
        x = s.tensor(F32, shape, contents=s.rng.normal(size=shape) * 2.0**-90)
    other = s.source(F32, shape)

    def almost(usual: int, *others: int) -> int:
        return int(s.one_of(*others)) if is_strange and s.chance(0.1) else usual

    def mean(of: int) -> int:
        axis = s.one_of(-1, rank - 1)
        axes = s.numbers([almost(axis, 0)])
        return s.add(O.MEAN, [of, axes, s.numbers(almost(1, 0, -1))])

    apart = s.add(O.SUB, [x, mean(almost(x, other)), s.numbers(0)])
    squares = s.add(O.MUL, [apart, almost(apart, x, other), s.numbers(0)])
    variance = mean(squares)
    least = number(s, s.one_of(1e-5, 1e-5, 1e-3) if not is_strange else s.one_of(0, 1e-40), rank)
    deviation = s.add(O.SQRT, [pair(s, O.ADD, variance, least)])
    wide = [(length,), (1,) * (rank - 1) + (length,)]
    if is_strange:
        wide += [(length, 1), (1, *shape), shape]
    gain, bias = (s.constant(F32, s.one_of(*wide)) for _ in range(2))
    quotient = s.add(O.DIV, [almost(apart, x), deviation, s.numbers(0)])
    return pair(s, O.ADD, pair(s, O.MUL, quotient, gain), bias)


def tabulate_bytes(s: Sketch) -> int:
    """A few operations on what one operand of bytes holds."""
    type = s.one_of(U8, S8)
    columns = 256 if s.chance(0.3) else s.between(41, 70)
    shape = s.one_of((100, columns), (2, 50, columns), (4096,))
    x = s.source(type, shape)
    if s.chance(0.1):
        return _with_columns(s, type)
    made = [x]
    if s.chance(0.5):
        real = [s.add(O.DEQUANTIZE, [x], s.one_of(F32, F32, F16))]
        kind = s.type(real[0])
        for _ in range(s.between(1, 4)):
            y = s.one_of(*real)
            if s.chance(0.5):
                real.append(s.add(s.one_of(*EACH_REAL), [y]))
            elif s.chance(0.5):
                real.append(pair(s, s.one_of(*PAIRS), y, s.one_of(*real)))
            else:
                few: tuple[int, ...] = (1,) * s.between(1, len(shape))
                if s.chance(0.6 if columns == 256 else 0.2):
                    few = s.one_of((*few, shape[-1]), (1, *shape), shape, (1,) * (len(shape) + 1))
                alone = s.tensor(kind, few, kind=s.one_of(CONSTANT, CONSTANT, CONSTANT, INPUT))
                real.append(pair(s, s.one_of(*PAIRS), y, alone))
        made.append(s.add(O.QUANTIZE, [real[-1]], s.one_of(U8, S8)))
    for _ in range(s.between(1, 3)):
        y = made[-1]
        kind = s.type(y)
        if s.chance(0.5):
            made.append(s.add(s.one_of(O.LOGISTIC, O.TANH, O.HARD_SWISH, O.RELU), [y]))
        else:
            same = [other for other in made if s.type(other) == kind]
            other = s.one_of(*same) if s.chance(0.6) else s.constant(kind, (1,))
            made.append(pair(s, s.one_of(O.MUL, O.ADD, O.SUB), y, other))
    return made[-1]


def _with_columns(s: Sketch, type: T) -> int:
    """Bytes with a number for each column, of which there are as many as bytes have values."""
    x = s.source(type, (s.between(16, 30), 256))
    real = s.add(O.DEQUANTIZE, [x], F32)
    real = pair(s, s.one_of(*PAIRS), real, s.constant(F32, s.one_of((256,), (1, 256))))
    return s.add(O.QUANTIZE, [real], type)


def compress_weights_f16(s: Sketch) -> int:
    """Products of one row, with weights of more than 1 MiB."""
    columns = s.between(500, 560)
    rows = (1 << 18) // columns + s.between(0, 9)
    x = s.source(F32, (s.one_of(1, 1, 1, 2), columns))
    s.power = s.one_of(0, 0, 0, 20, -28)
    return connected(s, x, rows, s.one_of(0, 1, 3))


def keep_weights_q8(s: Sketch) -> int:
    """Products of few rows by dequantized weights; now and then almost."""
    rows, depth = s.between(1, 9), s.one_of(1, 2, 3, s.between(4, 40), s.between(60, 140))
    x = s.source(F32, (rows, depth))
    if s.chance(0.3):
        units = s.between(1, 20)
        matrices = [_dequantized(s, (units, length)) for length in (depth, units)]
        state = s.tensor(F32, (rows, units), kind=s.one_of(CONSTANT, INPUT))
        inputs = [x, *matrices, s.constant(F32, (units,)), state, s.numbers(s.one_of(0, 1, 3))]
        return s.add(O.RNN, inputs, count=2)
    is_own_input = s.chance(0.15)
    units = s.between(1, 4) if is_own_input else s.one_of(depth, s.between(1, 140))
    weights = _dequantized(s, (units, depth))
    if is_own_input:
        x = weights
    inputs = [x, weights, s.constant(F32, (units,)), s.numbers(s.one_of(0, 1, 2, 3))]
    result = s.add(O.FULLY_CONNECTED, inputs)
    if s.chance(0.3):  # read again, by what cannot read bytes, or can
        second = s.one_of(weights, s.passed_on(weights))
        if s.chance(0.3):
            return s.add(O.FULLY_CONNECTED, [second, weights, *inputs[2:]])
        if s.chance(0.5):
            return s.add(O.FULLY_CONNECTED, [x, second, *inputs[2:]])
        return s.passed_on(weights)
    return result


def _dequantized(s: Sketch, shape: tuple[int, ...]) -> int:
    """A matrix of floats that are bytes of some kind."""
    kind = CONSTANT if s.chance(0.93) else INPUT
    if s.chance(0.3):
        stored = s.by_channel(shape, s.one_of(0, 0, 0, 1), kind)
    else:
        type = s.one_of(U8, S8, S8, T.TENSOR_QUANT8_SYMM)
        zero = 128 if type is U8 else 0
        if type in BYTES and s.chance(0.1):
            zero = s.between(0, 100)
        stored = s.tensor(type, shape, (float(s.one_of(0.25, 0.5, 1.0)), zero), kind=kind)
    return s.add(O.DEQUANTIZE, [stored], F32)


def sum_bytes(s: Sketch) -> int:
    """A DEQUANTIZE, a sum or a mean along some axes, and a QUANTIZE; now and then almost."""
    shape = s.one_of(shape_of(s), shape_of(s), (s.between(1, 40), s.between(1, 150)))
    kind = s.one_of(U8, S8, U8, S8, T.TENSOR_QUANT8_SYMM)
    scale, zero = s.quantization(kind)
    if s.chance(0.2):
        scale = float(np.float32(s.one_of(1e-38, 1e-33, 1e33, 1e37)))
    x = s.tensor(kind, shape, (scale or 0.5, zero)) if s.chance(0.4) else s.source(kind, shape)
    real = s.add(O.DEQUANTIZE, [x], s.one_of(F32, F32, F32, F16))
    axes = [s.between(-len(shape), len(shape) - 1) for _ in range(s.between(1, 3))]
    kept = [axes, s.one_of(0, 1)]
    if s.chance(0.5):
        total = s.add(O.MEAN, [real, *map(s.numbers, kept)])
    else:
        total = s.add(
            s.one_of(O.REDUCE_SUM, O.REDUCE_SUM, O.REDUCE_MAX),
            [real, s.numbers(axes), s.boolean(bool(kept[1]))],
        )
    target = s.one_of(U8, S8)
    ratio = s.one_of(1, 2, 8, s.rng.uniform(0.2, 30), 1e-6)
    size = float(np.float32(min((s.parameters(x)[0] or 1) * ratio, 3e38)))
    result = s.add(O.QUANTIZE, [total], target, (size, s.quantization(target)[1]))
    return s.passed_on(result) if s.chance(0.6) else result


ON_GRAPHS = (
    keep_weights_q8,
    fold_constants,
    merge_transposes,
    merge_quantization,
    fuse_dilation,
    fuse_padding,
    fuse_activations,
    fuse_gelu,
    fuse_layer_norm,
    sum_bytes,
    tabulate_bytes,
    compress_weights_f16,
)
