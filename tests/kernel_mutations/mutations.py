"""The faults of each family of kernels, and the tests that have to find them.

A fault is a sign, a bound, a rounding, a missing clamp, an index that is off by one, or swapped
operands.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """A text of a kernel file that is replaced by another; helpers: of that file in codegen/, and
    the files between it and the kernels.
    """

    old: str
    new: str
    helpers: str = ""


class Family(NamedTuple):
    """A file of kernels. tests: files in tests/drivers/cpu, without `test_`. tier: the one that has
    these kernels, if the best one lacks them.
    """

    tests: str
    faults: tuple[Fault, ...]
    tier: str = ""


F = Fault
SLIDING = "depthwise_sliding"
COUPLES = "coupled_words"
COLUMNS = "float_columns"
FLOORED = "floored byte_epilogue epilogue products gemm_microkernel gemm_tile"
EPILOGUE = "byte_epilogue epilogue products gemm_microkernel gemm_tile"

FAMILIES: dict[str, Family] = {
    "activation": Family(
        "activation elementwise",
        (
            F("clamp(x + THREE, ZERO, SIX)", "clamp(x + THREE, ZERO, THREE)"),
            F("+ low.select_below(0.0, low, 0.0)", "+ low"),
            F("bounded(x, limits[0], limits[1])", "max(x, limits[0])"),
            F("return x if x >= 0 else alpha * x", "return x if x <= 0 else alpha * x"),
        ),
    ),
    "binary": Family(
        "elementwise quantized_addition",
        (
            F("        if others != 0:\n            return False\n", ""),
            F("for second in range(-128, 128):", "for second in range(-128, 0):"),
            F("for first in range(-128, 128):", "for first in range(0, 128):"),
            F("scales[2] = scale0, scale1, offset", "scales[2] = a.scale0, a.scale1, a.offset"),
            F("xor32(np.int32(y), flip), values)", "np.int32(y), values)"),
            F("min(max(nearest(total), lowest), highest)", "min(nearest(total), highest)"),
            F("clamp(function(x, y), bounds[0], bounds[1])", "max(function(x, y), bounds[0])"),
            F("clamp(function(x, y), bounds", "clamp(function(y, x), bounds"),
            F("np.floor(np.float64(x) /", "np.trunc(np.float64(x) /"),
            F("else x) * sign + zero_point,", "else x) * sign + zero0,"),
            F(
                "return float_of(xor32(bits_of(y if x < y else x)",
                "return float_of(xor32(bits_of(y)",
            ),
        ),
    ),
    "comparison": Family(
        "comparison",
        (
            F(
                "(np.float32(y ^ signed) - zero1) * scale1\n",
                "(np.float32(y ^ signed) - zero1) * scale0\n",
            ),
            F("COMPARE, *_io, negation, plain(lt))", "COMPARE, *_io, negation, plain(le))"),
        ),
    ),
    "conversion": Family(
        "conversion byte_lines",
        (
            F("limited(x / scale, low, high)", "x / scale"),
            F("scale_of(scales, row % channels)", "scale_of(scales, max(row % channels - 1, 0))"),
            F("    x = x if x == x else ZERO\n", ""),
            F("return (x - zero_point) * scale", "return x * scale"),
            F("ERROR = 6\n", "ERROR = 0\n"),
            F("constant(halfwords, 2 * ERROR)", "constant(halfwords, ERROR - 1)"),
            F("quantize_each(x, y, begin, begin + BLOCK, values)", "pass"),
            F("is_block = end - begin == BLOCK", "is_block = True"),
            F(
                "1, factor, start):\n                quantize_each(",
                "1, factor, start):\n                (",
            ),
            F("lowest - FIRST", "-128 - FIRST"),
            F("builder.shl(zero_point, shift)", "zero_point"),
            F("WORD(1 << 14)), WORD(15)", "WORD(0)), WORD(15)"),
            F("first + vectors * lanes, end", "first + vectors * lanes + 1, end"),
        ),
    ),
    "depthwise": Family(
        "convolution depthwise_sliding many_threads",
        (
            F("min(a.slab, a.channels - first)", "a.slab"),
            F("tile // a.slabs, tile % a.slabs * a.slab", "tile // a.slabs, 0"),
            F("a.bias + constants,", "a.bias,"),
            F("in reversed(range(1, TAPS)):", "in range(1, TAPS):", SLIDING),
            F('builder.sub(long(column), args["first_column"])', "long(column)", SLIDING),
            F("builder.store(self.bias, slot)", "pass", SLIDING),
            F("columns < STRIP + TAPS - 1,", "count < FIXED,"),
            F("end_row - first_row,", "rows + TAPS - 1,"),
            F("min(end - row, a.out_height - h, most)", "min(end - row, most)"),
            F(
                "if columns < (FIXED - 1) * a.stride_width + a.filter_width:",
                "if columns < (FIXED - 1) * a.stride_width + a.filter_width - 1:",
            ),
            F("a.filter + first * filter_row", "a.filter + 0 * filter_row"),
        ),
    ),
    "lstm": Family(
        "lstm",
        (
            F("tile = end - 1 - tile", "tile = max(end - 2 - tile, 0)"),
            F("a.turned if tile < a.turned else", "a.turned if tile > a.turned else"),
            F("panel * rows + row * width + column - panel", "panel * rows + row * width + column"),
            F("a.steps - 1 - step if a.backward else step) * a", "step) * a"),
            F("cells, h, units, a.cell_clip)", "cells, h, units, INFINITY)"),
            F("first = builder.add(first, builder.mul(count, long(row_bytes)))", "pass", COLUMNS),
        ),
    ),
    "lstm_quantized": Family(
        "lstm",
        (
            F("-1 if shift > 0 else 0", "-1", "fixed_point"),
            F("(product >> 63 & away)", "0", "fixed_point"),
            F("columns - panel)", "columns)", "byte_columns"),
            F("weights[k] if k < depth else 0", "weights[k]", "byte_columns"),
        ),
    ),
    "depthwise_quantized": Family(
        "floored convolution many_threads",
        (
            F("is_down = round_down(environment, is_down, is_floored(panel, WIDTH))", "pass"),
            F("    round_down(environment, is_down, False)\n    return 0", "    return 0"),
            F(
                "                round_down(environment, is_down, False)\n                return",
                "                return",
            ),
            F("factors[n + i] = multipliers[c + i]", "factors[i] = multipliers[c + i]"),
            F("np.int32(a.sum_zero if shift == 0 else 0)", "np.int32(a.sum_zero)"),
            F("first_panel = a.panels + first_slab", "first_panel = a.panels + 0"),
        ),
    ),
    "gemm": Family(
        "shifted_words convolution matmul passes quantized_addition floored",
        (
            F("is_floored(weights, padded)", "False"),
            F("        round_down(environment, is_down, False)\n", ""),
            F("builder.select(is_less, result, most)", "result", FLOORED),
            F("builder.xor(low, builder.trunc(last.flip, WORD))", "low", FLOORED),
            F("self._store_row(part, self._row_number(m))", "pass", EPILOGUE),
            F("first = width * (m - rows[0])", "first = 0", EPILOGUE),
            F("long(sum(1 << m for m in rows))", "long(1 << rows[0])", EPILOGUE),
            F(
                "confidence), likely=False):\n                leave",
                "confidence)):\n                (lambda _: 0)",
                EPILOGUE,
            ),
            F("                leave(range(self.rows))", "                pass", EPILOGUE),
            F(
                'select(is_valid, args["output_stride"], long(0))',
                'or_(args["output_stride"], long(0))',
                EPILOGUE,
            ),
            F("builder.select(is_valid, stride, long(0))", "stride", EPILOGUE),
            F('builder.add(args["rows"], long(count - 1))', 'args["rows"]', EPILOGUE),
            F("flip = long(0) if self.adds else", "flip =", EPILOGUE),
            F("inputs.append(builder.xor(stored,", "inputs.append(builder.or_(stored,", EPILOGUE),
            F("in_order(builder, BYTE(0), flip)", "in_order(builder, flip, BYTE(0))", EPILOGUE),
            F("second = constants.in_order(builder, own, other)", "second = own, other", EPILOGUE),
            F(
                "other = builder.xor(stored, builder.splat(flip, width))",
                "other = stored",
                EPILOGUE,
            ),
            F("low, high = constants.limits", "low, high = self.low, self.high", EPILOGUE),
            F(
                "builder.store(to_bytes(builder, self._loaded(address), constants.last), result)",
                "pass",
                EPILOGUE,
            ),
            F("reduce(builder.and_, offsets)", "offsets[0]", "gemm_microkernel gemm_tile"),
            F(
                "builder.and_, offsets), long(OUTSIDE)",
                "builder.and_, offsets), long(0)",
                "gemm_microkernel gemm_tile",
            ),
        ),
        "v3",
    ),
    "grouped_convolution": Family(
        "im2row", (F("byte ^ flip", "byte"), F("if 0 <= above < a.in_rows", "if above < a.in_rows"))
    ),
    "local_response": Family(
        "normalization",
        (
            F("min(length, i + radius + 1)):", "min(length, i + radius)):"),
            F(
                "range(-radius * inner, radius * inner + 1, inner)",
                "range(-radius * inner, radius * inner, inner)",
            ),
        ),
    ),
    "lookup": Family("lookup", (F("if keys[middle] < wanted:", "if keys[middle] <= wanted:"),)),
    "matmul": Family(
        "matmul",
        (
            F("min(max(steps + zero_point, low), high)", "min(steps + zero_point, high)"),
            F("weights + n * depth * size", "weights + (n - n % 2) * depth * size"),
            F("total + ((x[0] * w[0] + x[1] * w[1])", "total + ((x[0] * w[0] + x[1] * w[0])"),
        ),
    ),
    "normalization": Family(
        "normalization",
        (
            F("gamma / np.sqrt(variance + epsilon)", "gamma / np.sqrt(variance - epsilon)"),
            F("squares / count - shift * shift", "squares / (count - 1) - shift * shift"),
            F("SMALLEST_NORM if norm < SMALLEST_NORM else norm", "norm"),
        ),
    ),
    "input_rows": Family(
        "convolution matmul",
        (
            F("iw = w * a.stride_width - a.pad_left +", "iw = w * a.stride_height - a.pad_left +"),
            F("a.factor * total", "total"),
            F("a.zero if offset < 0 else base + offset", "base + abs(offset)"),
        ),
    ),
    "packing": Family(
        "floored convolution matmul grouped_and_transposed",
        (
            F("depth * a.input_zero * a.filter_zero", "depth * a.filter_zero"),
            F(
                "bias[first + n] - a.input_zero * sums[n]",
                "bias[first + n] + a.input_zero * sums[n]",
            ),
            F("if least + between < 3 * error:", "if False:", "floored"),
            F("(between - least + error)", "(least - between + error)", "floored"),
            F('"llvm.umin", least, now)', '"llvm.umax", least, now)', "floored"),
            F('"llvm.umax", largest, now)', '"llvm.umin", largest, now)', "floored"),
            F("offset += 1 << (30 - exponent)", "offset += 0", "floored"),
            F("if low < -WORST or high >= WORST:", "if False:", "floored"),
            F("is_exact &= total <= EXACT", "is_exact &= True", "floored"),
            F("if low <= total <= high:", "if False:", "floored"),
            F("+ 1) > EXACT:", "+ 1) > WORST:", "floored"),
            F("= scale - table[n]", "= 0.0", "floored"),
            F("if decomposed(factor)[0] != 0:", "if False:", "floored"),
            F("for n in range(in_squares, columns):", "for n in range(in_squares):"),
            F("panel[k * width + n] ^= flips", "pass"),
        ),
    ),
    "pooling": Family(
        "pooling",
        (
            F("start = position * stride - pad", "start = position * stride + pad"),
            F(
                "x2 = x0 + min(2, width - 1 - tap) * pixel_step",
                "x2 = x0 + min(1, width - 1 - tap) * pixel_step",
            ),
            F("(half if total > 0 else -half)", "half"),
            F(
                "return clamp(square_root(total / np.float32(count)), low, high)",
                "return square_root(total / np.float32(count))",
            ),
        ),
    ),
    "digit_products": Family(
        "digit_products",
        (
            F("top -= BINADES\n    while", "top -= 2 * BINADES\n    while", "digit_rows"),
            F("and exponent < -LEAST", "and exponent < 99", "digit_rows"),
            F("max(exponent - LEAST, 0)", "max(exponent - LEAST - 9, 0)", "digit_rows"),
            F("digits + words * (4 * GROUP - 4)", "digits", "digit_rows"),
            F("-1 if most >= LARGE else 0", "0", "digit_rows"),
            F("(BIAS + half - exponent)", "(BIAS + half - exponent + 1)", "digit_rows"),
            F("(most + ROOM)", "most", "digit_rows"),
            F("np.int8(byte ^ ZERO)", "np.int8(byte ^ 127)", "digit_rows"),
            F("total = low if total < low else total", "total = low", "digit_rows"),
            F("for byte in range(GROUP):", "for byte in range(GROUP - 1):"),
            F("x = a.rows + number * a.pitch, a.input + number", "x = a.rows, a.input + number"),
        ),
    ),
    "reduction": Family(
        "reduction quantized_sums passes",
        (
            F("if not are_inside(i32(indices), length, size):", "if False:"),
            F("a.indices + group * length * 4", "a.indices"),
            F("add(builder.add(done, left), offset, slots[0])", "pass", "row_sums"),
            F("((x[0] + x[1]) + (x[2] + x[3])))", "((x[0] + x[1]) + (x[2] + x[2])))"),
            F(
                "np.int32(read_total(totals, c) * factor)",
                "np.int32(read_total(totals, 0) * factor)",
            ),
            F("np.float32(total) / np.float32(divisor)", "np.float32(total) * np.float32(divisor)"),
            F(
                "    if unsure != 0:\n        for c in range(count):",
                "    if unsure < 0:\n        for c in range(count):",
            ),
            F("(read_qs8(x, i * pitch) - zero_point) * scale", "read_qs8(x, i * pitch) * scale"),
            F(
                "builder.store(builder.or_(builder.load(unsure), far), unsure)",
                "builder.store(far, unsure)",
            ),
            F("builder.sub(sums, builder.splat(moved, AT_ONCE))", "sums", "byte_rows"),
            F("value if mask is None else builder.and_(value, mask)", "value", "byte_rows"),
            F(
                "result = builder.fadd(builder.load_from(target, result.type, 8), result)",
                "pass",
                "byte_rows",
            ),
            F(
                "builder.and_(flipped(builder.add(row, last)), used)",
                "flipped(builder.add(row, last))",
                "byte_extremes",
            ),
            F(
                "parts = builder.sdiv(builder.sub(length, done), long(ROWS))",
                "parts = long(0)",
                "byte_extremes",
            ),
            F("join(slot, value)", "pass", "byte_extremes"),
            F("result = builder.xor(result, flips)", "pass", "byte_extremes"),
            F("largest_byte(x, length, values), values)", "largest_byte(x, 1, values), values)"),
        ),
    ),
    "selection": Family(
        "selection",
        (
            F("value1 if read_u8(condition, i) != 0", "value1 if read_u8(condition, i) == 1"),
            F("if most > best:", "if most >= best:"),
        ),
    ),
    "softmax": Family(
        "softmax",
        (
            F(
                "multiply_all(y, y, length, np.float32(1 / total))",
                "multiply_all(y, y, length, np.float32(total))",
            ),
            F(
                "write(y, c, power * read_back(total, c))",
                "write(y, c, power * read_back(total, 0))",
            ),
            F(
                "(flipped(x, i, flip) - most) * beta - whole",
                "(flipped(x, i, flip) - most) - whole",
            ),
        ),
    ),
    "strided": Family(
        "slicing rearrange padding joining",
        (
            F(
                "three(x, y, lines, x_line, y_line, count, step, size, 0, 0)",
                "two(x, y, lines, x_line, y_line, count, step, size, 0, 0)",
            ),
            F("x += line % size * steps[3 * axis + 1]", "x += line % size * steps[3 * axis]"),
        ),
    ),
    "topk": Family(
        "selection",
        (
            F("count += value >= smallest", "count += value > smallest"),
            F("value = read_f32(x, i) + ZERO", "value = read_f32(x, i)"),
        ),
    ),
    "unary": Family(
        "unary",
        (
            F("if largest <= LIMIT_BITS:", "if largest <= MAGNITUDE:"),
            F('mapped("floor", np.floor, _variant)', 'mapped("floor", np.trunc, _variant)'),
            F("return ONE / square_root(x)", "return square_root(x)"),
        ),
    ),
    "winograd": Family(
        "winograd convolution",
        (
            F("HALF * (ends - g1)", "HALF * (ends + g1)"),
            F("y01 = y11 = unwanted", "y01 = unwanted"),
        ),
    ),
    "winograd_quantized": Family(
        "winograd_quantized floored",
        (
            F(
                "                round_down(environment, is_down, False)\n                return",
                "                return",
            ),
            F("start // a.block * block_bytes(a)", "0"),
            F("z = transformed_column(filter, k + 2 *", "z = transformed_column(filter, k +"),
            F("ends + g1, ends - g1, 2 * g2", "ends + g1, ends - g1, g2"),
            F("y[k] = a.fill", "y[k] = 0"),
            F("range(n * LANES, (n + 1) * LANES)", "range(LANES)"),
            F("builder.ashr(y, two)", "y"),
            F("centered(filter[at + 6 * depth], flip, zero)", "centered(filter[at], flip, zero)"),
        ),
        "v3",
    ),
    "winograd_4x4": Family(
        "winograd_quantized floored",
        (
            F("far - 2 * g1", "far + 2 * g1"),
            F("HALVINGS = 3, 2, 1, 1", "HALVINGS = 3, 2, 2, 1"),
            F("NINTH = pow(9, -1, 1 << 32)", "NINTH = pow(9, -1, 1 << 16)"),
            F("ends = a.out_width - w, a.out_height - h", "ends = a.out_width, a.out_height"),
            F("is_outside = builder.or_(is_below, ", "is_outside = builder.and_(is_below, "),
            F("most = max(most, total)", "most = total"),
        ),
    ),
    "byte_pairs": Family(
        "byte_pairs",
        (
            F("MOST = 128\n", "MOST = 256\n", COUPLES),
            F("if together == 2 and k & 4:", "if False:"),
            F("max(a, 0) + max(b, 0), min(a, 0)", "max(a, 0) + max(b, 0), 0 * min(a, 0)"),
            F("total = builder.add(own, builder.pick_of_two(own, none, before))", "total = own"),
            F("for _ in range(number):", "for _ in range(0):"),
            F("sums[n] += x + y", "sums[n] += x"),
            F("if together == 2 and word & 1:", "if False:"),
        ),
        "v3",
    ),
    "shifted_words": Family(
        "shifted_words",
        (
            F("for value in (0, MOST, -MOST)", "for value in (0, 2 * MOST, -2 * MOST)"),
            F("if exceeds(own, after):", "if False:"),
            F("if exceeds(own, -after) or odd == -128:", "if odd == -128:"),
            F("if exceeds(own, -after) or odd == -128:", "if exceeds(own, -after):"),
            F("(has_least, constant(byte, EXCEEDS << 1)),", ""),
            F("(has_least, at_odd),", ""),
            F("if k & 1 and own == -128:", "if False:"),
            F("min(start, depth - 4)", "min(start, depth - 3)"),
            F("return position + 1 if has_room", "return position + 2 if has_room"),
            F("total += 255 * sums[n]", ""),
            F("^ (inverted & high)", "| (inverted & high)"),
            F("total = a.input_zero *", "total = -a.input_zero *"),
            F("min(word, partners[word]) > last", "word > last"),
            F(
                "together, count, counts[number] = min(together, couples)",
                "together, count, counts[number] = max(together % depth, couples)",
            ),
            F("constant(kind, MOST))", "constant(kind, MOST + 1))", COUPLES),
            F("builder.select(is_positive, none, builder.sub(none, weights)),", "none,", COUPLES),
            F("builder.select(is_positive, weights, none),", "none,", COUPLES),
            F("builder.lshr(both, bits))", "constant(kind, 0))", COUPLES),
            F(
                "clamp_integers(long(n), long(0), last)",
                "clamp_integers(long(n), last, last)",
                COUPLES,
            ),
            F("(mask, WORD, LANES)", "(long(0xFFFFFF), WORD, LANES)", COUPLES),
            F("(negated, WORD, LANES)", "(long(0), WORD, LANES)", COUPLES),
            F("take(ordered + other * SUMS_BYTES)", "pass", COUPLES),
        ),
        "v3",
    ),
}
