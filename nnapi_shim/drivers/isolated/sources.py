"""Where the process of a device finds it: an engine, a manifest, or an entry point of a package."""

from collections.abc import Sequence

from nnapi_shim.drivers import engine_devices, entry_point, manifest
from nnapi_shim.drivers.adoption import ENGINE, ENTRY_POINT, MANIFEST, Found
from nnapi_shim.errors import op_failed


def found(source: Sequence[str]) -> list[Found]:
    """The devices of a source, which are not loaded yet. Raises NnapiError if there are none."""
    kind, *where = source
    if kind == ENGINE:
        return engine_devices.of_engine(*where)
    if kind == MANIFEST:
        return [manifest.described(*where)]
    if kind == ENTRY_POINT:
        return [entry_point.described(*where)]
    raise op_failed(f"{kind} is no kind of source", "isolated.source")
