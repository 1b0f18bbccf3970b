"""Messages arrive, one line each, whatever stands in their way, and cannot be forged."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

HERE = Path(__file__).parent

FORGED = [
    "x\nnnapi_shim error: forged",
    "x\r\x1b[2Jforged",
    "x\u0085forged\u009b2J",
    "x\u2028forged\u2029",
    "x\u202eforged",
]


@pytest.fixture
def program(compile_c):
    return compile_c("messages", source=HERE / "messages.c")


@pytest.mark.parametrize("words", FORGED)
@pytest.mark.parametrize("setting", ["warning", "warning,json", "debug"])
def test_what_a_program_says_makes_no_line_of_its_own(program, run_bare, words, setting):
    result = run_bare(program, "refuse", words, env={"NNAPI_SHIM_LOG": setting})
    assert result.returncode == 0
    lines = result.stderr.split("\n")
    assert len(lines) == 2
    assert all(character.isprintable() for character in lines[0])
    if "json" in setting:
        assert "forged" in json.loads(lines[0])["message"]
    else:
        assert lines[0].startswith("nnapi_shim error: ANeuralNetworksModel_addOperand: ")
        assert "forged" in lines[0]


def test_a_stderr_that_nobody_reads_ends_no_program(program):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            [program, "refuse", "x"], env={}, stderr=pipe, timeout=HANGS_S, check=False
        )
    assert done.returncode == 0


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("setting", ["warning", "debug", "debug,json"])
def test_a_failure_for_want_of_descriptors_is_told(program, run_bare, device, setting):
    result = run_bare(program, "descriptors", device, env={"NNAPI_SHIM_LOG": setting})
    assert result.returncode == 0, result.stderr
    assert "unexpected" not in result.stderr
    assert "please report" not in result.stderr


@pytest.mark.parametrize(
    "words", [*FORGED, "gr\u00fc\u00df \u20ac \U0001f600", b"\xff\xfe \xc3 \xed\xa0\x80"]
)
@pytest.mark.parametrize("setting", ["warning", "warning,json"])
def test_a_library_that_cannot_start_tells_it_in_one_line(program, words, setting):
    """What stands in the environment is no better than what the program says."""
    home = b"/no/" + (words if isinstance(words, bytes) else words.encode())
    environment = {b"NNAPI_SHIM_HOME": home, b"NNAPI_SHIM_LOG": setting.encode()}
    done = subprocess.run(
        [program, "refuse", "x"], env=environment, capture_output=True, timeout=HANGS_S, check=False
    )
    line = done.stderr.decode().split("\n")[0]  # behind it is the program's own
    assert all(character.isprintable() for character in line)
    assert "/no/" in line and "there is no Python package nnapi_shim in it" in line
    if "json" in setting:
        json.loads(line)
    if "\u20ac" in str(words):
        assert words in line
