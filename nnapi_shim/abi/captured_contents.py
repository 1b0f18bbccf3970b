"""The contents that a capture records with a call: constants, arguments of computations, memory."""

from nnapi_shim.abi import decoding
from nnapi_shim.abi.tables import executions, memories, models
from nnapi_shim.address import words
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import BYTE_SIZE_OF_CACHE_TOKEN, OperandType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS, STRUCT_CODES
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any, Callable, NamedTuple, Sequence
from nnapi_shim.recording.vocabulary import PARAMETERS, RUNS
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.memory import Memory

Stored = Callable[[str, tuple[int, ...], bytes], dict[str, Any]]
"""Stores an array (dtype, shape, bytes); returns its representation in a line."""

_DTYPES = {"f": "<f4", "e": "<f2", "i": "<i4", "I": "<u4", "h": "<i2", "H": "<u2", "b": "|i1"}
_BOOLS = (OperandType.BOOL, OperandType.TENSOR_BOOL8)


class Bound(NamedTuple):
    """An argument of an execution.

    memory: its memory object, None for a buffer at an address. address: 0 if omitted.
    dimensions: those passed with it; None or () for those of the model.
    """

    address: int
    length: int
    memory: Memory | None
    memory_handle: int
    offset: int
    dimensions: tuple[int, ...] | None


class Region(NamedTuple):
    """A region of a memory that holds a constant."""

    memory: Memory
    handle: int
    offset: int
    length: int


class Contents:
    """The locations of contents, as earlier calls defined them."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._bound: dict[int, dict[tuple[str, int], Bound]] = {}
        """Execution -> its arguments."""
        self._running: dict[int, tuple[int, Execution, dict[tuple[str, int], Bound]]] = {}
        """Event -> its execution."""
        self._regions: dict[int, list[Region]] = {}
        """Model -> regions of its constants in memories, and of those of referenced models."""
        self._compiled: dict[int, list[Region]] = {}
        """Compilation that is not finished -> the same of its model."""

    def before(
        self, name: str, values: dict[str, Any], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Contents that a call will read; contents of arguments go to `arguments`."""
        short = name.removeprefix("ANeuralNetworks")
        for parameter in PARAMETERS[name]:
            if parameter.kind == "bytes":
                arguments[parameter.name] = self._given(short, values, parameter.name)
            elif parameter.kind == "token" and values[parameter.name]:
                token = decoding.contents(values[parameter.name], BYTE_SIZE_OF_CACHE_TOKEN)
                arguments[parameter.name] = token and token.hex()
        if name in RUNS:
            return self._inputs(values["execution"])
        if short == "Model_setOperandValueFromMemory":
            region = self._region(values)
            return {"memories": self._read([region])} if region else {}
        if short == "Compilation_finish":
            read = self._read(self._compiled.get(values["compilation"], []))
            return {"memories": read} if read else {}
        if short == "Memory_copy":
            return self._whole(values["src"])
        return {}

    def counts(self, name: str, values: dict[str, Any]) -> dict[str, int]:
        """Number of elements of the arrays that a call fills."""
        if name.endswith("_getSupportedOperationsForDevices"):
            model = models.get(values["model"])
            return {"supportedOps": len(model.draft.operations) if model else 0}
        if name.endswith("_getOutputOperandDimensions"):
            execution = executions.get(values["execution"])
            try:
                sizes = execution.output_dimensions(values["index"])[0] if execution else ()
            except NnapiError:
                sizes = ()
            return {"dimensions": len(sizes)}
        return {}

    def after(self, name: str, values: dict[str, Any], *, succeeded: bool) -> dict[str, Any]:
        """Contents that a call has written; also records its arguments for later calls."""
        short = name.removeprefix("ANeuralNetworks")
        if short.endswith("_free"):
            return self._freed(short, values)
        if short == "Event_wait":
            ended = self._running.pop(values["event"], None) if succeeded else None
            return self._outputs(*ended) if ended else {}
        if not succeeded:
            return {}
        if short.startswith(("Execution_setInput", "Execution_setOutput")):
            self._bind(short, values)
        elif short.startswith("Execution_startCompute"):
            (event,) = words(values["event"], "uintptr_t", 1)
            handle = values["execution"]
            self._running[event] = handle, executions[handle], self._bound.get(handle, {})
        elif name in RUNS:
            handle = values["execution"]
            return self._outputs(handle, executions[handle], self._bound.get(handle, {}))
        elif short == "Model_setOperandValueFromMemory":
            region = self._region(values)
            if region:
                self._regions.setdefault(values["model"], []).append(region)
        elif short == "Model_setOperandValueFromModel":
            inner = self._regions.get(values["value"], [])
            self._regions.setdefault(values["model"], []).extend(inner)
        elif short in ("Compilation_create", "Compilation_createForDevices"):
            (compilation,) = words(values["compilation"], "uintptr_t", 1)
            self._compiled[compilation] = [*self._regions.get(values["model"], [])]
        elif short == "Compilation_finish":
            self._compiled.pop(values["compilation"], None)
        elif short == "Memory_copy":
            return self._whole(values["dst"])
        elif short == "Memory_createFromAHardwareBuffer":
            (handle,) = words(values["memory"], "uintptr_t", 1)
            memory = memories[handle]
            return {"size": memory.size} if memory.is_sized else {}
        return {}

    def _freed(self, short: str, values: dict[str, Any]) -> dict[str, Any]:
        if short == "Execution_free":
            self._bound.pop(values["execution"], None)
        elif short == "Model_free":
            self._regions.pop(values["model"], None)
        elif short == "Compilation_free":
            self._compiled.pop(values["compilation"], None)
        elif short == "Event_free":
            ended = self._running.pop(values["event"], None)
            return self._outputs(*ended) if ended else {}
        return {}

    # Constants

    def _given(self, short: str, values: dict[str, Any], name: str) -> Any:
        data = decoding.contents(values[name], values["length"])
        if data is None:
            return None
        operand = None
        if short == "Model_setOperandValue":
            model = models.get(values["model"])
            operands = model.draft.operands if model is not None else []
            if 0 <= values["index"] < len(operands):
                operand = operands[values["index"]]
        if operand is None:
            return self._stored("|u1", (len(data),), data)
        return self._typed(operand.type, operand.dimensions, data)

    def _typed(self, type: int, dimensions: Sequence[int], data: bytes) -> dict[str, Any]:
        """Contents of an operand; as bytes if they do not match its type."""
        code = STRUCT_CODES.get(type) if isinstance(type, OperandType) else None
        if code is not None:
            dtype = "|b1" if type in _BOOLS else _DTYPES.get(code, "|u1")
            shape = () if type in SCALARS else tuple(dimensions)
            if element_count(shape) * int(dtype[-1]) == len(data) and (shape or type in SCALARS):
                return self._stored(dtype, shape, data)
        return self._stored("|u1", (len(data),), data)

    # Memories

    def _region(self, values: dict[str, Any]) -> Region | None:
        memory = memories.get(values["memory"])
        if memory is None:
            return None
        return Region(memory, values["memory"], values["offset"], values["length"])

    def _read(self, regions: Sequence[Region]) -> list[dict[str, Any]]:
        regions_read = []
        for region in dict.fromkeys(regions):
            data = _contents_of(region.memory, region.offset, region.length, written=False)
            if data is not None:
                regions_read.append(
                    {
                        "memory": decoding.handle(region.handle),
                        "offset": region.offset,
                        "contents": self._stored("|u1", (len(data),), data),
                    }
                )
        return regions_read

    def _whole(self, handle: int) -> dict[str, Any]:
        """All of a memory that the program can see."""
        memory = memories.get(handle)
        if memory is None or memory.operand is not None or not memory.is_sized:
            return {}
        read = self._read([Region(memory, handle, 0, memory.size)])
        return {"memories": read} if read else {}

    # Computations

    def _bind(self, short: str, values: dict[str, Any]) -> None:
        role = "input" if short.startswith("Execution_setInput") else "output"
        handle = values.get("memory", 0)
        dimensions = None
        if values["type"]:
            operand_type = decoding.operand_type(values["type"])
            dimensions = tuple(operand_type.get("dimensions") or ())
        bound = Bound(
            values.get("buffer", 0),
            values["length"],
            memories.get(handle) if handle else None,
            handle,
            values.get("offset", 0),
            dimensions,
        )
        self._bound.setdefault(values["execution"], {})[role, values["index"]] = bound

    def _inputs(self, handle: int) -> dict[str, Any]:
        execution = executions.get(handle)
        if execution is None:
            return {}
        inputs = []
        for (role, index), bound in sorted(self._bound.get(handle, {}).items()):
            operands = execution.compilation.inputs
            if role != "input" or not 0 <= index < len(operands):
                continue
            dimensions = bound.dimensions or operands[index].dimensions
            inputs.append(self._argument(index, operands[index], dimensions, bound, written=False))
        return {"inputs": inputs}

    def _outputs(
        self, handle: int, execution: Execution, arguments: dict[tuple[str, int], Bound]
    ) -> dict[str, Any]:
        outputs = []
        for (role, index), bound in sorted(arguments.items()):
            if role != "output":
                continue
            try:
                dimensions, _ = execution.output_dimensions(index)
            except NnapiError:
                continue
            operand = execution.compilation.outputs[index]
            outputs.append(self._argument(index, operand, dimensions, bound, written=True))
        return {"of": decoding.handle(handle), "outputs": outputs} if outputs else {}

    def _argument(
        self,
        index: int,
        operand: Any,
        dimensions: Sequence[int],
        bound: Bound,
        *,
        written: bool,
    ) -> dict[str, Any]:
        said: dict[str, Any] = {"index": index}
        if bound.memory is not None:
            said["memory"] = decoding.handle(bound.memory_handle)
            length = bound.length or bound.memory.size
            data = None
            if bound.memory.operand is None:
                data = _contents_of(bound.memory, bound.offset, length, written=written)
        else:
            if not bound.address:
                return {**said, "omitted": True}
            data = decoding.contents(bound.address, bound.length)
        if data is not None:
            size = ELEMENT_BYTES.get(operand.type, 0)
            count = 1 if operand.type in SCALARS else element_count(tuple(dimensions))
            # before a computation, 0 means unknown; afterwards it is a size
            is_known = operand.type in SCALARS or (dimensions and (written or 0 not in dimensions))
            if size and is_known and size * count < len(data):
                data = data[: size * count]  # the rest is padding
            said["contents"] = self._typed(operand.type, dimensions, data)
        if written:
            said["dimensions"] = list(dimensions)
        return said


def _contents_of(memory: Memory, offset: int, length: int, *, written: bool) -> bytes | None:
    """A region of a memory; None if the program may not read it."""
    if offset + length > memory.size:
        return None
    try:
        start = memory.map_for_output() if written else memory.map()
    except NnapiError:
        return None
    return decoding.contents(start + offset, length)
