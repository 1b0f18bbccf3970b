"""A part of what `make fuzz` runs; each run is a process of its own, with a seed of its own."""

import os
import re
import subprocess
import sys

import pytest

from tests.fuzz.comparison import DEVICES, Answer, Trace, first_difference

CALLS = 12_000
COMPARED_CALLS = 5_000


@pytest.mark.parametrize("threads", [1, 4])
def test_random_calls(threads):
    """No crash, no hang, nothing left behind; a message for every refusal."""
    seed = int.from_bytes(os.urandom(3), "little")
    command = [sys.executable, "-m", "tests.fuzz", "--calls", CALLS, "--threads", threads]
    result = subprocess.run(
        [str(word) for word in (*command, "--seed", seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    calls, succeeded = re.match(r"(\d+) calls .* (\d+)% succeeded", result.stdout).groups()
    assert int(calls) >= CALLS
    assert 30 < int(succeeded) < 90, result.stdout


def fuzz_compared(seed, calls):
    """Exit status and output of a comparison."""
    command = [sys.executable, "-m", "tests.fuzz", "--compare", "--calls", calls, "--seed", seed]
    result = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout


def test_devices_answer_alike():
    """nnapi-cpu, nnapi-reference and both together give the same result codes, call by call."""
    status, messages = fuzz_compared(int.from_bytes(os.urandom(3), "little"), COMPARED_CALLS)
    assert status == 0, messages
    (calls,) = re.match(r"(\d+) calls have the same result codes", messages).groups()
    assert int(calls) > COMPARED_CALLS / 2


def test_a_difference_is_found(tmp_path):
    """A call that one device alone refuses, and one that only it gets to."""
    good = Answer("step 1:", "Model_finish", "0x1", "NO_ERROR", "")
    bad = good._replace(code="BAD_DATA", message="Model_finish: BAD_DATA: it is wrong")
    for last in ([bad], [], [good._replace(function="Model_create")]):
        paths = {name: tmp_path / name for name in DEVICES}
        for name, path in paths.items():
            trace = Trace(str(path))
            for answer in (good, good, *(last if name == "nnapi-cpu" else [good])):
                trace.note(answer)
        actual = first_difference(paths)
        assert actual.number == 2
        assert actual.answers == dict.fromkeys(DEVICES, good) | {"nnapi-cpu": (last or [None])[0]}
        assert "call 2" in str(actual)
    assert first_difference(dict.fromkeys(DEVICES, paths["both"])) is None
