"""`tile`: a function of kernels that runs a micro-kernel of gemm_microkernel.py. There is one for
each number of vectors, and for what the arguments ask for.
"""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.gemm_microkernel import (
    ARGUMENTS,
    BLOCK,
    MicroKernel,
    names_of,
)
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.mac_schemes import MacScheme
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, LONG, WORD, long
from nnapi_shim.drivers.cpu.isa.tier import Tiling


def tile(
    tiling: Tiling,
    scheme: MacScheme,
    rows: int,
    chains: int = 1,
    adds: bool | None = None,
    halves: bool = False,
) -> Any:
    """A function of kernels that runs the micro-kernel with as many vectors as `columns` asks for.

    It takes the ARGUMENTS, then the ADDEND_ARGUMENTS and TILES_ARGUMENTS, low and high. adds:
    whether it does something about the ADDEND_ARGUMENTS; None: it computes one tile, and takes the
    ARGUMENTS alone. halves: whether floats have a last vector of half the size where that is
    enough, and the words are not many.
    """
    is_alone = adds is None
    taken = names_of(not is_alone, is_alone)
    words = [types.int64] * len(taken)

    @emits(types.void(*words, types.float32, types.float32))
    def run(builder: Any, *arguments: Any) -> None:
        columns = arguments[ARGUMENTS.index("columns")]
        for vectors in range(1, tiling.vectors + 1):
            fits = builder.icmp_signed(">", columns, long(tiling.lanes * (vectors - 1)))
            if vectors < tiling.vectors:
                enough = builder.icmp_signed("<=", columns, long(tiling.lanes * vectors))
                fits = builder.and_(fits, enough)
            with builder.if_then(fits):
                if scheme.accumulator is not FLOAT:
                    call_integers(builder, arguments, vectors)
                    continue
                with builder.if_else(has_many(builder, arguments)) as (then, otherwise):
                    with then:
                        call(builder, arguments, vectors, True)
                    with otherwise:
                        few = builder.icmp_signed("<=", columns, half_of(vectors))
                        with builder.if_else(few) as (half, whole):
                            with half:
                                call(builder, arguments, vectors, False, half=halves)
                            with whole:
                                call(builder, arguments, vectors, False)

    def call_integers(builder: Any, arguments: Any, vectors: int) -> None:
        # With both epilogues in one function the compiler would compute what they have in common
        # before both of them, for more sums than there are registers.
        if not adds:
            call_flipped(builder, arguments, vectors, False)
            return
        addend = arguments[len(ARGUMENTS)]
        is_added = builder.icmp_signed("!=", addend, long(0))
        with builder.if_else(is_added, likely=False) as (then, otherwise):
            with then:
                call_flipped(builder, arguments, vectors, True)
            with otherwise:
                call_flipped(builder, arguments, vectors, False)

    def call_flipped(builder: Any, arguments: Any, vectors: int, adding: bool) -> None:
        # An XOR takes the ports of products, a tenth of their time or more: that of a vector of
        # words, and others where each serves few products. One row or a few wait for weights.
        is_waiting = tiling.words == 1 and rows < tiling.rows
        if is_waiting or scheme.plain is None:
            call(builder, arguments, vectors, False, adding)
            return
        flip = builder.load_from(arguments[ARGUMENTS.index("flip")], WORD, 4)
        with builder.if_else(builder.icmp_signed("==", flip, WORD(0))) as (plain, flipped):
            with plain:
                call(builder, arguments, vectors, False, adding, used=scheme.plain)
            with flipped:
                call(builder, arguments, vectors, False, adding)

    def has_many(builder: Any, arguments: Any) -> Any:
        taps, depth = (arguments[ARGUMENTS.index(name)] for name in ("taps", "depth"))
        return builder.icmp_signed(">", builder.mul(taps, depth), long(2 * BLOCK))

    def half_of(vectors: int) -> Any:
        return long(tiling.lanes * vectors - tiling.lanes // 2 if halves else 0)

    def call(
        builder: Any,
        arguments: Any,
        vectors: int,
        in_blocks: bool,
        adding: bool = bool(adds),
        half: bool = False,
        used: MacScheme = scheme,
    ) -> None:
        name = f"nnk_tile_{used.name}_{rows}x{vectors}x{tiling.lanes}"
        name += "_blocks" * in_blocks + "_adding" * adding + "_half" * half + "_alone" * is_alone
        names = names_of(adding, is_alone)
        kinds = [LONG] * len(names) + [FLOAT] * 2
        fn, is_new = builder.outlined(name, kinds)
        if is_new:
            shape = (tiling, used, rows, vectors, chains)
            MicroKernel(fn, *shape, in_blocks, adding, half, is_alone).write()
        given = dict(zip(taken, arguments, strict=False))
        builder.call(fn, [*(given[name] for name in names), *arguments[-2:]])

    return run
