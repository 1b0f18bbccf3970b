"""What DEBUG_NN_VLOG asks for: messages on stderr about what the runtime does, by topic."""

from nnapi_shim import log
from nnapi_shim.settings import VLOG

TOPICS = frozenset(
    ("model", "compilation", "execution", "memory", "device", "manager", "driver", "cpuexe")
)
"""The topics of Android's debug.nn.vlog, and `device`: what devices say of a model."""

_EVERYTHING = frozenset(("all", "1"))


def enabled(topic: str) -> bool:
    """Whether messages on a topic are wanted; to be asked where a message is costly to make."""
    chosen = VLOG.get()
    return bool(chosen) and _chooses(chosen, topic)


def _chooses(chosen: str, topic: str) -> bool:
    words = chosen.replace(",", " ").replace(":", " ").split()
    for word in words:
        if word not in TOPICS and word not in _EVERYTHING:
            VLOG.refuse(word, f"allowed are all, {', '.join(sorted(TOPICS))}")
    return topic in words or not _EVERYTHING.isdisjoint(words)


def write(topic: str, message: str) -> None:
    """One line on a topic, if it is wanted."""
    if enabled(topic):
        log.put(topic, message)
