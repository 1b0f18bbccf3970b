"""The process of a device beside the process of the program: descriptors, forks, ends."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from nnapi_shim import NnapiError, ResultCode
from nnapi_shim.drivers.isolated import start
from nnapi_shim.hal.enums import DeviceType
from tests.drivers.isolated.conftest import bound, manifest, prepared, wait_until, works


def is_running(id):
    try:
        with open(f"/proc/{id}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_end(id):
    """Wait until a process is gone."""
    wait_until(lambda: not is_running(id))


def test_the_device_is_what_it_says(load):
    device = load()
    assert (device.name, device.version, device.type) == (
        "misbehaving",
        "1",
        DeviceType.ACCELERATOR,
    )
    assert device.getCapabilities().if_performance == (0.1, 0.1)
    assert device.getSupportedExtensions() == () and device.is_isolated
    device.wait()


def test_it_has_no_descriptors_of_the_program(load, tmp_path, monkeypatch):
    monkeypatch.setenv("TELL", str(tmp_path / "told"))
    read, write = os.pipe()
    for each in (read, write):
        os.set_inheritable(each, True)
    try:
        load()
    finally:
        os.close(read)
        os.close(write)
    first = (tmp_path / "told").read_text().splitlines()[0]
    links = dict(eval(first))
    assert links[0] == "/dev/null" and links[1] == links[2] == os.readlink("/proc/self/fd/2")
    kinds = [link.partition(":")[0] for number, link in sorted(links.items()) if number > 2]
    assert kinds[:2] == ["socket", "pipe"], "control, lifeline"
    assert kinds[2:5] == ["socket", "pipe", "pipe"], "a lane"
    assert all(kind.startswith("/proc/") for kind in kinds[5:]), "the folder that was listed"


def test_descriptors_beyond_a_limit_that_was_lowered(load, tmp_path, monkeypatch):
    """As that of a shell's script, 255, after `ulimit -n 200`."""
    monkeypatch.setenv("TELL", str(tmp_path / "told"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = os.dup2(2, max(map(int, os.listdir("/proc/self/fd"))) + 20)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number - 5, hard))
        load()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(number)
    assert number not in dict(eval((tmp_path / "told").read_text().splitlines()[0]))


def test_it_writes_nothing_to_stdout(load, capfd):
    load()
    written = capfd.readouterr()
    assert not written.out and "a line for stdout" in written.err


def test_it_is_no_child_of_the_program(load):
    device = load()
    made = prepared(device)
    with open(f"/proc/{made.process.id}/stat") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    assert parent != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(made.process.id, os.WNOHANG)


def test_it_ends_with_the_last_of_its_objects(load):
    device = load()
    made = prepared(device)
    run = bound(made)
    id = made.process.id
    del device, made
    run.compute()
    assert is_running(id)
    del run
    wait_for_end(id)


PROGRAM = """
import os, sys, signal
from pathlib import Path
from tests.drivers.isolated.conftest import prepared, bound
from nnapi_shim.drivers.isolated.device import loaded
made = prepared(loaded("misbehaving", ("manifest", sys.argv[1])))
print(made.process.id, flush=True)
sys.stdin.read(1)
bound(made).compute()
"""


@pytest.mark.parametrize("doing", ["", "compute=stop", "compute=hold"])
def test_it_dies_with_the_program(doing, tmp_path):
    """Whatever it is doing, and without a word from the program."""
    path = manifest(tmp_path)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "MISBEHAVE": doing, "TELL": str(tmp_path / "told")},
    )
    with program:
        id = int(program.stdout.readline())
        assert is_running(id)
        if doing:
            program.stdin.write(b"x")
            program.stdin.flush()
            wait_until(lambda: "begun" in (tmp_path / "told").read_text())
        program.kill()
        wait_for_end(id)


def test_a_forked_child_has_a_process_of_its_own(load):
    device = load()
    made = prepared(device)
    run = bound(made)
    run.compute()
    child = os.fork()
    if not child:
        try:
            run.compute()
        except NnapiError as error:
            codes = {"isolated.forked": ResultCode.DEAD_OBJECT}
            is_right = codes.get(error.rule) is error.code
            os._exit(0 if is_right and works(device) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run.compute()
    assert works(device)


def test_a_child_that_outlives_the_program_does_not_keep_its_process(load):
    device = load()
    made = prepared(device)
    child = os.fork()
    if not child:
        time.sleep(1000)
    id = made.process.id
    del device, made
    wait_for_end(id)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_closed_standard_streams(tmp_path):
    code = f"""
import os
os.close(0)
os.close(1)
os.close(2)
import sys
from tests.drivers.isolated.conftest import works
from nnapi_shim.drivers.isolated.device import loaded
device = loaded("misbehaving", ("manifest", {str(manifest(tmp_path))!r}))
taken = [name for name in os.listdir("/proc/self/fd") if int(name) < 3]
os._exit(0 if works(device) and len(taken) < 2 else 1)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_a_python_to_run_it(load, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/program")
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    monkeypatch.setattr(sys, "base_prefix", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NnapiError, match=r"needs the program python3\.\d+, which is neither in"):
        load()


@pytest.mark.own_process
def test_a_python_that_cannot_be_started(load, monkeypatch, tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/nowhere/python3\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(NnapiError, match=r"cannot be started: .*No such file"):
        load()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_python_of_an_installation_is_found(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    assert os.path.samefile(
        os.path.dirname(start.python_executable()),
        os.path.dirname(sys.executable) or sys.prefix + "/bin",
    )
