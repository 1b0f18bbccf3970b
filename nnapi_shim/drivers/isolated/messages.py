"""Messages between a program and the process of a device, over a Unix socket.

A message is a packet, or two if descriptors belong to it: their number, then the content with the
descriptors. Content that is too long for a packet is in a file in memory, the last descriptor.
The program sends pickled calls, which the process trusts, and gets JSON, which it does not trust.
"""

import os
import socket
from array import array
from collections.abc import Sequence
from struct import Struct

from nnapi_shim.hints import NamedTuple
from nnapi_shim.pages import above_standard

COMPUTE = b"C"
"""First byte of a message that computes a bound request again; CALL is of any other."""
CALL = b"P"
SAME = b"S"
"""The answer to COMPUTE if the result is that of the run before, word for word."""
JSON = b"J"

LANE = b"L"
"""What comes with the descriptor of a new lane."""

AGAIN = Struct("<cQq")
"""COMPUTE, the number of the bound request, the deadline in ns of time.monotonic_ns() or 0."""

MOST_DESCRIPTORS = 64
"""Of one message; the kernel allows 253."""

PACKET_BYTES = 1 << 12
"""Of a packet; what is longer is in a file."""
_MOST_BYTES = 1 << 30
"""Of content in a file: no answer is so long."""

_DESCRIPTORS = Struct("<cBQ")
"""FOLLOW, how many descriptors come with the next packet, and the length of the content if it is
in the last of them, else 0.
"""
FOLLOW = b"+"


class Message(NamedTuple):
    """What has arrived. The receiver closes the descriptors. Without content: the other end is
    gone.
    """

    content: bytes
    descriptors: Sequence[int] = ()


class NonsenseError(Exception):
    """What has arrived is no message."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends, whose descriptors are above the standard ones."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return _above(one), _above(other)


def _above(end: socket.socket) -> socket.socket:
    return socket.socket(fileno=above_standard(end.detach()))


def send(
    to: socket.socket, content: bytes, descriptors: Sequence[int] = (), flags: int = 0
) -> None:
    """Send a message, one at a time on a socket; raises OSError. Descriptors stay open here."""
    flags |= socket.MSG_NOSIGNAL
    if not descriptors and len(content) <= PACKET_BYTES:
        to.send(content, flags)
        return
    if len(content) <= PACKET_BYTES:
        _send_with(to, content, descriptors, 0, flags)
        return
    file = memory_file(len(content))
    try:
        _write(file, content)
        _send_with(to, content[:1], [*descriptors, file], len(content), flags)
    finally:
        os.close(file)


def _send_with(
    to: socket.socket, content: bytes, descriptors: Sequence[int], length: int, flags: int
) -> None:
    to.send(_DESCRIPTORS.pack(FOLLOW, len(descriptors), length), flags)
    send_packet(to, content, descriptors, flags)


def receive(of: socket.socket) -> Message:
    """Wait for a message. Raises OSError, BlockingIOError after the time limit of the socket, and
    NonsenseError.
    """
    content = of.recv(PACKET_BYTES)
    if content[:1] != FOLLOW:
        return Message(content)
    if len(content) != _DESCRIPTORS.size:
        raise NonsenseError
    _, count, length = _DESCRIPTORS.unpack(content)
    content, descriptors = receive_packet(of)
    descriptors = [*descriptors]
    try:
        if len(descriptors) != count or length > _MOST_BYTES:
            raise NonsenseError
        if length:
            file = descriptors.pop()
            try:
                content = _read(file, length)
            finally:
                os.close(file)
    except BaseException:
        close_all(descriptors)
        raise
    return Message(content, descriptors)


def send_packet(to: socket.socket, content: bytes, descriptors: Sequence[int], flags: int) -> None:
    """Send what fits one packet; several threads may do so on one socket. Raises OSError."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))
    to.sendmsg([content], [rights] if descriptors else [], flags | socket.MSG_NOSIGNAL)


def receive_packet(of: socket.socket) -> Message:
    """Wait for a packet of send_packet. Raises OSError."""
    room = socket.CMSG_SPACE(4 * (MOST_DESCRIPTORS + 1))
    content, parts, _, _ = of.recvmsg(PACKET_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = array("i")
    for level, kind, data in parts:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) & -4])
    return Message(content, [above_standard(each) for each in descriptors])


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors."""
    for each in descriptors:
        os.close(each)


def memory_file(length: int) -> int:
    """The descriptor of a file in memory, of `length` zero bytes. Raises OSError."""
    file = above_standard(os.memfd_create("of a device"))
    try:
        os.ftruncate(file, length)
    except BaseException:
        os.close(file)
        raise
    return file


def _write(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def _read(file: int, length: int) -> bytes:
    """The content of a file of at least that length; raises NonsenseError for another."""
    parts, at = [], 0
    while at < length:
        part = os.pread(file, length - at, at)
        if not part:
            raise NonsenseError
        parts.append(part)
        at += len(part)
    return b"".join(parts)
