"""Other runtimes that run the same model for comparison, with bound arguments."""

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.drivers import engine_devices
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.runtime import device_manager
from nnapi_shim.tools.info import installed_version
from nnapi_shim.tools.model_source import Source
from nnapi_shim.tools.runtimes import RUNTIMES, Runtime, ready
from nnapi_shim.units import count


class Peer(NamedTuple):
    """A model in another runtime, or on another device. outputs: returns those of the last run."""

    name: str
    version: str
    run: Callable[[], object]
    outputs: Callable[[], list[Array]]


Inputs = tuple[Sequence[Array], Sequence[Any]]
"""The inputs of a run without, and with, the model's states; a runtime takes one or the other."""


def peer(name: str, source: Source, model: Model, inputs: Inputs, threads: int = 1) -> Peer:
    """Load a model into a runtime and bind its inputs.

    source: the model's origin; the runtime reads a file of its format directly, other models are
    exported. threads: number of threads of a run. Raises BAD_DATA for an unknown runtime and for a
    model that cannot be exported, OP_FAILED for one that the runtime does not run, and ImportError
    if the runtime is not installed.
    """
    if name not in RUNTIMES:
        peers = ", ".join((*RUNTIMES, *device_names()))
        hint = engine_devices.listed_by(name)
        others = f"; {hint}" if hint else ""
        raise bad_data(f"there is no peer {name!r}; there are {peers}{others}", "tool.bench.peer")
    with tempfile.TemporaryDirectory() as folder:
        path = _file(source, model, RUNTIMES[name], folder)
        try:
            run, outputs = ready(name, path, lambda count: _matching(name, count, inputs), threads)
            run()
        except (NnapiError, ImportError, MemoryError):
            raise
        except Exception as error:  # other runtimes may raise any exception
            reason = " ".join(str(error).split())[:300]
            raise op_failed(
                f"{name} does not run this model: {reason}", "tool.bench.peer-refuses"
            ) from None
    return Peer(name, installed_version(RUNTIMES[name].package) or "", run, outputs)


def _file(source: Source, model: Model, runtime: Runtime, folder: str) -> str:
    """The path of a model file in a format that a runtime reads."""
    if not isinstance(source, Model):
        path = Path(os.fspath(source))
        if path.suffix in runtime.reads and path.is_file():
            return str(path)
    from nnapi_shim.formats.save import save

    path = Path(folder, f"model{runtime.suffix}")
    save(model, path)
    return str(path)


def _matching(name: str, takes: int, inputs: Inputs) -> Sequence[Array]:
    """The inputs that match the runtime's count; raises BAD_DATA if none does."""
    for arrays in inputs:
        if len(arrays) == takes:
            return arrays
    counts = " or ".join(dict.fromkeys(str(len(arrays)) for arrays in inputs))
    raise bad_data(
        f"{name} takes {count(takes, 'input')} for this model; here it has {counts}",
        "tool.bench.peer-inputs",
    )


def device_names() -> list[str]:
    """The devices of this library, which can be peers, too."""
    return [device.name for device in device_manager.devices()]


def import_of(name: str) -> None:
    """Raise ImportError if a peer's package is not installed."""
    if name in RUNTIMES:
        import_module(RUNTIMES[name].module)
