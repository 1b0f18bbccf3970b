"""IPreparedModel and IExecution of the CPU device: picks a program for a request, lends a frame."""

from collections.abc import Sequence
from time import monotonic_ns
from typing import Any

from nnapi_shim import address
from nnapi_shim.drivers.cpu.builder import Builder, NeedsValue
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.program import Frame, Program
from nnapi_shim.drivers.cpu.weights import Constants
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ResultCode
from nnapi_shim.hal.types import (
    Dimensions,
    ExecutionResult,
    Model,
    OutputShape,
    Request,
    Timing,
    byte_size,
)

MAX_PROGRAMS = 16
"""Programs that a prepared model keeps, one per combination of input shapes and values."""


class Prepared:
    """A program, the shapes its outputs have, and frames that wait for the next run.

    failure: the error of an operation that cannot run with these shapes and values; there is no
        program then, and every run ends with it.
    """

    __slots__ = ("failure", "frames", "output_bytes", "program", "shapes")

    def __init__(self, builder: Builder) -> None:
        self.failure = builder.failure
        self.program: Program | None = None
        self.frames: list[Frame] = []
        if builder.failure is None:
            self.program = builder.program()
            outputs = [builder.operand(index) for index in builder.graph.output_indexes]
            self.shapes = [OutputShape(output.dimensions) for output in outputs]
            self.output_bytes = [byte_size(output) for output in outputs]


class CpuPreparedModel:
    """A model lowered to programs, one per combination of shapes and of values that matter."""

    def __init__(self, model: Model, library: KernelLibrary) -> None:
        self.library = library
        self.graph = model.main
        self.constants = Constants(model, model.main)
        self.value_inputs: set[int] = set()
        """Positions of the model inputs whose values programs depend on."""
        self._programs: dict[Any, Prepared] = {}
        inputs = tuple([self.graph.operands[i].dimensions for i in self.graph.input_indexes])
        if all(0 not in dimensions for dimensions in inputs):
            self._prepare_early(inputs)

    def _prepare_early(self, inputs: tuple[Dimensions, ...]) -> None:
        """Lower at compilation, unless shapes wait for the values of a run."""
        outputs = tuple([self.graph.operands[i].dimensions for i in self.graph.output_indexes])
        builder = Builder(self.library, self.graph, self.constants, inputs, outputs, self._constant)
        try:
            builder.lower_all()
        except NeedsValue:
            return
        self._keep((inputs, outputs, (), ()), Prepared(builder))

    def _constant(self, index: int) -> bytes:
        where = self.constants.address(index)
        if where is None:
            raise NeedsValue(index)
        return address.read(where, byte_size(self.graph.operands[index]))

    def _keep(self, key: Any, prepared: Prepared) -> Prepared:
        while len(self._programs) >= MAX_PROGRAMS:
            self._programs.pop(next(iter(self._programs)), None)
        self._programs[key] = prepared
        return prepared

    def key(self, request: Request) -> Any:
        """What a program for this request depends on."""
        return (
            tuple([argument.dimensions for argument in request.inputs]),
            tuple([argument.dimensions for argument in request.outputs]),
            tuple(
                [
                    address.read(argument.address, argument.length)
                    for position in sorted(self.value_inputs)
                    if not (argument := request.inputs[position]).has_no_value
                ]
            ),
            tuple(
                [
                    position
                    for position, argument in enumerate((*request.inputs, *request.outputs))
                    if argument.has_no_value
                ]
            ),
        )

    def prepared(self, request: Request) -> Prepared:
        """The program for a request; raises NeedsValue when it has to be run in segments."""
        found = self._programs.get(self.key(request))
        if found is None:
            builder = self.builder(request)
            builder.lower_all()
            found = self._keep(self.key(request), Prepared(builder))
        return found

    def builder(self, request: Request) -> Builder:
        """A builder that reads values from the constants, the request and what it has computed."""
        graph = self.graph
        positions = {index: at for at, index in enumerate(graph.input_indexes)}
        arguments = zip(
            (*graph.input_indexes, *graph.output_indexes),
            (*request.inputs, *request.outputs),
            strict=True,
        )

        def values(index: int) -> bytes:
            position = positions.get(index)
            if position is not None:
                self.value_inputs.add(position)
                argument = request.inputs[position]
                return address.read(argument.address, byte_size_of(index))
            where = builder.computed(index)
            if where is None:
                return self._constant(index)
            return address.read(where, byte_size_of(index))

        def byte_size_of(index: int) -> int:
            return byte_size(builder.operand(index))

        builder = Builder(
            self.library,
            graph,
            self.constants,
            [argument.dimensions for argument in request.inputs],
            [argument.dimensions for argument in request.outputs],
            values,
            {index for index, argument in arguments if argument.has_no_value},
        )
        return builder

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "CpuExecution":
        """Bind a request to this model."""
        return CpuExecution(self, request, measure)

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """Bind a request and run it once."""
        return CpuExecution(self, request, measure).compute(deadline_ns)


class CpuExecution:
    """A request bound to a prepared model. One run at a time; the runtime sees to that."""

    def __init__(self, model: CpuPreparedModel, request: Request, measure: bool) -> None:
        self._model = model
        self._request = request
        self._measure = measure
        self._prepared: Prepared | None = None
        self._frame: Frame | None = None
        self._walk: Any = None
        self._block = 0
        self._done: ExecutionResult | None = None
        """The result of a run that succeeds: known as soon as the request is bound."""

    def __del__(self) -> None:
        self._release()

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it; raises OP_FAILED and the like, or answers OUTPUT_INSUFFICIENT_SIZE."""
        started = monotonic_ns() if self._measure or deadline_ns is not None else 0
        if deadline_ns is not None and started >= deadline_ns:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the run began"
            )
        if self._frame is None or self._model.value_inputs:
            try:
                result = self._bind()
            except NeedsValue:
                return self._timed(self._run_segments(), started)
            if result is not None:
                return result
        code = self._walk(self._block, 0)
        if code:
            assert self._frame is not None
            raise stopped(self._frame, code)
        assert self._done is not None
        return self._timed(self._done, started) if self._measure else self._done

    def _timed(self, result: ExecutionResult, started: int) -> ExecutionResult:
        if not self._measure:
            return result
        elapsed = monotonic_ns() - started
        return result._replace(timing=Timing(elapsed, elapsed))

    def _bind(self) -> ExecutionResult | None:
        """Find the program, take a frame, bind the arguments; a result if nothing is to run."""
        prepared = self._model.prepared(self._request)
        if prepared is self._prepared and self._frame is not None:
            return None
        self._release()
        if prepared.failure is not None:
            raise prepared.failure
        short = self._insufficient(prepared.shapes, prepared.output_bytes)
        if short is not None:
            return short
        assert prepared.program is not None
        try:
            frame = prepared.frames.pop()
        except IndexError:
            frame = Frame(prepared.program)
        request = self._request
        frame.bind([argument.address for argument in (*request.inputs, *request.outputs)])
        self._prepared, self._frame = prepared, frame
        self._walk, self._block = prepared.program.walk, frame.walk_block
        self._done = ExecutionResult(ErrorStatus.NONE, prepared.shapes)
        return None

    def _release(self) -> None:
        """Give the frame back for the next execution."""
        if self._frame is not None and self._prepared is not None:
            self._prepared.frames.append(self._frame)
        self._frame = None

    def _insufficient(
        self, shapes: Sequence[OutputShape], needed: Sequence[int]
    ) -> ExecutionResult | None:
        fits = [
            argument.has_no_value or argument.length >= length
            for argument, length in zip(self._request.outputs, needed, strict=True)
        ]
        if all(fits):
            return None
        return ExecutionResult(
            ErrorStatus.OUTPUT_INSUFFICIENT_SIZE,
            [shape._replace(is_sufficient=fit) for shape, fit in zip(shapes, fits, strict=True)],
        )

    def _run_segments(self) -> ExecutionResult:
        """Run a model whose shapes depend on values that it computes itself.

        Lower up to the first operation that waits for such a value, run that much, read the value,
        go on. What the parts hand to each other lies outside the arena.
        """
        request = self._request
        builder = self._model.builder(request)
        arguments = [argument.address for argument in (*request.inputs, *request.outputs)]
        kept: list[Any] = []
        finished = False
        while not finished:
            origin = len(builder.steps)
            try:
                builder.lower_all()
                finished = True
            except NeedsValue as needed:
                # Steps of this part compute the value; if there are none, nothing ever will.
                assert len(builder.steps) > origin, f"operand {needed.operand} is never computed"
            if builder.failure is not None:
                raise builder.failure
            shapes = [
                OutputShape(builder.operand(i).dimensions) for i in builder.graph.output_indexes
            ]
            short = self._insufficient(shapes, builder.written_bytes(origin))
            if short is not None:
                return short
            if not finished:
                kept += builder.keep_results(origin, arguments)
            frame = Frame(builder.program(origin))
            frame.bind(arguments)
            code = frame.program.walk(frame.walk_block, 0)
            if code:
                raise stopped(frame, code)
        return ExecutionResult(ErrorStatus.NONE, shapes)


def stopped(frame: Frame, code: int) -> NnapiError:
    """The error of a walk that a kernel stopped: it met a value that it cannot work with."""
    op, index, kernel = frame.program.origins[frame.stopped()]
    return NnapiError(
        ResultCode(code),
        f"{op.match.operation.type.name} (operation {index}): kernel {kernel} met a value that is "
        "not allowed",
    )
