"""NH, the lower level of the keyed digest: see ../digest.py."""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import i64
from nnapi_shim.drivers.cpu.codegen.vector import LONG, POINTER, WORD, constant, long, vector
from nnapi_shim.drivers.cpu.program.digest import BLOCK, DIGEST, PASSES
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

LANES = 8
"""Pairs of 32-bit words that are multiplied at once."""

SHARE = 16
"""Blocks that a thread takes at once: a few microseconds of work."""


@emits(types.void(*[types.int64] * 3))
def numbers_of_block(builder: Any, target: Any, source: Any, key: Any) -> None:
    """PASSES numbers at `target`, of the block at `source`; pass p takes the key from its p-th pair
    on.
    """
    words, pairs = vector(WORD, 2 * LANES), vector(LONG, LANES)
    lower, upper = constant(pairs, 0xFFFFFFFF), constant(pairs, 32)
    sums = [builder.variable(pairs, constant(pairs, 0)) for _ in range(PASSES)]
    with builder.each(long(BLOCK // (8 * LANES)), 8 * LANES) as offset:
        message = builder.load_from(builder.add(source, offset), words, 1)
        at = builder.add(key, offset)
        for number, total in enumerate(sums):
            added = builder.load_from(builder.add(at, long(8 * number)), words, 1)
            both = builder.bitcast(builder.add(message, added), pairs)
            product = builder.mul(builder.and_(both, lower), builder.lshr(both, upper))
            builder.store(builder.add(builder.load(total), product), total)
    reduce = f"llvm.vector.reduce.add.v{LANES}i64"
    for number, total in enumerate(sums):
        digest_word = builder.call_by_name(reduce, LONG, builder.load(total))
        builder.store_to(digest_word, builder.add(target, long(8 * number)), 1)


@emits(types.int64(types.int64, types.int64))
def take(builder: Any, counter: Any, count: Any) -> Any:
    """Atomic fetch-and-add of a counter that several threads share."""
    return builder.atomic_rmw("add", builder.inttoptr(counter, POINTER), count, "monotonic")


@kernel(DIGEST)
def digest(a, tile):
    """ranges: int64[2 * count], for each the number of the block after it, and the address where
    its block 0 would lie; key: byte[BLOCK + 8 * (PASSES - 1)], output: uint64[blocks, PASSES],
    taken: int64[1], how many blocks threads have taken.

    Threads that run it with one record share the blocks: each takes SHARE that nobody has.
    """
    ranges, blocks, key, y, taken = i64(a.ranges), a.blocks, a.key, a.output, a.taken
    number = 0
    begin = take(taken, SHARE)
    while begin < blocks:
        for block in range(begin, min(begin + SHARE, blocks)):
            while block >= ranges[2 * number]:
                number += 1
            numbers_of_block(y + 8 * PASSES * block, ranges[2 * number + 1] + BLOCK * block, key)
        begin = take(taken, SHARE)
    return 0
