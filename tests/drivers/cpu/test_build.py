"""Building the kernel libraries: what goes wrong is one line, and leaves nothing half done."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nnapi_shim.drivers.cpu.kernels import FAMILIES
from nnapi_shim.drivers.cpu.program.library import library_name, processor_tiers
from nnapi_shim.drivers.cpu.toolchain import build, linking, load, objects, workers
from tests.waiting import HANGS_S

ROOT = Path(__file__).parents[3]
TIER = processor_tiers()[0]
SMALL = ("joining", "bind")
COMMAND = """
import sys
from nnapi_shim.drivers.cpu.toolchain import build
build.FAMILIES = sys.argv[2].split(",")
build.SECONDS = {"bind": 2.0}  # comes first
sys.argv[1:] = ["--out", sys.argv[1], "--tiers", "best"]
build.main()
"""


def start(out: Path, families=SMALL, **environment: str) -> subprocess.Popen:
    """A build of the best tier, of a few families."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, out, ",".join(families)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(out: Path, **environment: str) -> tuple[int, str]:
    process = start(out, **environment)
    _, stderr = process.communicate(timeout=HANGS_S)
    return process.returncode, stderr


def left(out: Path) -> set[str]:
    return {path.name for path in out.parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("loadavg", "times"),
    [
        ("0.00 0.00 0.00 1/90 1", 1.0),
        ("6.00 2.00 1.00 1/90 1", 1.0),  # what was busy has ended
        ("0.10 0.00 0.00 7/90 1", 1.05),  # a moment
        ("6.00 2.00 1.00 7/90 1", 4.0),
        ("no numbers", 1.0),
    ],
)
def test_the_estimate_counts_other_processes(tmp_path, monkeypatch, loadavg, times):
    """Of two workers on two processors."""
    (tmp_path / "loadavg").write_text(loadavg)
    monkeypatch.setattr(load, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(load.os, "cpu_count", lambda: 2)
    assert load.slowdown(2) == pytest.approx(times)
    (tmp_path / "loadavg").unlink()
    assert load.slowdown(2) == 1.0


def test_what_an_object_depends_on():
    folder = ROOT / "nnapi_shim" / "drivers" / "cpu"
    names = {path.relative_to(folder).as_posix() for path in objects.sources("gemm")}
    assert names >= {
        "kernels/gemm.py",
        "codegen/vector.py",
        "lowering/gemm.py",
        "program/record.py",
    }
    for folder in ("isa", "codegen/isa"):
        assert names >= {f"{folder}/{file}.py" for file in ("__init__", "portable", "x86")}
    assert not names & {"kernels/__init__.py", "kernels/binary.py"}


def test_a_build_then_nothing_to_do(tmp_path):
    out = tmp_path / "lib"
    code, stderr = run(out)
    assert code == 0, stderr
    assert stderr.startswith("kernels: 2 parts to compile, about ")
    objects = {f"{family}.{kind}" for family in SMALL for kind in ("o", "stamp")}
    assert left(out) == objects | {"linked.json", "exports.map", "version.c", library_name(TIER)}
    before = (out / library_name(TIER)).stat()
    assert run(out) == (0, "")
    assert (out / library_name(TIER)).stat() == before


@pytest.fixture(scope="module")
def disassembled(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("built") / "lib"
    assert run(out)[0] == 0
    return out / library_name(TIER)


def test_every_kernel_can_be_unwound_and_has_its_name(disassembled):
    def output_of(*command):
        return subprocess.run([*command, disassembled], capture_output=True, text=True).stdout

    symbols = [line.split() for line in output_of("nm", "--defined-only").splitlines()]
    code = {int(line[0], 16): line[2] for line in symbols if line[1] in "TtWw"}
    assert all(name.startswith("nnk_") for name in code.values()), code
    ranges = [
        line.rpartition("pc=")[2].split("..")[0]
        for line in output_of("readelf", "--debug-dump=frames").splitlines()
        if " FDE " in line
    ]
    assert set(code) <= {int(start, 16) for start in ranges}


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_a_compiler_that_cannot_link_is_told_of_first(tmp_path, compiler):
    code, stderr = run(tmp_path / "lib", CC=compiler)
    assert code == 1
    (line,) = stderr.splitlines()
    assert line.startswith("kernels: ") and compiler in line and "apt install gcc" in line
    assert left(tmp_path / "lib") == set()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "lib").write_text("a file")
    code, stderr = run(tmp_path / "lib")
    assert code == 1
    (line,) = stderr.splitlines()
    assert f"{tmp_path / 'lib'} cannot be written" in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_goes_on(tmp_path, number):
    out = tmp_path / "lib"
    process = start(out, ("binary", "bind"))
    deadline = time.monotonic() + HANGS_S
    while not (tmp_path / "kernels" / TIER / "bind.stamp").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=HANGS_S)
    assert process.returncode == 1
    assert stderr.splitlines()[-1] == (
        "kernels: interrupted; what is compiled is kept, the same command goes on from there"
    )
    assert "Traceback" not in stderr
    assert left(out) >= {"bind.o", "bind.stamp"}
    assert not [name for name in left(out) if name.rpartition(".")[2].isdigit()]
    stamp = (tmp_path / "kernels" / TIER / "bind.stamp").stat().st_mtime_ns
    assert run(out)[0] == 0  # joining and bind
    assert (tmp_path / "kernels" / TIER / "bind.stamp").stat().st_mtime_ns == stamp


@pytest.fixture(params=["8k", "16k", "24k"])
def small_disk(tmp_path, request):
    location = tmp_path / "disk"
    location.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", location],
        capture_output=True,
    ).returncode:
        pytest.skip("a small disk cannot be mounted here: not root, or no right to")
    yield location
    subprocess.run(["umount", location], check=True)


def test_a_full_disk(small_disk):
    code, stderr = run(small_disk / "lib")
    assert code == 1
    assert "is full; make room" in stderr.splitlines()[-1], stderr
    assert "Traceback" not in stderr
    assert not [name for name in left(small_disk / "lib") if name.rpartition(".")[2].isdigit()]
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    assert run(small_disk / "lib")[0] == 0


def test_a_worker_that_dies_is_told_of(tmp_path):
    code, stderr = run(tmp_path / "lib", NNAPI_SHIM_TIER="")
    assert code == 0, stderr
    process = start(tmp_path / "other" / "lib", ("no_such_family",))
    _, stderr = process.communicate(timeout=HANGS_S)
    assert process.returncode == 1
    assert "no_such_family could not be compiled for tier" in stderr.splitlines()[-1]


def test_requirements_come_from_the_path_of_the_build(tmp_path, monkeypatch):
    """Those of an isolated build lie in folders that only the running process knows of."""
    monkeypatch.syspath_prepend(str(tmp_path / "only here"))
    monkeypatch.setattr(workers.sys, "executable", "/bin/sh")
    seen = {}

    class Process:
        pid = 1
        stdin = stdout = None

        def __init__(self, command, env, **rest):
            seen.update(env)

    monkeypatch.setattr(workers.subprocess, "Popen", Process)
    workers.Worker(TIER, tmp_path)
    folders = seen["PYTHONPATH"].split(os.pathsep)
    assert folders[0] == str(ROOT)
    assert str(tmp_path / "only here") in folders
    assert {p for p in sys.path if p} <= set(folders)


EDITING = """
import os
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # one worker takes all families
from nnapi_shim.drivers.cpu.toolchain import objects, workers
send = workers.Worker.send

def edit_then_send(worker, job):
    if worker.job:  # of an earlier job: the worker has imported what families share
        shared = objects.PACKAGE / "drivers" / "cpu" / "toolchain" / "kernel.py"
        shared.write_text(shared.read_text() + "# edited\\n")
    send(worker, job)

workers.Worker.send = edit_then_send
"""


def test_a_source_that_is_edited_while_it_is_compiled_is_compiled_again(tmp_path):
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "nnapi_shim", copy / "nnapi_shim", ignore=ignored)
    (copy / "build").symlink_to(ROOT / "build")  # which has libneuralnetworks.so
    out, families = tmp_path / "lib", ",".join(SMALL)
    parts = []
    for editing in (EDITING, "", ""):
        process = subprocess.run(
            [sys.executable, "-c", editing + COMMAND, out, families],
            env={**os.environ, "PYTHONPATH": str(copy)},
            cwd=copy,
            capture_output=True,
            text=True,
        )
        assert process.returncode == 0, process.stderr
        parts.append(process.stderr.partition(" to compile")[0])
    assert parts == ["kernels: 2 parts", "kernels: 2 parts", ""]


def test_seconds_are_of_families():
    assert set(build.SECONDS) <= set(FAMILIES)


def test_a_compiler_for_another_architecture_is_refused_before_kernels_are_compiled(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("CC", "cc")
    linking.try_linker(tmp_path, os.uname().machine)
    other = "riscv64" if os.uname().machine != "riscv64" else "loongarch64"
    with pytest.raises(SystemExit, match=f"cc compiles for .*, not for {other}: name a compiler"):
        linking.try_linker(tmp_path, other)
