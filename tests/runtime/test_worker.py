"""Threads of the library: they wait for the next job for a while, and end then."""

import os
import threading
import time
from pathlib import Path

import pytest

from nnapi_shim.runtime import worker
from tests.waiting import HANGS_S


@pytest.fixture
def short(monkeypatch):
    """Workers that end soon; none of other tests is left."""
    monkeypatch.setattr(worker, "IDLE_S", 0.2)
    monkeypatch.setattr(worker, "_idle", [])


def threads():
    return len(list(Path("/proc/self/task").iterdir()))


def until(condition):
    end = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def idle():
    return len(worker._idle)


def run_together(count):
    """Run so many jobs at once; the threads that they ran on."""
    barrier, result = threading.Barrier(count + 1), set()

    def job():
        result.add(threading.get_ident())
        barrier.wait(HANGS_S)

    for _ in range(count):
        worker.run(job)
    barrier.wait(HANGS_S)
    assert len(result) == count
    return result


@pytest.mark.own_process
def test_idle_workers_end(short):
    before = threads()
    run_together(8)
    until(lambda: threads() == before)
    assert idle() == 0
    run_together(3)  # others take their place
    until(lambda: threads() == before)


def test_a_worker_takes_the_next_job(short, monkeypatch):
    monkeypatch.setattr(worker, "IDLE_S", HANGS_S)
    (first,) = run_together(1)
    until(lambda: idle() == 1)
    assert run_together(1) == {first}


def test_no_job_is_lost_where_a_worker_is_about_to_end(short, monkeypatch):
    monkeypatch.setattr(worker, "IDLE_S", 0.001)
    done = []
    for number in range(300):
        worker.run(lambda number=number: done.append(number))
        time.sleep(0.0005 * (number % 5))
    until(lambda: len(done) == 300)
    assert sorted(done) == list(range(300))


def test_a_forked_child_has_workers_of_its_own(short, monkeypatch):
    monkeypatch.setattr(worker, "IDLE_S", HANGS_S)
    run_together(2)
    until(lambda: idle() == 2)
    child = os.fork()
    if not child:
        done = threading.Event()
        worker.run(done.set)
        os._exit(0 if done.wait(HANGS_S) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
