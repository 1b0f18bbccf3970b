"""IDevice of a device of an engine."""

from collections.abc import Sequence

from nnapi_shim import process, savers
from nnapi_shim.drivers.engines.device_buffer import DeviceBuffer
from nnapi_shim.drivers.engines.engine import (
    QUANTIZED_ON_PROCESSORS,
    Engine,
    File,
    Target,
    Wishes,
)
from nnapi_shim.drivers.engines.prepared_model import EnginePreparedModel
from nnapi_shim.hal.enums import (
    RUNTIME_LEVEL,
    DeviceType,
    ExecutionPreference,
    OperandType,
    Priority,
)
from nnapi_shim.hal.types import CacheHandles, Capabilities, Model, Operand, same_for_all
from nnapi_shim.operations import supported
from nnapi_shim.settings import THREADS

_BYTES = (OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED)


class EngineDevice:
    """A device of an engine: it computes what the format expresses and the engine gets right."""

    feature_level = RUNTIME_LEVEL

    def __init__(self, engine: Engine, target: Target) -> None:
        self.name = target.name
        self.version = target.version
        self.type = target.type
        self._engine = engine
        self._target = target
        self._generation = process.generation[0]

    def getCapabilities(self) -> Capabilities:
        """Assumed figures for this kind of device."""
        figures = same_for_all(self._target.performance)
        if self.type is DeviceType.CPU:
            by_type = {
                **figures.operand_performance,
                **dict.fromkeys(_BYTES, QUANTIZED_ON_PROCESSORS),
            }
            return figures._replace(operand_performance=by_type)
        return figures

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """What the declarations accept, the format expresses, and the engine gets right."""
        return [not reason for reason in self.getReasons(model)]

    def getReasons(self, model: Model) -> list[str]:
        """As IExplainingDevice."""
        engine, target = self._engine, self._target
        written = savers.exchange(engine.format).reasons(
            model,
            lambda node: engine.declined(target, node),
            engine.takes_external,
        )
        undeclared = "the specification does not define it with these operands"
        return [
            reason if can else reason or undeclared
            for reason, can in zip(written, supported(model), strict=True)
        ]

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> EnginePreparedModel:
        """Compile the model in the engine.

        Raises MISSED_DEADLINE_* and what the engine refuses as OP_FAILED.
        """
        is_relaxed = model.relax_computation_float32_to_float16
        wishes = Wishes(preference, priority, is_relaxed, _threads(), cache)
        return EnginePreparedModel(self._engine, self._target, model, wishes, deadline_ns)

    def compileTogether(
        self, models: Sequence[Model], cache: CacheHandles, deadline_ns: int
    ) -> bool:
        """As ITogetherDevice."""
        engine = self._engine
        compile = getattr(engine, "compiled_together", None)
        if compile is None:
            return False
        preference = ExecutionPreference.FAST_SINGLE_ANSWER
        is_relaxed = any(model.relax_computation_float32_to_float16 for model in models)
        wishes = Wishes(preference, Priority.MEDIUM, is_relaxed, _threads(), cache, deadline_ns)
        files = [File(*savers.exchange(engine.format).written(model, None)) for model in models]
        compile(self._target, files, wishes)
        return True

    def allocate(self, operand: Operand) -> DeviceBuffer | None:
        """As IAllocatingDevice; None in a child that was forked after the device was made."""
        allocated = getattr(self._engine, "allocated", None)
        if allocated is None or process.generation[0] != self._generation:
            return None
        memory = allocated(self._target, operand.type, operand.dimensions)
        return memory and DeviceBuffer(memory, operand.dimensions)

    def wait(self) -> None:
        """It is always ready."""


def _threads() -> int:
    """The most threads of a computation; 0 for as many as the engine likes."""
    text = THREADS.get()
    return int(text) if text.isdecimal() else 0
