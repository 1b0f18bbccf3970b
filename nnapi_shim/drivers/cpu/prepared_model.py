"""IPreparedModel and IExecution of the CPU device: select and run the program for a request."""

from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu import passes
from nnapi_shim.drivers.cpu.compile.compiled_graph import CompiledGraph
from nnapi_shim.drivers.cpu.compile.segments import Segment
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import Frame
from nnapi_shim.drivers.cpu.program.threads import ALONE, Crew
from nnapi_shim.drivers.cpu.run.walk import stopped, walk_of
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ErrorStatus, ResultCode
from nnapi_shim.hal.types import (
    CacheHandles,
    Dimensions,
    ExecutionResult,
    Model,
    Request,
    Subgraph,
    Timing,
    is_known,
)
from nnapi_shim.hints import Any, Collection
from nnapi_shim.limits import TooLate
from nnapi_shim.operations.resolve import require_outputs


def too_late(late: TooLate) -> NnapiError:
    """The error of a compilation that exceeded its deadline."""
    code = ResultCode.MISSED_DEADLINE_TRANSIENT
    error = NnapiError(
        code, "making it ready took longer than it may", "compilation.prepare.too-late"
    )
    return error.at(late.place) if late.place else error


class CpuPreparedModel:
    """A model lowered to programs, one per combination of shapes and shape-determining values."""

    def __init__(
        self,
        model: Model,
        library: KernelLibrary,
        crew: Crew = ALONE,
        handles: CacheHandles | None = None,
        deadline_ns: int = 0,
    ) -> None:
        """deadline_ns: as in GraphLowering; raises TooLate."""
        constants = Constants(model, crew)
        referenced = None
        if model.referenced:
            from nnapi_shim.drivers.cpu.compile.inlining import Referenced

            referenced = Referenced(model)
        self.main = CompiledGraph(library, referenced, model.main, constants, self._optimized)
        self.graphs = [
            CompiledGraph(library, referenced, graph, constants) for graph in model.referenced
        ]
        """The graphs that IF and WHILE refer to."""
        self._declared: tuple[Dimensions, ...] = ()
        self._usual: Segment | None = None
        """The first segment of runs with the declared dimensions."""
        operands, main = model.main.operands, model.main
        inputs = tuple([operands[index].dimensions for index in main.input_indexes])
        types = [operands[index].type for index in main.input_indexes]
        if all(map(is_known, types, inputs)):  # lower now, not in the first run
            outputs = tuple([operands[index].dimensions for index in main.output_indexes])
            if handles is not None:
                self._use_cache(model, handles, inputs, outputs, deadline_ns)
            self._declared = (*inputs, *outputs)
            self._usual = self.main.first(inputs, outputs, deadline_ns=deadline_ns)

    def _optimized(self, subgraph: Subgraph, deadline_ns: int) -> Subgraph:
        """The main graph after the graph passes; deadline_ns: as in GraphLowering (TooLate)."""
        main = self.main
        if not passes.of_graph(subgraph, main.constants):
            return subgraph
        from nnapi_shim.drivers.cpu.compile.optimize import optimized

        return optimized(main.library, main.referenced, main.constants, subgraph, deadline_ns)[0]

    def _use_cache(
        self,
        model: Model,
        handles: CacheHandles,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        deadline_ns: int,
    ) -> None:
        """Load the first segment from the cache, or compile and store it."""
        from nnapi_shim.drivers.cpu.cache.folder import key_of_user
        from nnapi_shim.drivers.cpu.program.digest import Digest

        key = key_of_user()
        if key is None:
            return
        library, constants = self.main.library, self.main.constants
        digest = Digest(library, key)
        constants.begin_digest(digest)
        from nnapi_shim.drivers.cpu.cache.cache import opened

        cache = opened(model, library, constants, handles, digest)
        if cache is None:
            return
        with cache:
            stored = cache.load()
            if stored is None:
                from nnapi_shim.drivers.cpu.cache.writer import store

                store(cache, self.main.first(inputs, outputs, deadline_ns=deadline_ns))
            else:
                self.main.insert(inputs, outputs, *stored)

    def first(self, request: Request, deadline_ns: int) -> Segment:
        """The first segment of a run of this request.

        deadline_ns: as in GraphLowering; raises TooLate.
        """
        if self._usual is not None:
            arguments = (*request.inputs, *request.outputs)
            for argument, dimensions in zip(arguments, self._declared, strict=True):
                if argument.dimensions is not dimensions or argument.has_no_value:
                    break
            else:
                return self._usual
        return self.main.first(
            tuple([argument.dimensions for argument in request.inputs]),
            tuple([argument.dimensions for argument in request.outputs]),
            tuple(
                [
                    position
                    for position, argument in enumerate(request.inputs)
                    if argument.has_no_value
                ]
            ),
            deadline_ns=deadline_ns,
        )

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "CpuExecution":
        """Bind a request to this model."""
        return CpuExecution(self, request, measure, loop_timeout_ns)

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """Bind a request and run it once."""
        return CpuExecution(self, request, measure, loop_timeout_ns).compute(deadline_ns)


class CpuExecution:
    """A request bound to a prepared model. The runtime ensures one run at a time."""

    _first: Segment | None = None
    _frame: Frame | None = None

    def __init__(
        self, model: CpuPreparedModel, request: Request, measure: bool, loop_timeout_ns: int
    ) -> None:
        self._model = model
        self._request = request
        self._measure = measure
        self._loop_timeout_ns = loop_timeout_ns
        self._arguments = [argument.address for argument in (*request.inputs, *request.outputs)]
        self._walk: Any = None
        self._block = 0
        self._done: ExecutionResult | None = None
        """The result of a successful run, if it is known when a frame is bound."""
        self._has_deadline = False

    def __del__(self) -> None:
        if self._frame is not None and self._first is not None:
            self._first.frames.append(self._frame)

    @property
    def again(self) -> tuple[int, int] | None:
        """Address of a C function that repeats the run, and its first argument (the second is 0);
        None if a run needs Python. The function returns 0, or a code for `failure`.
        """
        frame = self._frame
        if frame is None or self._done is None or self._measure or self._has_deadline:
            return None
        if self._walk is not frame.program.walk:  # the run is observed
            return None
        return address.of_function(self._walk), self._block

    @property
    def rerun(self) -> bytes | None:
        """The program that native/module/rerun.c runs with other arguments; None if it has none,
        or if a run may need others.
        """
        if self._frame is None or self._done is None:
            return None
        return self._frame.rerun(*(self.again or (0, 0)))

    def failure(self, code: int) -> NnapiError:
        """The error of a run of the function of `again`, or of `rerun`."""
        assert self._frame is not None
        return stopped(self._frame, code)

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run; returns a result, possibly OUTPUT_INSUFFICIENT_SIZE, or raises NnapiError.

        Raises BAD_DATA for an omitted output.
        """
        started = monotonic_ns() if self._measure or deadline_ns is not None else 0
        if deadline_ns is not None and started >= deadline_ns:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_PERSISTENT,
                "the deadline passed before the run began",
                "execution.deadline.before-start",
            )
        if self._done is None:
            require_outputs(self._model.main.declared, self._request.outputs)
            try:
                first = self._first = self._model.first(self._request, deadline_ns or 0)
                if not first.is_whole:
                    return self._timed(self._run(first, deadline_ns or 0), started)
            except TooLate as late:
                raise too_late(late) from None
            result = self._bind(first)
            if result is not None:
                return result
        assert self._done is not None
        if self._frame is not None:
            if deadline_ns is not None or self._has_deadline:
                self._frame.set_deadline(deadline_ns or 0)
                self._has_deadline = deadline_ns is not None
            code = self._walk(self._block, 0)
            if code:
                raise stopped(self._frame, code)
        return self._timed(self._done, started) if self._measure else self._done

    def _timed(self, result: ExecutionResult, started: int) -> ExecutionResult:
        if not self._measure:
            return result
        elapsed = monotonic_ns() - started
        return result._replace(timing=Timing(elapsed, elapsed))

    def _bind(self, segment: Segment) -> ExecutionResult | None:
        """Bind a frame of the only segment; returns a result only if the outputs are too small."""
        outputs = self._request.outputs
        short = {at for at, length in segment.needed if outputs[at].length < length}
        if short:
            return self._insufficient(segment, short)
        if segment.program is not None:
            frame = self._frame = segment.frame()
            frame.bind(self._arguments, self._loop_timeout_ns)
            frame.set_deadline(0)  # clears the deadline of an earlier run
            self._walk, self._block = walk_of[0](frame.program, ()), frame.walk_block
        self._done = ExecutionResult(ErrorStatus.NONE, segment.shapes)
        return None

    def _run(self, first: Segment, deadline_ns: int) -> ExecutionResult:
        """Run several segments."""
        from nnapi_shim.drivers.cpu.run.frame_lease import FrameLease
        from nnapi_shim.drivers.cpu.run.segmented_run import Insufficient, SegmentedRun

        run = SegmentedRun(self._model.graphs, self._loop_timeout_ns, deadline_ns)
        lease = FrameLease()
        capacities = [argument.length for argument in self._request.outputs]
        try:
            last = run.segments(first, [*self._arguments], capacities, lease)
        except Insufficient as short:
            return self._insufficient(short.segment, short.positions)
        finally:
            lease.release()
        return ExecutionResult(ErrorStatus.NONE, last.shapes)

    def _insufficient(self, segment: Segment, short: Collection[int]) -> ExecutionResult:
        return ExecutionResult(
            ErrorStatus.OUTPUT_INSUFFICIENT_SIZE,
            [
                shape._replace(is_sufficient=at not in short)
                for at, shape in enumerate(segment.shapes)
            ],
        )
