"""Outputs that overlap inputs or each other: computed in temporary memory, then copied."""

from weakref import WeakSet

from nnapi_shim import address, log
from nnapi_shim.hal.enums import ErrorStatus
from nnapi_shim.hal.interfaces import IExecution
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import (
    ExecutionResult,
    Operand,
    Request,
    RequestArgument,
    element_count,
)
from nnapi_shim.hints import Callable, Sequence
from nnapi_shim.runtime.compilation import Compilation

Span = tuple[object, int, int]
"""Address space (the process, a file, a buffer), start and end of an argument."""

_warned: WeakSet[Compilation] = WeakSet()


def overlapping(inputs: Sequence[Span], outputs: Sequence[Span]) -> tuple[int, ...]:
    """The outputs that overlap an input or an earlier output."""
    if not _any_overlap(inputs, outputs):
        return ()
    return tuple(
        number
        for number, output in enumerate(outputs)
        if any(_share(output, other) for other in (*inputs, *outputs[:number]))
    )


def _share(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def _any_overlap(inputs: Sequence[Span], outputs: Sequence[Span]) -> bool:
    """Whether there is an overlap, by one sweep over sorted addresses."""
    spaces: dict[object, list[tuple[int, int, bool]]] = {}
    for spans, is_output in ((inputs, False), (outputs, True)):
        for space, start, end in spans:
            spaces.setdefault(space, []).append((start, end, is_output))
    for listed in spaces.values():
        inputs_end = outputs_end = 0
        for start, end, is_output in sorted(listed):
            if start < outputs_end or (is_output and start < inputs_end):
                return True
            if is_output:
                outputs_end = max(outputs_end, end)
            else:
                inputs_end = max(inputs_end, end)
    return False


class ExecutionApart:
    """An execution that computes some outputs in temporary memory of the library.

    The results are those of arguments without overlap. If outputs overlap, the last one wins.
    """

    def __init__(
        self,
        create: Callable[[Request], IExecution],
        request: Request,
        operands: Sequence[Operand],
        chosen: Sequence[int],
    ) -> None:
        """create: binds a request. chosen: the outputs to compute in temporary memory."""
        outputs = list(request.outputs)
        self._copies: list[tuple[int, RequestArgument, address.Block, int]] = []
        for number in chosen:
            output = outputs[number]
            block = address.Block(output.length)
            size = ELEMENT_BYTES[operands[number].type]
            self._copies.append((number, output, block, size))
            outputs[number] = output._replace(address=block.address, buffer=None)
        self._execution = create(request._replace(outputs=tuple(outputs)))

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it, and copy the outputs in temporary memory to their arguments."""
        result = self._execution.compute(deadline_ns)
        if result.status is ErrorStatus.NONE:
            for number, target, block, size in self._copies:
                length = size * element_count(result.output_shapes[number].dimensions)
                if target.buffer is None:
                    address.copy(target.address, block.address, min(length, block.length))
                elif length == block.length:  # for others the run fails
                    target.buffer.copyFrom(block.address, length)
        return result


def warn(compilation: Compilation, chosen: Sequence[int]) -> None:
    """Warn, once per compilation."""
    if compilation not in _warned:
        _warned.add(compilation)
        names = ", ".join(f"output {number}" for number in chosen)
        log.warning(
            f"{names}: the buffer overlaps that of an input or of another output; the result is "
            "computed apart and copied, which takes time that buffers of their own do not"
        )
