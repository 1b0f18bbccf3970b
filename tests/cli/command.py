"""Runs `nnapi-shim` in this process, and checks what holds for every command."""

import json
from typing import Any, NamedTuple

import pytest

from nnapi_shim.cli import main


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed; no numbers that JSON does not have."""

        def refuse(text: str) -> None:
            raise AssertionError(f"{text} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


class Command:
    """`command("explain", path)` runs `nnapi-shim explain path`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Outcome:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        outcome = Outcome(code, *self._capsys.readouterr())
        assert "\x1b" not in outcome.out, "an escape code, and stdout is no terminal"
        return outcome

    def succeeds(self, *arguments: object) -> Outcome:
        """The outcome of a command that has nothing to say but its results."""
        outcome = self(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome

    def refuses(self, *arguments: object) -> str:
        """The line of a command that fails as it should: one line, exit code 2, no output."""
        outcome = self(*arguments)
        assert (outcome.code, outcome.out) == (2, ""), outcome
        lines = outcome.err.splitlines()
        assert len(lines) == 1, outcome.err
        assert lines[0].startswith("nnapi-shim: ")
        return lines[0].removeprefix("nnapi-shim: ")
