"""Argument records of kernels: the contract between lowering and kernels.

A record is a sequence of 8-byte words, one per field, so that an address can be patched by its word
number. Records are declared next to the lowering that fills them.
"""

from operator import itemgetter
from struct import Struct

from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Callable, Collection, Sequence

ADDRESS = "P"
INT64 = "q"
FLOAT32 = "f"
FLOAT64 = "d"

FLOAT32_MAX = 3.4028234663852886e38
"""The largest float32."""

_FORMATS = {ADDRESS: "q", INT64: "q", FLOAT32: "f4x", FLOAT64: "d"}


class Space:
    """Iteration spaces: the loop structure of a kernel, for passes that repartition its tiles. A
    record with a space has the fields that set its partition.
    """

    WHOLE = "whole"
    """Passes do not repartition it."""
    ELEMENTS = "elements"
    """Element by element (lowering/elements.py)."""
    PAIRS = "pairs"
    """Two inputs, broadcast against each other, element by element (lowering/broadcasting.py)."""
    RUNS = "runs"
    """Runs of elements, each reduced or normalised (lowering/reduction.py)."""
    ROWS = "rows"
    """Rows, each computed from one row of the input (lowering/softmax.py)."""
    COPIES = "copies"
    """Runs of bytes that are copied (lowering/strided.py)."""
    MATRIX = "matrix"
    """Rows by columns of a matrix product (lowering/gemm.py)."""
    LINES = "lines"
    """Lines of pixels of a depthwise convolution (lowering/depthwise.py)."""


class Record:
    """Field names and kinds in order (ADDRESS, INT64, FLOAT32, FLOAT64); the iteration space."""

    __slots__ = (
        *("_layout", "_numbers", "_store"),
        *("addresses", "fields", "space", "values", "words"),
    )

    def __init__(self, fields: dict[str, str], space: str = Space.WHOLE) -> None:
        self.fields = fields
        self.space = space
        self.words = len(fields)
        self.values = _in_order(fields)
        """Values by field name -> values in order."""
        self.addresses = [(at, n) for at, (n, k) in enumerate(fields.items()) if k == ADDRESS]
        # Made when they are needed: a model needs few of the records of a module.
        self._layout: Struct | None = None
        self._store: Callable[..., None] | None = None

    @property
    def layout(self) -> Struct:
        """The words of a record."""
        if self._layout is None:
            self._layout = Struct("<" + "".join([_FORMATS[kind] for kind in self.fields.values()]))
        return self._layout

    def pack(self, *values: Any) -> bytes:
        """The words of a record; values beyond float32 are clamped to its finite range."""
        try:
            return self.layout.pack(*values)
        except OverflowError:
            kinds = self.fields.values()
            return self.layout.pack(*map(_in_range, values, kinds))

    def store_numbers(self, words: bytearray, at: int, values: dict[str, Any]) -> None:
        """Write a record from byte `at` on, with 0 for each address; clamps as `pack` does."""
        store = self._store
        if store is None:
            store = self._made_store()
        numbers = self._numbers(values)
        try:
            store(words, at, *numbers)
        except OverflowError:
            kinds = [kind for kind in self.fields.values() if kind != ADDRESS]
            store(words, at, *map(_in_range, numbers, kinds))

    def _made_store(self) -> Callable[..., None]:
        """What writes the numbers of a record, and 0 for each address."""
        fields = self.fields
        padded = ["8x" if kind == ADDRESS else _FORMATS[kind] for kind in fields.values()]
        self._numbers = _in_order([name for name, kind in fields.items() if kind != ADDRESS])
        store = self._store = Struct("<" + "".join(padded)).pack_into
        return store


def _in_order(names: Collection[str]) -> Callable[[dict[str, Any]], Sequence[Any]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


def _in_range(value: Any, kind: str) -> Any:
    return max(-FLOAT32_MAX, min(FLOAT32_MAX, value)) if kind == FLOAT32 else value


def record(space: str = Space.WHOLE, /, **fields: str) -> Record:
    """Declare a record: `record(input=ADDRESS, output=ADDRESS, count=INT64)`."""
    return Record(fields, space)


class Buffer:
    """Memory that a lowering requests: `length` bytes, 64-byte aligned.

    It lives in the arena from the first to the last step that names it. If a `once` step fills it
    from constants, it is filled at compilation and kept with the prepared model at `address`.
    `holds_weights` is then True if it was computed from the model's constants: pure numbers, from
    which kernels never compute addresses.
    """

    __slots__ = ("address", "holds_weights", "length")

    def __init__(self, length: int) -> None:
        self.length = length
        self.address: int | None = None
        self.holds_weights = False


class At:
    """An address inside an operand or a Buffer: `base` plus `offset` bytes."""

    __slots__ = ("base", "offset")

    def __init__(self, base: Any, offset: int) -> None:
        self.base = base
        self.offset = offset


class Step:
    """One call of a kernel in a program.

    record, kernel: the argument record and the name of the kernel.
    fields: a value for each field of the record. An ADDRESS field takes a BoundOperand, a Buffer,
        an At, constant `bytes` (kept with the program, 64-byte aligned), LOOP_TIMEOUT, or None for
        address 0.
    tiles: number of independent calls (tile 0..tiles-1) of the kernel.
    once: the step is a pure function of its operands; it runs at compilation if they are constants.
    in_place: name of the ADDRESS field whose operand may share memory with the field `output`:
        element-wise kernels that read an element before they write it.
    writes: names of the ADDRESS fields that the kernel writes.
    complaint: the error message for illegal values, when the kernel returns a result code.
    """

    __slots__ = ("complaint", "fields", "in_place", "kernel", "once", "record", "tiles", "writes")

    def __init__(
        self,
        record: Record,
        kernel: str,
        /,
        tiles: int = 1,
        once: bool = False,
        in_place: str = "",
        writes: Sequence[str] = ("output",),
        complaint: str = "",
        **fields: Any,
    ) -> None:
        self.record = record
        self.kernel = kernel
        self.tiles = tiles
        self.once = once
        self.in_place = in_place
        self.writes = writes
        self.complaint = complaint or f"kernel {kernel} met a value that is not allowed"
        self.fields = fields

    def with_fields(self, fields: dict[str, Any]) -> "Step":
        """The same step with other values of the fields."""
        other: Step = object.__new__(Step)
        other.record, other.kernel, other.tiles = self.record, self.kernel, self.tiles
        other.once, other.in_place, other.writes = self.once, self.in_place, self.writes
        other.complaint, other.fields = self.complaint, fields
        return other


LOOP_TIMEOUT = object()
"""In an ADDRESS field: the loop timeout of the run in ns, instead of an address."""


class Alias:
    """Instead of a step: `target` has the same bytes as `source`.

    A temporary shares the source's memory; any other target is copied.
    """

    __slots__ = ("source", "target")

    def __init__(self, source: Any, target: Any) -> None:
        self.source = source
        self.target = target


Finish = Callable[[tuple[int, ...]], tuple[Sequence[Dimensions], Sequence[Step | Alias]]]


class Deferred:
    """The last of the steps of an operation with data-dependent output sizes.

    The steps before it write `counts`, int64 numbers, and their results into Buffers of the largest
    possible size. After they have run, `finish(numbers)` returns the dimensions of every output of
    the operation, and the steps that fill the outputs from the Buffers.
    """

    __slots__ = ("counts", "finish")

    def __init__(self, counts: Buffer, finish: Finish) -> None:
        self.counts = counts
        self.finish = finish
