"""What all tests share."""

import gc
import os
import random
import signal
import subprocess
import sys

import pytest

from tests.waiting import HANGS_S

BY_ITSELF = "TEST_RUNS_BY_ITSELF"
"""In the environment of the process of a test that is marked own_process."""


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """Folders for the key of cached models and for settings, in place of the developer's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_sessionstart(session):
    """Let SIGINT interrupt, in this process and in those of tests: a shell starts commands in the
    background with SIGINT ignored, and programs inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    """`--shuffled NUMBER`: the tests in another order, the same for the same number."""
    parser.addoption("--shuffled", type=int, help="run the tests in an order of this number")


def pytest_collection_modifyitems(config, items):
    """Put files, and the tests in each, in the order that was asked for."""
    seed = config.getoption("--shuffled")
    if seed is not None:
        draw = random.Random(seed).random
        files = {item.path: draw() for item in items}
        order = {item.nodeid: (files[item.path], draw()) for item in items}
        items.sort(key=lambda item: order[item.nodeid])


def pytest_collection_finish(session):
    """Take the tests and their modules out of what each collection of garbage looks at: that takes
    seconds, and benchmarks begin with one.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is marked own_process in a process that runs no other."""
    if BY_ITSELF in os.environ or pyfuncitem.get_closest_marker("own_process") is None:
        return None
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env=os.environ | {BY_ITSELF: "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    return True
