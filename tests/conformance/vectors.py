"""The conformance vectors that lie beside the repository: what is in them, and what can run here.

They are read from their JSON index, without the code that comes with them, so that what is counted
here is a second opinion. `shared/conformance/README.md` describes the format.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.operations import registry

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "conformance"
WHY_SKIPPED = "the conformance vectors, ../shared/conformance, are not here"


class Example(NamedTuple):
    """An example, the model it runs, and the bytes that both refer to."""

    name: str
    entry: dict[str, Any]
    model: dict[str, Any]
    data: Any

    @property
    def graphs(self) -> list[dict[str, Any]]:
        """The main graph, then those it refers to."""
        return [self.model["main"], *self.model["referenced"]]

    @property
    def operations(self) -> set[int]:
        """Codes of all its operations."""
        return {operation[0] for graph in self.graphs for operation in graph["operations"]}

    def bytes_at(self, location: list[int]) -> bytes:
        """The bytes at an [offset, length] of the file."""
        offset, length = location
        return self.data[offset : offset + length].tobytes()


def present_operations() -> dict[int, str]:
    """Code -> name of the operations that the package declares."""
    return {int(operation.type): operation.type.name for operation in registry()}


@cache
def examples() -> list[Example]:
    """All examples whose graphs use present operations only."""
    present = set(present_operations())
    return [example for example in _all_examples() if example.operations <= present]


def _all_examples() -> Iterator[Example]:
    for path in sorted((FOLDER / "vectors").glob("**/*.npz")):
        with np.load(path) as archive:
            index, data = json.loads(archive["index"].tobytes()), archive["data"]
        for entry in index["examples"]:
            name = f"{index['group']}/{index['spec']}/{entry['name']}"
            yield Example(name, entry, index["models"][entry["model"]], data)
