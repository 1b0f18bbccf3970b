"""A short run of what `python -m tests.fuzz.files` does for longer."""

import re
import subprocess
import sys

import pytest

from tests.fuzz.files import TARGETS


@pytest.mark.parametrize("kind", TARGETS)
def test_changed_files(kind):
    command = [sys.executable, "-m", "tests.fuzz.files", "--minutes", "0.03", "--only", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(rf"(\d+) of {kind}; 0 kinds failed", done.stdout)
    assert int(count) >= 10
