"""Reads the members of a capture file, complete or truncated."""

import zipfile
from binascii import crc32
from collections.abc import Iterator
from struct import unpack_from

from nnapi_shim.errors import bad_data
from nnapi_shim.recording import container

_LOCAL_BYTES = 30
_DESCRIPTOR_BYTES = 16


def members_of(path: str, data: bytes) -> dict[str, memoryview | bytes]:
    """Name -> contents. path: for messages. Raises BAD_DATA for another kind of file."""
    if not data:
        raise bad_data(f"{path} is empty", "file.empty")
    if not data.startswith(container.LOCAL):
        raise bad_data(
            f"{path} is no capture: it does not begin as a zip archive does", "capture.not-zip"
        )
    members = _by_directory(path, data)
    return dict(_forward(data)) if members is None else members


def _by_directory(path: str, data: bytes) -> dict[str, memoryview | bytes] | None:
    """The members of a complete archive; None if the directory is missing."""
    from io import BytesIO

    members: dict[str, memoryview | bytes] = {}
    total = 0
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for item in archive.infolist():
                if item.compress_type != zipfile.ZIP_STORED:
                    message = f"{path}: {item.filename} is compressed; captures are stored"
                    raise bad_data(message, "capture.compressed")
                total += item.file_size
                if total > len(data):  # overlapping members
                    raise bad_data(
                        f"the members of {path} are larger than the file",
                        "capture.too-large",
                    )
                members[item.filename] = archive.read(item)
    except (
        *(zipfile.BadZipFile, EOFError, OSError, OverflowError, ValueError),
        *(NotImplementedError, RuntimeError),
    ):
        return None
    return members


def _forward(data: bytes) -> Iterator[tuple[str, memoryview]]:
    """The members of a truncated archive, found by their local headers."""
    at, view = 0, memoryview(data)
    while data.startswith(container.LOCAL, at) and at + _LOCAL_BYTES <= len(data):
        (flags,) = unpack_from("<H", data, at + 6)
        length, _, name_length, extra = unpack_from("<2L2H", data, at + 18)
        name = data[at + _LOCAL_BYTES : at + _LOCAL_BYTES + name_length].decode(errors="replace")
        start = at + _LOCAL_BYTES + name_length + extra
        if flags & container.STREAMED:
            end = _end_of_stream(data, start)
            at = end + _DESCRIPTOR_BYTES
        else:
            at = end = start + length
        if end > len(data):
            return  # a truncated member; lines of calls end with the last complete line
        yield name, view[start:end]


def _end_of_stream(data: bytes, start: int) -> int:
    """The end of a member with a data descriptor; the end of the file if there is none."""
    at, done, so_far = start, start, 0
    while True:
        at = data.find(container.DESCRIPTOR, at)
        if at < 0 or at + _DESCRIPTOR_BYTES > len(data):
            return len(data)
        so_far, done = crc32(memoryview(data)[done:at], so_far), at
        total, length, _ = unpack_from("<3L", data, at + 4)
        if length == at - start and total == so_far:
            return at
        at += 1
