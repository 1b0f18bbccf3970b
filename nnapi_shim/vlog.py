"""Verbose logging by topic on stderr (DEBUG_NN_VLOG)."""

from nnapi_shim import log
from nnapi_shim.settings import VLOG

TOPICS = frozenset(
    ("model", "compilation", "execution", "memory", "device", "manager", "driver", "cpuexe")
)
"""The topics of Android's debug.nn.vlog, and `device`: messages of devices about a model."""

_EVERYTHING = frozenset(("all", "1"))


def enabled(topic: str) -> bool:
    """Whether a topic is enabled; check this before building an expensive message."""
    chosen = VLOG.get()
    return bool(chosen) and _chooses(chosen, topic)


def _chooses(chosen: str, topic: str) -> bool:
    words = chosen.replace(",", " ").replace(":", " ").split()
    for word in words:
        if word not in TOPICS and word not in _EVERYTHING:
            VLOG.refuse(word, f"allowed are all, {', '.join(sorted(TOPICS))}")
    return topic in words or not _EVERYTHING.isdisjoint(words)


def write(topic: str, message: str) -> None:
    """Write a line if the topic is enabled."""
    if enabled(topic):
        log.put(topic, message)
