"""States of the machine."""

from collections.abc import Callable
from typing import NamedTuple

from tests.memory_order.views import EMPTY


class Message(NamedTuple):
    """A write of an atomic. is_joined: nothing comes between it and the write in front of it."""

    value: int
    view: int
    is_joined: bool = False


class Thread(NamedTuple):
    """Where a thread is, and its views: of what it knows, of what an acquire fence adds, of what
    its last release fence knew.
    """

    control: int
    now: int = EMPTY
    acquired: int = EMPTY
    released: int = EMPTY


class Plain(NamedTuple):
    """A plain variable: its value, the number of writes, and each thread's number of reads."""

    value: int
    writes: int
    reads: tuple[int, ...]


class Futex(NamedTuple):
    """The kernel's record of an atomic: what those knew who called it, and who sleeps."""

    view: int
    sleepers: tuple[int, ...]


class State(NamedTuple):
    """All of the machine. serial: the view of sequentially consistent operations."""

    threads: tuple[Thread, ...]
    atomics: tuple[tuple[Message, ...], ...]
    plains: tuple[Plain, ...]
    futexes: tuple[Futex, ...]
    serial: int

    def with_thread(self, number: int, thread: Thread) -> "State":
        """With another state of a thread."""
        threads = (*self.threads[:number], thread, *self.threads[number + 1 :])
        return State(threads, *self[1:])

    def with_message(self, place: int, index: int, message: Message) -> "State":
        """With one more write of an atomic."""
        old = self.atomics[place]
        messages = (*old[:index], message, *old[index:])
        return self._replace(atomics=(*self.atomics[:place], messages, *self.atomics[place + 1 :]))

    def with_plain(self, place: int, plain: Plain) -> "State":
        """With another state of a plain variable."""
        return self._replace(plains=(*self.plains[:place], plain, *self.plains[place + 1 :]))

    def with_futex(self, place: int, futex: Futex) -> "State":
        """With another state of a futex."""
        return self._replace(futexes=(*self.futexes[:place], futex, *self.futexes[place + 1 :]))

    def shifted(self, moved: Callable[[int], int]) -> "State":
        """With other views."""
        return State(
            tuple(Thread(each[0], *map(moved, each[1:])) for each in self.threads),
            tuple(
                tuple(Message(each.value, moved(each.view), each.is_joined) for each in messages)
                for messages in self.atomics
            ),
            self.plains,
            tuple(Futex(moved(each.view), each.sleepers) for each in self.futexes),
            moved(self.serial),
        )
