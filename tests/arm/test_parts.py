"""The parts of `make test-arm`: each is run, whatever becomes of the others, and has a line."""

import sys
from pathlib import Path

import pytest

from tests.arm.parts import Outcome, Setting, attempted, shown, summary, together

SETTING = Setting(Path("/root"), "neon", is_quick=True, checks="static", jobs=1)


def leaves(setting):
    sys.exit("test-arm: gcc failed with 1 (see above)")


def raises(setting):
    raise ValueError("no file\nat all")


@pytest.mark.parametrize(
    ("part", "passed", "text"),
    [
        (lambda setting: Outcome(True, setting.tier), True, "neon"),
        (leaves, False, "test-arm: gcc failed with 1 (see above)"),
        (raises, False, "ValueError: no file"),
    ],
)
def test_a_part_that_fails_is_a_line(part, passed, text, capfd):
    result = attempted("vectors", part, SETTING)
    assert (result.part, result.tier, *result.outcome) == ("vectors", "neon", passed, text)
    lines = summary([result], 3.2).splitlines()
    assert text in lines[-2]
    assert ("FAILED" in lines[-2]) is not passed
    assert lines[-1] == f"{passed:d} passed, {not passed:d} failed, in 3 s"
    assert lines[-2] in capfd.readouterr().out


def test_processors_of_what_a_part_starts_count():
    command = [sys.executable, "-c", "sum(range(1000))"]
    started = attempted("vectors", lambda setting: shown(command), SETTING)
    assert started.outcome.passed
    assert started.processor > 0
    nothing = attempted("vectors", lambda setting: Outcome(True, ""), SETTING)
    assert nothing.processor == 0


def test_what_a_command_prints_is_shown(capfd):
    program = "print('one\\ntwo\\n'); raise SystemExit({})"
    assert shown([sys.executable, "-c", program.format(0)]) == (True, "two")
    assert shown([sys.executable, "-c", program.format(3)]) == (False, "exit status 3: two")
    assert capfd.readouterr().out == 2 * "one\ntwo\n\n"
    assert not shown([sys.executable, "-c", "raise SystemExit(1)"]).passed


def test_all_of_several_have_to_pass():
    outcomes = [Outcome(True, "a"), Outcome(False, "b")]
    assert together(outcomes) == (False, "a; b")
    assert together(outcomes[:1]) == (True, "a")
