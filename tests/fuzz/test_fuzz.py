"""A part of what `make fuzz` runs; each run is a process of its own, with a seed of its own."""

import os
import re
import subprocess
import sys

import pytest

CALLS = 25_000


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
