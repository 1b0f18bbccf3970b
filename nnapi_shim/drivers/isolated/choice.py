"""Which devices run in processes of their own: NNAPI_SHIM_ISOLATE, and manifests."""

from collections.abc import Sequence
from functools import partial

from nnapi_shim.drivers.adoption import ENGINE, Found
from nnapi_shim.drivers.engines import PACKAGES
from nnapi_shim.drivers.isolated.device import loaded
from nnapi_shim.settings import ISOLATE

ALL = "all"


def in_processes(devices: Sequence[Found], names: Sequence[str]) -> list[Found]:
    """The devices, those in processes of their own that are named or whose manifest asks for it.

    names: of engines, of devices, or "all". One that is neither is reported on stderr.
    """
    known = [entry.name for entry in devices]
    for name in names:
        if name not in (ALL, *PACKAGES, *known):
            ISOLATE.refuse(
                name,
                f"engines are {', '.join(PACKAGES)}; devices of manifests, packages and engines "
                f"are {', '.join(known) or 'none'}; {ALL} is all of them",
            )
    return [
        _in_process(entry) if entry.is_isolated or ALL in names or entry.name in names else entry
        for entry in devices
    ]


def _in_process(entry: Found) -> Found:
    """A device in a process of its own."""
    if entry.is_isolated and entry.source[0] == ENGINE:
        return entry  # the whole engine is isolated
    load = partial(loaded, entry.name, entry.source)
    return entry._replace(load=load, is_isolated=True)
