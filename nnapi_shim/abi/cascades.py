"""Refusals that follow from an earlier one: calls with the NULL that a refused call left behind."""

from _thread import _local

from nnapi_shim.errors import NnapiError
from nnapi_shim.handles import issued

_NULL_RULES = ("handle.null", "argument.null")
_CREATING = (
    ("ANeuralNetworksModel_create", "model"),
    ("ANeuralNetworksCompilation_create", "compilation"),
    ("ANeuralNetworksExecution_create", "execution"),
    ("ANeuralNetworksExecution_startCompute", "event"),
    ("ANeuralNetworksEvent_create", "event"),
    ("ANeuralNetworksBurst_create", "burst"),
    ("ANeuralNetworksMemoryDesc_create", "memory descriptor"),
    ("ANeuralNetworksMemory_create", "memory"),
)
"""How the names of functions begin that create an object, and its kind."""

_thread = _local()
"""failed: kind -> the refused call that began the cascade, and the objects of the kind at the time;
reported: whether its first follower was reported.
"""


def cause(function: str, error: NnapiError) -> tuple[str, bool] | None:
    """The refused call from which an error of this thread follows, and whether this is the first
    error that follows; None for an error of its own. Call it for every refusal.
    """
    failed = _thread.__dict__.setdefault("failed", {})
    root = None
    kind = next((kind for name, kind in _CREATING if function.startswith(name)), None)
    if error.rule in _NULL_RULES:
        root = _root_of(error, failed, kind)
    if kind is not None:
        failed[kind] = (root or function, issued(kind))
    if root is None:
        _thread.reported = False
        return None
    is_first = not getattr(_thread, "reported", False)
    _thread.reported = True
    return root, is_first


def _root_of(
    error: NnapiError, failed: dict[str, tuple[str, int]], created: str | None
) -> str | None:
    """The call that did not create the first of the objects that are NULL.

    created: the kind of object that the refused call creates: NULL is then where it goes.
    """
    names, _, _ = error.said.partition(" is NULL")
    for kind in names.removesuffix(" NULL").split(" and "):
        if kind in failed and kind != created:
            root, count = failed[kind]
            if issued(kind) == count:  # none was created since then
                return root
    return None
