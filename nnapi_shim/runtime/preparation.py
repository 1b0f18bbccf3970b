"""Arguments and options of an execution, set before its first run."""

from nnapi_shim.errors import NnapiError, bad_state
from nnapi_shim.hal.enums import DEFAULT_LOOP_TIMEOUT_NS, MAXIMUM_LOOP_TIMEOUT_NS
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.argument import Arguments, ArgumentType
from nnapi_shim.runtime.compilation import LONGEST_NS, Compilation
from nnapi_shim.runtime.fast_path import Slot
from nnapi_shim.runtime.memory import Memory

PREPARATION, COMPUTATION, COMPLETED = "in preparation", "in computation", "completed"


class Preparation:
    """Arguments and options of an execution; setting one raises BAD_STATE after the first start."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        compilation.require_finished()
        self.compilation = compilation
        self._arguments = Arguments(compilation)
        self._state = PREPARATION
        self._reusable = False
        self._measure = False
        self._timeout_ns = 0
        self._loop_timeout_ns = DEFAULT_LOOP_TIMEOUT_NS
        self._attributes: dict[tuple[str, int], bytes] = {}
        self._slot: Slot | None = None

    def set_argument(
        self,
        role: str,
        index: int,
        type: ArgumentType | None,
        address: int,
        length: int,
    ) -> None:
        """An "input" or "output" in `length` bytes at an address; address 0, length 0 omits it."""
        self._require_preparation()
        arguments = self._arguments
        if type is not None or not arguments.set_buffer(role, index, address, length):
            try:
                arguments.set(role, index, type, address, length, None, 0)
            except NnapiError as error:
                raise self.compilation.named(error) from None

    def set_argument_from_memory(
        self,
        role: str,
        index: int,
        type: ArgumentType | None,
        memory: Memory,
        offset: int,
        length: int,
    ) -> None:
        """An "input" or "output" in a region of a memory object."""
        self._require_preparation()
        try:
            self._arguments.set(role, index, type, 0, length, memory, offset)
        except NnapiError as error:
            raise self.compilation.named(error) from None

    def enable_input_and_output_padding(self, enable: bool) -> None:
        """Whether lengths may exceed what an argument needs; allowed before any argument is set."""
        self._require_preparation()
        self._arguments.enable_padding(enable)

    def set_reusable(self, reusable: bool) -> None:
        """Whether the execution may be computed more than once."""
        self._require_preparation()
        self._reusable = reusable

    def set_loop_timeout(self, duration_ns: int) -> None:
        """The time that each WHILE may take, 15 s at most."""
        self._require_preparation()
        self._loop_timeout_ns = min(duration_ns, MAXIMUM_LOOP_TIMEOUT_NS)

    def set_timeout(self, duration_ns: int) -> None:
        """The time that a computation may take; 0 for no limit."""
        self.compilation.require_single_explicit_device("an execution timeout")
        self._require_preparation()
        self._timeout_ns = min(duration_ns, LONGEST_NS)

    def set_measure_timing(self, measure: bool) -> None:
        """Whether durations are measured."""
        self.compilation.require_single_explicit_device("measuring durations")
        self._require_preparation()
        self._measure = measure

    @property
    def measures(self) -> bool:
        """Whether durations are measured."""
        return self._measure

    def add_extension_attribute(self, name: str, code: int, data: bytes | None) -> None:
        """Keep an attribute for the device; unknown names are accepted."""
        self.compilation.require_single_explicit_device("an extension attribute")
        self._require_preparation()
        extension.add_attribute(self._attributes, name, code, data)

    def _require_preparation(self) -> None:
        if self._state != PREPARATION:
            state = self._seen_state()
            raise bad_state(
                f"the execution is {state}; it can no longer be changed", "execution.sealed"
            )

    def _seen_state(self) -> str:
        """Its state; COMPUTATION during a run on the fast path."""
        return COMPUTATION if self._slot is not None and self._slot.is_running() else self._state
