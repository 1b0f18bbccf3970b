"""Executions that are kept for other runs, and the C function that runs one of them.

Setting arguments through Python takes longer than running a small model. native/module/rerun.c does
it in one call, for arrays that have exactly the element types and dimensions of the kept execution.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from struct import pack, unpack
from typing import Any

import numpy as np

from nnapi_shim import folders
from nnapi_shim.api.arrays import Array
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import NamedTuple
from nnapi_shim.runtime.execution import Execution

Rerun = Callable[..., tuple[Array, ...] | None]
"""From inputs and destinations of outputs, two tuples, to the outputs. None if an argument does not
have the element type, dimensions and layout of the kept execution, if an output shares bytes with
another argument, or if all executions are running. Addresses of states may follow: see rerun.c.
"""


class Kept(NamedTuple):
    """Executions for one combination of input dimensions; native/module/rerun.c reads them."""

    arguments: bytes
    outputs: tuple[tuple[Dimensions, np.dtype[Any]], ...]
    empty: Callable[..., Array]
    array: type
    free: list[tuple[bytes, Execution]]
    """The programs and the executions that no thread is running."""

    @property
    def rerun(self) -> Rerun:
        """The function that runs one of the executions."""
        return partial(_function(), self)


def kept_of(inputs: Sequence[Array], outputs: Sequence[tuple[Dimensions, np.dtype[Any]]]) -> Kept:
    """No executions yet, for inputs like these and for outputs of these dimensions and types."""
    arguments = [(array.shape, array.dtype) for array in inputs] + [*outputs]
    words = [len(inputs)]
    for shape, dtype in arguments:
        words += [ord(dtype.char), len(shape), *shape]
    packed = pack(f"<{len(words)}q", *words)
    return Kept(packed, tuple(outputs), np.empty, np.ndarray, [])


def arguments_of(kept: Kept) -> list[tuple[int, Dimensions]]:
    """Code of the element type, and dimensions, of each input and output."""
    words = unpack(f"<{len(kept.arguments) // 8}q", kept.arguments)
    result, at = [], 1
    while at < len(words):
        end = at + 2 + words[at + 1]
        result.append((words[at], words[at + 2 : end]))
        at = end
    return result


@cache
def _function() -> Callable[..., tuple[Array, ...] | None]:
    path = f"{folders.get_library_dir()}/nnapi_shim_callbacks.abi3.so"
    loader = ExtensionFileLoader("nnapi_shim_rerun", path)
    module: Any = loader.create_module(ModuleSpec(loader.name, loader, origin=path))
    loader.exec_module(module)
    return module.rerun  # type: ignore[no-any-return]
