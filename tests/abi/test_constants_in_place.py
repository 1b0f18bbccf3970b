"""Constants that are read where a program has them, and constants that are copied."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim.runtime import program_constants


@pytest.fixture
def program(compile_c):
    return compile_c("constants_in_place", "-D_GNU_SOURCE")


@pytest.mark.parametrize("kind", ["const", "heap", "written", "after", "prepared"])
def test_memory_of_a_program(program, run_well, kind):
    run_well(program, kind)


def test_memory_of_a_file(program, run_well, tmp_path):
    run_well(program, "file", tmp_path / "weights")


@pytest.mark.parametrize("kind", ["heap", "written", "after"])
def test_on_the_other_device(program, run_well, kind):
    run_well(program, kind, env={"DEBUG_NN_ENABLED_DEVICES": "nnapi-reference"})


def test_cached_models_are_found_by_other_processes(program, run_well, tmp_path):
    """The executable lies elsewhere in each process; neither the key nor the file depends on it."""
    folder = tmp_path / "cache"
    folder.mkdir()
    state = {"XDG_STATE_HOME": str(tmp_path)}
    run_well(program, "cache", folder, env=state)
    (file,) = folder.iterdir()
    before = file.stat()
    run_well(program, "cache", folder, env=state)
    assert [*folder.iterdir()] == [file]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_capture_has_the_constants(program, tmp_path):
    path = tmp_path / "calls.nncap"
    settings = {"NNAPI_SHIM_CAPTURE": str(path), "PATH": os.environ["PATH"]}
    subprocess.run([program, "written"], env=settings, check=True)
    replay = [sys.executable, "-m", "nnapi_shim", "replay", str(path)]
    result = subprocess.run(replay, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.own_process
def test_segments_are_mapped_read_only_from_the_executable():
    segments = [*program_constants._read_only_segments()]
    assert segments
    name = os.path.realpath("/proc/self/exe")
    mappings = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    for segment in segments:
        first, last = segment.map(), segment.map() + segment.size - 1
        for where in (first, last):
            (mapping,) = [each for each in mappings if where in _addresses(each[0])]
            assert mapping[5] == name
            assert "w" not in mapping[1]


def _addresses(text):
    return range(*[int(number, 16) for number in text.split("-")])


def test_a_value_is_in_place_only_if_all_of_it_is_in_a_segment():
    segment = max(program_constants._read_only_segments(), key=lambda each: each.size)
    end = segment.map() + segment.size
    assert program_constants.segment_of(end - 16, 16) is not None
    assert program_constants.segment_of(end - 16, 17) is None
    assert program_constants.segment_of(segment.map() - 1, 16) is None
