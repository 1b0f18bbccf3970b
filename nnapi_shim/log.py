"""Messages on stderr. The library never writes to stdout.

NNAPI_SHIM_LOG sets the level, and `json` for lines of JSON, such as `debug,json`.
"""

import os

from nnapi_shim.hints import Any, Callable, Iterator
from nnapi_shim.settings import LOG, tell_with

LEVELS = ("silent", "error", "warning", "debug")
JSON = "json"


_INVISIBLE = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x61C,  # bidirectional controls and line separators
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
_ESCAPES = {
    code: repr(chr(code))[1:-1] if code < 0x100 else f"\\u{code:04x}" for code in _INVISIBLE
}
"""Escapes for text of programs and drivers: it must not break a line or control a terminal."""


def _to_stderr(line: bytes) -> None:
    try:
        os.write(2, line)
    except OSError:
        pass  # a program may have closed its stderr


_write: Callable[[bytes], None] = _to_stderr


def write_with(function: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Set the function that writes lines, and return the former one; it must not raise."""
    global _write
    former, _write = _write, function
    return former


def one_line(text: str) -> str:
    """Text with line breaks and control characters escaped."""
    return text.translate(_ESCAPES)


def _words() -> list[str]:
    """The level first."""
    level, as_json = LOG.default, []
    for word in LOG.get().replace(",", " ").split():
        if word in LEVELS:
            level = word
        elif word == JSON:
            as_json = [JSON]
        else:
            LOG.refuse(word, f"allowed are {', '.join(LEVELS)}, and {JSON} with one of them")
    return [level, *as_json]


def enabled(level: str) -> bool:
    """Whether messages of this level are shown."""
    return LEVELS.index(level) <= LEVELS.index(_words()[0])


def write(level: str, message: str, details: dict[str, Any] | None = None) -> None:
    """One line on stderr, in one write, so that lines of several threads do not mix.

    details: the fields of a JSON line, instead of the message.
    """
    if enabled(level):
        put(level, message, details)


def put(kind: str, message: str, details: dict[str, Any] | None = None) -> None:
    """One line on stderr at any level, for output that another setting enables."""
    dumps = _dumps() if JSON in _words() else None
    if dumps is None:
        line = f"nnapi_shim {kind}: {one_line(message)}"
    else:
        line = dumps({"level": kind, **(details or {"message": message})})
    _write(f"{line}\n".encode(errors="replace"))


def _dumps() -> Callable[[Any], str] | None:
    """json.dumps; None if the module cannot be imported, then text is written."""
    try:
        from json import dumps
    except (ImportError, OSError, MemoryError):
        return None
    return dumps


def error(message: str, details: dict[str, Any] | None = None) -> None:
    """A refusal, shown by default."""
    write("error", message, details)


def warning(message: str, details: dict[str, Any] | None = None) -> None:
    """An unwise or unexpected use that is not refused; shown by default. Not for correct programs,
    and not repeated for each execution.
    """
    write("warning", message, details)


tell_with(error, warning)


_noted: dict[object, object] = {}
"""Subjects of the warnings that are written once."""


def warning_once(about: object, message: str) -> None:
    """A warning, once per subject and process."""
    if _is_new(about):
        warning(message)


def repeat_once(line: str) -> None:
    """A line that the process of a device has to say; several may have the same, and it is written
    once.
    """
    if _is_new(line):
        _write(f"{one_line(line)}\n".encode(errors="replace"))


def _is_new(about: object) -> bool:
    mine = object()
    return _noted.setdefault(about, mine) is mine  # one thread, once


def trace(error: BaseException, level: str = "debug") -> None:
    """Log the traceback of an exception whose message another line has.

    Does not use the module traceback, whose import and output read files.
    """
    if enabled(level):
        write(level, f"Traceback, innermost first: {' < '.join(_origins(error))}")


def _origins(error: BaseException) -> Iterator[str]:
    """An exception and its frames, the innermost first; then its cause."""
    visited: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in visited:
        visited.add(id(cause))
        yield f"{type(cause).__name__}: {cause}"
        frames, trace = [], cause.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            frames.append(f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
            trace = trace.tb_next
        yield from reversed(frames[:_OUTERMOST] + frames[_OUTERMOST:][-_INNERMOST:])
        cause = cause.__cause__ or cause.__context__


_OUTERMOST, _INNERMOST = 5, 25
"""Limits on the logged frames; a recursion has thousands."""
