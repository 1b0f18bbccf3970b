"""Outputs that share bytes with inputs or with each other: computed apart, then copied in place."""

from collections.abc import Callable, Sequence
from weakref import WeakSet

from nnapi_shim import address, log
from nnapi_shim.hal.enums import ErrorStatus
from nnapi_shim.hal.interfaces import IExecution
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import ExecutionResult, Operand, Request, element_count
from nnapi_shim.runtime.compilation import Compilation

Span = tuple[object, int, int]
"""Where an argument lies: an address space (the process, or a file), its start and its end."""

_warned: WeakSet[Compilation] = WeakSet()


def overlapping(inputs: Sequence[Span], outputs: Sequence[Span]) -> tuple[int, ...]:
    """The outputs that share bytes with an input or an earlier output."""
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
    """Whether there are any, in one walk from the lowest address to the highest."""
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
    """An execution some of whose outputs lie in memory of the library until it has ended.

    So it gives the result that it would give if all arguments had memory of their own. Of outputs
    that share bytes with each other, the last one is seen there.
    """

    def __init__(
        self,
        create: Callable[[Request], IExecution],
        request: Request,
        operands: Sequence[Operand],
        chosen: Sequence[int],
    ) -> None:
        """create: binds a request. chosen: the outputs that are computed apart."""
        outputs = list(request.outputs)
        self._copies: list[tuple[int, int, address.Block, int]] = []
        for number in chosen:
            output = outputs[number]
            block = address.Block(output.length)
            size = ELEMENT_BYTES[operands[number].type]
            self._copies.append((number, output.address, block, size))
            outputs[number] = output._replace(address=block.address)
        self._execution = create(request._replace(outputs=tuple(outputs)))

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it, and copy to their places the outputs that were computed apart."""
        result = self._execution.compute(deadline_ns)
        if result.status is ErrorStatus.NONE:
            for number, target, block, size in self._copies:
                length = size * element_count(result.output_shapes[number].dimensions)
                address.copy(target, block.address, min(length, block.length))
        return result


def warn(compilation: Compilation, chosen: Sequence[int]) -> None:
    """Say so, once for a compilation."""
    if compilation not in _warned:
        _warned.add(compilation)
        names = ", ".join(f"output {number}" for number in chosen)
        log.warning(
            f"{names}: the buffer overlaps that of an input or of another output; the result is "
            "computed apart and copied, which takes time that buffers of their own do not"
        )
