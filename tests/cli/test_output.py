"""Tables on a terminal and elsewhere."""

import io
import re
import sys

import pytest

from nnapi_shim.cli.output import progress, shortened, spans, with_json_values, write_table
from nnapi_shim.tools.report import as_json, untold

ROWS = [("CONV_2D", 1.5, "a reason that is longer than others, " * 5), ("ADD", None, "[bold]x")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        write_table(("operation", ">time", "why"), ROWS)
    return stream.getvalue()


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, io.StringIO()).splitlines()
    assert len(lines) == 3
    assert lines[0].split() == ["operation", "time", "why"]
    assert ROWS[0][2].strip() in lines[1]
    assert lines[2].endswith("[bold]x")


@pytest.mark.parametrize("width", [30, 80])
def test_a_terminal_gets_its_width(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    text = printed(monkeypatch, Terminal())
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert all(len(line) <= width for line in plain)
    assert "longer" in "".join(plain)
    assert plain[0]
    assert plain[-1]


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[3" not in printed(monkeypatch, Terminal())


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress() as tell:
        assert tell is untold
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as tell:
        tell(1, 3, "a step")
    assert "a step" in stream.getvalue()


def test_spans() -> None:
    assert spans([3, 1, 2, 7]) == "1-3, 7"


def test_the_value_of_json() -> None:
    """A word that ends in .json is the file, any other is not."""
    assert with_json_values(["run", "--json", "m.py"]) == ["run", "--json=-", "m.py"]
    assert with_json_values(["info", "--json", "a.json", "-h"]) == ["info", "--json=a.json", "-h"]
    assert with_json_values(["--json=a.json", "b.json"]) == ["--json=a.json", "b.json"]
    program = ["exec", "--", "ls", "--json", "a.json"]
    assert with_json_values(program) == program


def test_numbers_that_json_does_not_have() -> None:
    values = {"a": float("inf"), "b": (float("nan"), -float("inf")), 3: 1.5}
    assert as_json(values) == {"a": "inf", "b": ["nan", "-inf"], "3": 1.5}


def test_long_names_keep_their_ends() -> None:
    assert shortened("Conv2D") == "Conv2D"
    assert shortened("x" * 48) == "x" * 48
    short = shortened("first" + "x" * 200 + "last")
    assert len(short) == 48 and short.startswith("first") and short.endswith("last")
