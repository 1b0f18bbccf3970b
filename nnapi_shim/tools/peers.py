"""Other runtimes that run the same model, to be compared with.

Each with its arguments bound beforehand, as an execution that is computed again.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.tools.info import installed_version
from nnapi_shim.tools.model_source import Source
from nnapi_shim.tools.runtimes import RUNTIMES, Runtime, ready


class Peer(NamedTuple):
    """A model in another runtime. outputs: those of the last run."""

    name: str
    version: str
    run: Callable[[], object]
    outputs: Callable[[], list[Array]]


Inputs = tuple[Sequence[Array], Sequence[Any]]
"""Those that a run takes, and these with the states that are carried from run to run: a runtime
takes the ones or the others.
"""


def peer(name: str, source: Source, model: Model, inputs: Inputs, threads: int = 1) -> Peer:
    """A model made ready in a runtime, with these inputs.

    source: where the model comes from; a file that the runtime reads is given to it as it is, of
    any other the model is exported. threads: how many it may use. Raises BAD_DATA for an unknown
    runtime and for a model that cannot be exported, OP_FAILED for one that the runtime does not
    run, and ImportError where the runtime is not installed.
    """
    if name not in RUNTIMES:
        raise bad_data(
            f"there is no peer {name!r}; there are {', '.join(RUNTIMES)}", "tool.bench.peer"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = _file(source, model, RUNTIMES[name], folder)
        try:
            run, outputs = ready(name, path, lambda count: _matching(name, count, inputs), threads)
            run()
        except (NnapiError, ImportError, MemoryError):
            raise
        except Exception as error:  # whatever another runtime may raise
            reason = " ".join(str(error).split())[:300]
            raise op_failed(
                f"{name} does not run this model: {reason}", "tool.bench.peer-refuses"
            ) from None
    return Peer(name, installed_version(RUNTIMES[name].package) or "", run, outputs)


def _file(source: Source, model: Model, runtime: Runtime, folder: str) -> str:
    """The path of the model as a file that a runtime reads."""
    if not isinstance(source, Model):
        path = Path(os.fspath(source))
        if path.suffix in runtime.reads and path.is_file():
            return str(path)
    from nnapi_shim.formats.save import save

    path = Path(folder, f"model{runtime.suffix}")
    save(model, path)
    return str(path)


def _matching(name: str, takes: int, inputs: Inputs) -> Sequence[Array]:
    """The inputs that a runtime takes; raises BAD_DATA where it takes neither."""
    for arrays in inputs:
        if len(arrays) == takes:
            return arrays
    counts = " or ".join(dict.fromkeys(str(len(arrays)) for arrays in inputs))
    raise bad_data(
        f"{name} takes {takes} inputs for this model; here it has {counts}",
        "tool.bench.peer-inputs",
    )


def import_of(name: str) -> None:
    """Raise ImportError where a peer's package is not installed, before any work is done."""
    if name in RUNTIMES:
        import_module(RUNTIMES[name].module)
