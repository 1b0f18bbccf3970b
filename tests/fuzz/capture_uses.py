"""Everything that reads a capture, and what has to be true of it whatever the capture says."""

import ast
import re
import subprocess
from pathlib import Path

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.capture import load_capture, models_in
from nnapi_shim.recording.reading import Capture, read
from nnapi_shim.recording.vocabulary import C_TYPES, PARAMETERS
from nnapi_shim.runtime.event import Event, ExecutionEvent
from nnapi_shim.tools.replay import replay, write_reproducer
from tests.fuzz.capture_changes import MARK

ROOT = Path(__file__).resolve().parents[2]
LONGEST_LINE = 4000
"""Characters of a message, or of what a difference tells."""

_PLAIN_COMMENT = re.compile(
    r"/\* call \d+, [A-Za-z_]\w*, is left out: [a-z0-9 ]+ \*/"
    r"|^ \* The Neural Networks calls of [\w.+ -]+, from a capture\.$",
    re.M | re.ASCII,
)
"""In which the name of a program or of a function may be."""
_PLAIN_REMARK = re.compile(r"# call \d+, [A-Za-z_]\w*, is left out: [a-z0-9 ]+", re.ASCII)
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*\*/")
_INCLUDE = re.compile(r"^#include <[a-zA-Z_/.]+>$", re.M)
_WORD = re.compile(r"(?<![0-9a-zA-Z_.])[a-zA-Z_]\w*")
_HANDLE = re.compile(rf"(?:{'|'.join(kind.replace(' ', '_') for kind in C_TYPES)})_\d+(?:_bytes)?")
_C_WORD = re.compile(r"call_\d+|buffer_\d+|the_\w+")
_OWN_PYTHON = {"handle", "handles", "made", "call", "fill", "equal", "compare", "keep", "constant"}
_OWN_PYTHON |= {"operand_type", "scales", "buffer", "memory_file", "fence", "variable", "data"}
_OWN_PYTHON |= {"float", "ffi", "NULL", "sizes"}


class Wrong(AssertionError):  # noqa: N818 - what a use of a capture did, in words
    """Something that no capture may lead to."""


def _require_line(text: str, what: str) -> None:
    if not text.isprintable() or len(text) > LONGEST_LINE:
        raise Wrong(f"{what} is no readable line: {text[:200]!r}, {len(text)} characters")


def use(path: Path, compiles: bool) -> str:
    """Use a capture in every way; what became of it: `refused` or `taken`.

    compiles: whether the C source is compiled, too. Raises Wrong, or whatever a use raises.
    """
    try:
        capture = read(path)
    except NnapiError as error:
        _refused(error, path)
        return "refused"
    _replay(capture, path)
    _models(capture, path)
    for suffix in (".c", ".py"):
        _write(capture, path, suffix, compiles)
    return "taken"


def _refused(error: NnapiError, path: Path) -> None:
    _require_line(error.message, "a refusal")
    if str(path) not in error.message:
        raise Wrong(f"a refusal does not name the capture: {error.message}")


def _replay(capture: Capture, path: Path) -> None:
    from nnapi_shim.abi import tables

    try:
        report = replay(capture)
    except NnapiError as error:
        _require_line(error.message, "a refusal")
        report = None
    running = [event for event in tables.events.values() if _is_running(event)]
    for table in (tables.events, tables.executions, tables.bursts, tables.compilations):
        table.clear()
    for table in (tables.memories, tables.memory_descs, tables.models):
        table.clear()
    if running:
        for event in running:
            event.wait_for_end()
        raise Wrong("a computation goes on when the replay has ended")
    if report is None:
        return
    for text in report.skipped:
        _require_line(text, "what was skipped")
    for item in report.differences:
        for text in (item.function, item.what, item.expected, item.found):
            _require_line(text, "a difference")


def _is_running(event: Event) -> bool:
    return isinstance(event, ExecutionEvent) and event._pending.locked()


def _models(capture: Capture, path: Path) -> None:
    for name in models_in(capture):
        try:
            load_capture(capture, name)
        except NnapiError as error:
            _require_line(error.message, "a refusal")


def _write(capture: Capture, path: Path, suffix: str, compiles: bool) -> None:
    target = path.with_name(f"again{suffix}")
    try:
        write_reproducer(capture, target, overwrite=True)
    except NnapiError as error:
        _require_line(error.message, "a refusal")
        return
    source = target.read_text()
    if suffix == ".c":
        require_known_c(source)
        if compiles:
            require_compiles(target)
    else:
        require_known_python(source)


def require_known_c(source: str) -> None:
    """Outside of literals there are words of the language and of the API alone, and handles."""
    outside = _LITERAL.sub('""', _PLAIN_COMMENT.sub("", source))
    if MARK in outside:
        at = outside.index(MARK)
        raise Wrong(f"C source has a text of the capture: {outside[max(0, at - 60) : at]}")
    bare = _COMMENT.sub(" ", _INCLUDE.sub("", outside))
    unknown = {
        word
        for word in _WORD.findall(bare)
        if word not in _c_words() and not _HANDLE.fullmatch(word) and not _C_WORD.fullmatch(word)
    }
    if unknown:
        raise Wrong(f"C source has unknown words: {sorted(unknown)[:5]}")


def _c_words() -> set[str]:
    if not _known_c:
        from nnapi_shim.formats.capture import c_prelude, c_source

        text = c_prelude.PRELUDE + c_source._MAIN
        _known_c.update(_WORD.findall(_LITERAL.sub("", text)))
        _known_c.update(PARAMETERS, C_TYPES.values())
        _known_c.update(
            ["uint32_t", "uint64_t", "int32_t", "int64_t", "_Bool", "float", "uintptr_t", "uint8_t"]
        )
        _known_c.update(["ANeuralNetworksOperandType", "PROT_READ", "PROT_WRITE", "const", "NULL"])
        _known_c.update(
            ["ANeuralNetworksSymmPerChannelQuantParams", "INT64_MIN", "NAN", "INFINITY"]
        )
        _known_c.update(
            [
                "DATA_FILE",
                "free",
                "data",
                "define",
                "include",
                "fd",
                "made_calls",
                "static",
                "void",
                "make_calls",
            ]
        )
    return _known_c


_known_c: set[str] = set()


def require_known_python(source: str) -> None:
    """The source is Python whose calls are those of the prelude, and of nothing else."""
    from nnapi_shim.formats.capture.python_prelude import PRELUDE

    title, prelude = PRELUDE.split("@TITLE@")
    at = source.index(prelude)
    if not re.fullmatch(r"[A-Za-z0-9 ._+,-]*", source[len(title) : at]):
        raise Wrong(f"Python source has a title that is none: {source[:at]}")
    own = source[at + len(prelude) :]  # what is in front is the same everywhere
    for node in ast.walk(ast.parse(own)):
        if not isinstance(node, ast.Name):
            continue
        known = {"print", "sys", "calls", "compared", "differences", "DATA", "bytes", "open", "os"}
        known |= {"__file__", "__name__", "main", "int"}  # int: what main returns
        if node.id not in _OWN_PYTHON | known:
            raise Wrong(f"Python source has the name {node.id}")
    for line in own.splitlines():
        if line.startswith("#") and MARK in line and not _PLAIN_REMARK.fullmatch(line):
            raise Wrong(f"Python source has a text of the capture in a comment: {line[:80]}")


def require_compiles(source: Path) -> None:
    """As a compiler sees it that takes warnings for errors."""
    command = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{ROOT / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"C source does not compile: {done.stderr[:600]}")
