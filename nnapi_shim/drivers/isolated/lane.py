"""Lanes: each call under way has a socket and two pipes of its own, and a thread at the other end.

A byte through a pipe takes 0.7 of the time of a packet through a socket, there and back. So a bound
request is computed again by 17 bytes through one pipe, and SAME through the other. All other calls
and answers are messages on the socket; CALL in the pipe tells the process of one.
"""

import os
import socket
from collections.abc import Sequence
from select import POLLIN, poll
from struct import pack

from nnapi_shim.drivers.isolated import messages
from nnapi_shim.hints import Any
from nnapi_shim.pages import above_standard

_MOST_MS = (1 << 31) - 1
"""The longest wait of poll, 24 days."""


class Lane:
    """The program's end, for one call at a time. Raises OSError."""

    def __init__(self) -> None:
        self._files: list[int] = []
        self.socket, self._theirs = messages.pair()
        try:
            # The process's end of the first pipe stays open here: a write without it is a SIGPIPE.
            self._asked, self._ask = self._pipe()
            self._answer, self._answered = self._pipe()
        except BaseException:
            self.close()
            raise
        self._poll: Any = poll()
        self._poll.register(self._answer, POLLIN)
        self._poll.register(self.socket, POLLIN)

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._files += ends
        for at, end in enumerate(ends):
            self._files[at - 2] = above_standard(end)
        return self._files[-2], self._files[-1]

    def give(self, control: socket.socket) -> None:
        """Give the process its end."""
        theirs = [self._theirs.fileno(), self._asked, self._answered]
        messages.send_packet(control, messages.LANE, theirs, 0)
        self._theirs.close()
        self._files.remove(self._answered)
        os.close(self._answered)

    def ask_again(self, content: bytes) -> None:
        """Ask to compute a bound request once more."""
        os.write(self._ask, content)

    def ask(self, content: bytes, descriptors: Sequence[int]) -> None:
        """Ask anything else."""
        os.write(self._ask, messages.CALL)
        messages.send(self.socket, content, descriptors)

    def answer(self, wait_ns: int) -> bytes:
        """Wait for the answer. wait_ns: how long, 0 for any time. Raises BlockingIOError after that
        time, ConnectionError if the process is gone, and NonsenseError.
        """
        ready = self._poll.poll(min(-(-wait_ns // 10**6), _MOST_MS) or None)
        if not ready:
            raise BlockingIOError
        if ready[0][0] == self._answer:
            answer = os.read(self._answer, 1)
            if answer == messages.SAME:
                return answer
            raise messages.NonsenseError if answer else ConnectionError
        seconds, rest = divmod(wait_ns, 10**9)
        time = pack("@ll", seconds, -(-rest // 1000))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, time)
        content, others = messages.receive(self.socket)
        messages.close_all(others)
        if not content:
            raise ConnectionError
        return content

    def close(self) -> None:
        """Close it; what comes later is nobody's answer."""
        self.socket.close()
        self._theirs.close()
        while self._files:
            os.close(self._files.pop())


class End:
    """The process's end."""

    def __init__(self, own: int, asked: int, answered: int) -> None:
        self.socket = socket.socket(fileno=own)
        self.asked, self._answered = asked, answered

    def asked_again(self) -> bytes:
        """What `ask_again` sends, CALL if a message is on the socket, and nothing from a program
        that has closed the lane.
        """
        return os.read(self.asked, messages.AGAIN.size)

    def tell(self, answer: bytes) -> None:
        """Answer."""
        if answer is messages.SAME:
            os.write(self._answered, answer)
        else:
            messages.send(self.socket, answer)

    def close(self) -> None:
        """Close it."""
        self.socket.close()
        messages.close_all([self.asked, self._answered])
