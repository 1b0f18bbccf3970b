"""A machine with the memory orders of C11.

Each atomic has the list of its writes, in modification order. A thread reads any write that is not
older than what its view knows; a write goes to any place behind that, a read-modify-write directly
behind the write that it read. A write carries a view, which an acquiring read adds to that of its
thread: the view of a releasing thread, that of its last release fence otherwise, and that of the
write which a read-modify-write read. Sequentially consistent operations share a view: each knows
what those before it wrote or read of the same variable, and a fence all that fences before it knew.
Plain variables have no old values: an access that does not know all others is a data race.

These are the rules of C++20, to which those of C are meant to be equal, with two differences. A
load does not see a store that comes after it in another thread which in turn waits for a store
that comes after the load (load buffering). And the order of sequentially consistent operations
agrees with all that happens before, as in C11; on AArch64 it always does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.memory_order.controls import Controls, Ended, Failed, text_of
from tests.memory_order.operations import (
    RELAXED,
    SEQ_CST,
    Choose,
    Fence,
    FutexWait,
    FutexWake,
    Load,
    Order,
    Program,
    Read,
    Store,
    Update,
    Write,
)
from tests.memory_order.states import Futex, Message, Plain, State, Thread
from tests.memory_order.views import EMPTY, Views


@dataclass
class Setting:
    """A program: threads, and the first values of its variables, by name."""

    threads: Mapping[str, Callable[[], Program]]
    atomics: Mapping[str, int]
    plains: Mapping[str, int] = field(default_factory=dict)


class FoundError(Exception):
    """An execution has a finding."""


class Machine:
    """The machine with one program."""

    def __init__(self, program: Setting) -> None:
        self.names = list(program.threads)
        self.controls = Controls()
        self._atomic = {name: index for index, name in enumerate(program.atomics)}
        self._plain = {name: index for index, name in enumerate(program.plains)}
        per_plain = 1 + len(self.names)
        self._views = Views(len(self._atomic) + per_plain * len(self._plain))
        self._first_of = {
            name: len(self._atomic) + per_plain * index for name, index in self._plain.items()
        }
        threads = tuple(Thread(self.controls.begin(each)) for each in program.threads.values())
        self.begin = State(
            threads,
            tuple((Message(value, EMPTY),) for value in program.atomics.values()),
            tuple(Plain(value, 0, (0,) * len(threads)) for value in program.plains.values()),
            tuple(Futex(EMPTY, ()) for _ in program.atomics),
            EMPTY,
        )

    def steps(self, state: State) -> Iterator[tuple[State, int, Any]]:
        """Every state that follows, the thread that takes the step, and what it gets."""
        for number, thread in enumerate(state.threads):
            operation = self.controls.next(thread.control)
            if isinstance(operation, Ended):
                continue
            for after, result in self._does(state, number, operation):
                try:
                    yield self.settled(after, number), number, result
                except FoundError as found:
                    what = self.step_text(state, number, result)
                    raise FoundError(f"{found}, after {what}") from None

    def step_text(self, state: State, number: int, result: Any) -> str:
        """A step, for readers."""
        what = text_of(self.controls.next(state.threads[number].control))
        gives = "" if result is None else f" gives {result}"
        return f"{self.names[number]}: {what}{gives}"

    def settled(self, state: State, number: int) -> State:
        """After the steps of a thread that do not depend on other threads."""
        while True:
            operation = self.controls.next(state.threads[number].control)
            if isinstance(operation, Failed):
                raise FoundError(f"{self.names[number]}: {operation.text}")
            if isinstance(operation, Read | Write):
                state = self._plainly(state, number, operation)
            elif isinstance(operation, Fence) and operation.order is not SEQ_CST:
                state = self._fence(state, number, operation.order)
            else:
                return state

    def _does(self, state: State, number: int, operation: Any) -> Iterator[tuple[State, Any]]:
        """Every state after an operation, and what the operation gives."""
        match operation:
            case Load():
                yield from self._load(state, number, operation)
            case Store():
                yield from self._store(state, number, operation)
            case Update():
                yield from self._update(state, number, operation)
            case Fence(order):
                yield self._fence(state, number, order), None
            case Choose(count):
                for choice in range(count):
                    yield self._moved(state, number, state.threads[number], choice), choice
            case FutexWait():
                yield from self._wait(state, number, operation)
            case FutexWake(place):
                yield self._wake(state, number, self._atomic[place]), None

    def _moved(self, state: State, number: int, thread: Thread, result: Any) -> State:
        """After a thread got a result, with its new views."""
        control = self.controls.after(thread.control, result)
        return state.with_thread(number, Thread(control, *thread[1:]))

    def _oldest(self, state: State, thread: Thread, place: int, order: Order) -> int:
        """The oldest write that a thread may read."""
        known = self._views.known
        oldest = known[thread.now][place]
        return max(oldest, known[state.serial][place]) if order is SEQ_CST else oldest

    def _readable(
        self, state: State, thread: Thread, place: int, order: Order
    ) -> Iterator[tuple[int, Message]]:
        messages = state.atomics[place]
        for index in range(self._oldest(state, thread, place, order), len(messages)):
            yield index, messages[index]

    def _saw(self, thread: Thread, place: int, index: int, view: int, order: Order) -> Thread:
        """A thread that has read a write."""
        views = self._views
        now = views.raise_to(thread.now, place, index)
        acquired = views.join(views.raise_to(thread.acquired, place, index), view)
        if order.acquires:
            now = views.join(now, view)
        return Thread(thread.control, now, views.join(acquired, now), thread.released)

    def _loaded(
        self, state: State, number: int, place: int, index: int, order: Order
    ) -> tuple[State, int]:
        message = state.atomics[place][index]
        if order is SEQ_CST:
            state = state._replace(serial=self._views.raise_to(state.serial, place, index))
        thread = self._saw(state.threads[number], place, index, message.view, order)
        return self._moved(state, number, thread, message.value), message.value

    def _load(self, state: State, number: int, operation: Load) -> Iterator[tuple[State, int]]:
        place, order, accepts = self._atomic[operation.place], operation.order, operation.accepts
        for index, message in self._readable(state, state.threads[number], place, order):
            if accepts is None or accepts(message.value):
                yield self._loaded(state, number, place, index, order)

    def _store(self, state: State, number: int, operation: Store) -> Iterator[tuple[State, None]]:
        place, order = self._atomic[operation.place], operation.order
        messages, thread = state.atomics[place], state.threads[number]
        for index in range(self._oldest(state, thread, place, order) + 1, len(messages) + 1):
            if index == len(messages) or not messages[index].is_joined:
                after = self._written(state, number, place, index, operation.value, order)
                yield self._moved(after, number, after.threads[number], None), None

    def _update(self, state: State, number: int, operation: Update) -> Iterator[tuple[State, int]]:
        place = self._atomic[operation.place]
        messages, thread = state.atomics[place], state.threads[number]
        for index, message in self._readable(state, thread, place, RELAXED):
            value = operation.change(message.value)
            order = operation.otherwise if value is None else operation.order
            if index < self._oldest(state, thread, place, order):
                continue
            if value is None:
                if not operation.waits:
                    yield self._loaded(state, number, place, index, order)
            elif index + 1 == len(messages) or not messages[index + 1].is_joined:
                saw = self._saw(thread, place, index, message.view, order)
                after = state.with_thread(number, saw)
                after = self._written(after, number, place, index + 1, value, order, message.view)
                yield (
                    self._moved(after, number, after.threads[number], message.value),
                    message.value,
                )

    def _written(
        self,
        state: State,
        number: int,
        place: int,
        index: int,
        value: int,
        order: Order,
        continued: int | None = None,
    ) -> State:
        """After a write that gets this index. continued: the view of the write that a
        read-modify-write read.
        """
        views = self._views
        if index < len(state.atomics[place]):
            state = state.shifted(lambda view: views.shift(view, place, index))
        thread = state.threads[number]
        now = views.raise_to(thread.now, place, index)
        view = now if order.releases else views.raise_to(thread.released, place, index)
        if continued is not None:
            view = views.join(view, views.shift(continued, place, index))
        message = Message(value, view, continued is not None)
        if order is SEQ_CST:
            state = state._replace(serial=views.raise_to(state.serial, place, index))
        acquired = views.join(thread.acquired, now)
        thread = Thread(thread.control, now, acquired, thread.released)
        return state.with_thread(number, thread).with_message(place, index, message)

    def _fence(self, state: State, number: int, order: Order) -> State:
        thread, views = state.threads[number], self._views
        now, released = thread.now, thread.released
        if order.acquires:
            now = thread.acquired
        if order is SEQ_CST:
            now = views.join(now, state.serial)
            state = state._replace(serial=now)
        if order.releases:
            released = now
        thread = Thread(thread.control, now, views.join(thread.acquired, now), released)
        return self._moved(state, number, thread, None)

    def _plainly(self, state: State, number: int, operation: Read | Write) -> State:
        """After an access of a plain variable."""
        views, first = self._views, self._first_of[operation.place]
        place, thread = self._plain[operation.place], state.threads[number]
        known, plain, result = views.known[thread.now], state.plains[place], None
        is_known = known[first] == plain.writes
        if isinstance(operation, Write):
            for other, count in enumerate(plain.reads):
                is_known &= other == number or known[first + 1 + other] == count
            plain = Plain(operation.value, plain.writes + 1, plain.reads)
            now = views.raise_to(thread.now, first, plain.writes)
        else:
            result = plain.value
            count = plain.reads[number] + 1
            reads = (*plain.reads[:number], count, *plain.reads[number + 1 :])
            plain = Plain(plain.value, plain.writes, reads)
            now = views.raise_to(thread.now, first + 1 + number, count)
        if not is_known:
            raise FoundError(f"data race: {self.names[number]} at {text_of(operation)}")
        acquired = views.join(thread.acquired, now)
        thread = Thread(thread.control, now, acquired, thread.released)
        return self._moved(state.with_plain(place, plain), number, thread, result)

    def _wait(self, state: State, number: int, operation: FutexWait) -> Iterator[tuple[State, str]]:
        place, views = self._atomic[operation.place], self._views
        futex, thread = state.futexes[place], state.threads[number]
        if number in futex.sleepers:
            return
        now = views.join(thread.now, futex.view)
        acquired = views.join(thread.acquired, now)
        thread = Thread(thread.control, now, acquired, thread.released)
        for index, message in self._readable(state, thread, place, RELAXED):
            saw = self._saw(thread, place, index, message.view, RELAXED)
            if message.value != operation.value:
                yield self._moved(state, number, saw, "changed"), "changed"
            else:
                slept = Futex(views.join(futex.view, saw.now), (*futex.sleepers, number))
                yield state.with_thread(number, saw).with_futex(place, slept), "sleeps"

    def _wake(self, state: State, number: int, place: int) -> State:
        futex, thread = state.futexes[place], state.threads[number]
        view = self._views.join(futex.view, thread.now)
        state = state.with_futex(place, Futex(view, futex.sleepers[1:]))
        state = self._moved(state, number, thread, None)
        for sleeper in futex.sleepers[:1]:
            after = self._moved(state, sleeper, state.threads[sleeper], "woken")
            state = self.settled(after, sleeper)
        return state
