"""The short form of `make check-native`: threads in the C parts under ThreadSanitizer."""

import pytest

from tests.memory.sanitizing import FOLDER, THREAD, Program, Sanitized, reason_it_does_not_work

PROGRAMS = [
    Program("abi/race"),
    Program("abi/other_python", flags=("-rdynamic",)),
    Program("abi/forks", ("starting",)),
    Program("abi/threads", ("last_errors", "nnapi-cpu")),
    Program("abi/hostile/forks", ("nnapi-cpu", "2", "15000")),
    Program(
        "native/companion_race",
        (f"{FOLDER}/assets",),
        environment=(("NNAPI_SHIM_TRACE", f"{FOLDER}/trace.json"),),
    ),
]


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    if reason := reason_it_does_not_work(THREAD):
        pytest.skip(reason)
    return Sanitized(THREAD, tmp_path_factory.mktemp("thread"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_no_data_race(sanitized, program):
    assert sanitized.run(program) == ""
