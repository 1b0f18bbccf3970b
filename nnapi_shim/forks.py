"""What a forked child must know: it has one thread, and what the others did does not go on."""

import os
from _thread import LockType, allocate_lock, get_ident
from _weakref import ref
from typing import Any

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]
except ImportError:  # another Python than those that are known
    _module_locks = {}

generation = [0]
"""How many forks lie between this process and the one that started Python."""

_locks: set["ref[LockType]"] = set()


def lock() -> LockType:
    """A lock for short sections, which is open in a child, whoever held it in the parent."""
    made = allocate_lock()
    _locks.add(ref(made, _locks.discard))
    return made


def _in_child() -> None:
    generation[0] += 1
    for held in [reference() for reference in _locks]:
        if held is not None:
            held._at_fork_reinit()  # type: ignore[attr-defined]  # what Python's own locks do


os.register_at_fork(after_in_child=_in_child)


def is_importing() -> bool:
    """Whether another thread is importing a module; a child forked then could never import it.

    Asked by native/boot.c.
    """
    return bool(_module_locks) and any(map(_is_of_another_thread, [*_module_locks.values()]))


def _is_of_another_thread(reference: Any) -> bool:
    held = reference()
    return getattr(held, "owner", None) not in (None, get_ident())
