"""Reads and writes of single elements in a form that lets the compiler vectorize the loop.

    for i in range(count):
        WRITE["f16"](y, i, clamp(READ["f16"](x, i), low, high))

READ gives a float32 for every type but f64, i32 (int64) and the plain integers u8, s8, u16, u64.
WRITE takes the same, quantized values and bytes (b8) as integers of which the low 8 bits are
stored, and halfwords (b16) likewise.

A kernel may write over one of its inputs (Step.in_place), as long as it reads an element before it
writes the one in its place. The compiler cannot see that such a store never aliases a later load;
the alias scope below states it. So READ is for inputs alone; READ_BACK is for memory
that the kernel itself has written.
"""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import emit_float_to_half, emit_half_to_float
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, DOUBLE, FLOAT, HALFWORD, LONG, POINTER, WORD
from nnapi_shim.drivers.cpu.lowering.elements import MAP
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined, kernel


def _inputs(module: Any) -> Any:
    """The alias scope of everything that is read."""
    domain = module.add_metadata(["nnapi_shim kernels"])
    return module.add_metadata([module.add_metadata(["nnapi_shim inputs", domain])])


def _pointer(builder: Any, stored: Any, address: Any, index: Any) -> Any:
    pointer = builder.inttoptr(address, POINTER)
    return builder.gep(pointer, [index], inbounds=True, source_etype=stored)


def _reader(element: types.Type, stored: Any, widen: Any, is_input: bool) -> Any:
    """A function of kernels read(address, index) -> element."""

    @emits(element(types.int64, types.int64))
    def read(builder: Any, address: Any, index: Any) -> Any:
        value = builder.load(_pointer(builder, stored, address, index), typ=stored)
        value.align = 1
        if is_input:
            value.set_metadata("alias.scope", _inputs(builder.module))
        return widen(builder, value)

    return read


def _writer(element: types.Type, stored: Any, narrow: Any) -> Any:
    """A function of kernels write(address, index, element)."""

    @emits(types.void(types.int64, types.int64, element))
    def write(builder: Any, address: Any, index: Any, value: Any) -> None:
        pointer = _pointer(builder, stored, address, index)
        store = builder.store(narrow(builder, value), pointer)
        store.align = 1
        store.set_metadata("noalias", _inputs(builder.module))

    return write


def _unchanged(builder: Any, value: Any) -> Any:
    return value


_READERS = {
    "f32": (types.float32, FLOAT, _unchanged),
    "f64": (types.float64, DOUBLE, _unchanged),
    "f16": (types.float32, HALFWORD, emit_half_to_float),
    "i32": (types.int64, WORD, lambda b, value: b.sext(value, LONG)),
    "u64": (types.uint64, LONG, _unchanged),
    "u8": (types.uint8, BYTE, _unchanged),
    "u16": (types.uint16, HALFWORD, _unchanged),
    "s8": (types.int8, BYTE, _unchanged),
    "qu8": (types.float32, BYTE, lambda b, value: b.uitofp(value, FLOAT)),
    "qs8": (types.float32, BYTE, lambda b, value: b.sitofp(value, FLOAT)),
    "qu16": (types.float32, HALFWORD, lambda b, value: b.uitofp(value, FLOAT)),
    "qs16": (types.float32, HALFWORD, lambda b, value: b.sitofp(value, FLOAT)),
}
READ = {name: _reader(*reader, is_input=True) for name, reader in _READERS.items()}
READ_BACK = {name: _reader(*reader, is_input=False) for name, reader in _READERS.items()}

WRITE = {
    "f32": _writer(types.float32, FLOAT, _unchanged),
    "f64": _writer(types.float64, DOUBLE, _unchanged),
    "f16": _writer(types.float32, HALFWORD, emit_float_to_half),
    "i32": _writer(types.int64, WORD, lambda b, value: b.trunc(value, WORD)),
    "b8": _writer(types.int32, BYTE, lambda b, value: b.trunc(value, BYTE)),
    "b16": _writer(types.int32, HALFWORD, lambda b, value: b.trunc(value, HALFWORD)),
}


@helper
def part(count, size, tile):
    """(first, end) of the elements that a tile consists of; see lowering/elements.py."""
    return tile * size, min((tile + 1) * size, count)


nothing = helper(lambda a: 0)
"""No constants."""


def elementwise(name, record, read, write, formula, constants=nothing):
    """The kernel output = formula(element of the input, constants of the record)."""

    @kernel(record, name)
    def body(a, tile):
        x, y, values = a.input, a.output, constants(a)
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            write(y, i, formula(read(x, i), values))
        return 0


def mapped(name, function, source, target=""):
    """The kernel `name` with output = function(input), for element types of READ and WRITE."""
    name = f"{name}_{source}_{target}" if target else f"{name}_{source}"
    formula = inlined(lambda x, nothing: function(x))
    elementwise(name, MAP, READ[source], WRITE[target or source], formula)
