"""Captures written as programs: they compile, run, and say what differs."""

import subprocess
import sys

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.tools.replay import write_reproducer
from tests.capture.conftest import LIBRARIES, ROOT, run

NAMES = ["simple_add", "async", "basic", "devices", "mobilenet_block"]


def compiled(source):
    program = source.with_suffix("")
    command = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{ROOT / 'include'}", source, "-o", program, f"-L{LIBRARIES}"]
    subprocess.run([*command, "-lneuralnetworks", "-lm"], check=True)
    return program


def last_line(done):
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_c(example, tmp_path, name):
    (source,) = write_reproducer(example(name), tmp_path / "program.c")
    done = run(compiled(source))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert last_line(done).endswith("0 differences")


def ran(source, folder="/"):
    return subprocess.run(
        [sys.executable, source], capture_output=True, text=True, cwd=folder, check=False
    )


@pytest.mark.parametrize("name", ["async", "mobilenet_block"])
def test_python(example, tmp_path, name):
    (source,) = write_reproducer(example(name), tmp_path / "program.py")
    done = ran(source)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert last_line(done).endswith("0 differences")


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_python_passes_a_type_checker(example, tmp_path, monkeypatch, limit):
    """With its data in a file, and in the source."""
    from nnapi_shim.formats.capture import source as module

    pytest.importorskip("mypy")
    monkeypatch.setattr(module, "_IN_SOURCE", limit)
    source, *_ = write_reproducer(example("simple_add"), tmp_path / "program.py")
    checking = [sys.executable, "-m", "mypy", "--strict", source]
    done = subprocess.run(checking, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        subprocess.run([sys.executable, "-X", "dev", "-W", "error", source], check=False).returncode
        == 0
    )


def test_every_function(every_function, tmp_path, monkeypatch):
    """Caching is one of them: nothing is left where the program runs."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for suffix in (".c", ".py"):
        (source,) = write_reproducer(every_function, tmp_path / f"program{suffix}")
        done = run(compiled(source)) if suffix == ".c" else ran(source, ".")
        assert done.returncode == 0, done.stdout
        assert last_line(done).endswith(", 0 differences")
    assert list((tmp_path / "here").iterdir()) == []


def test_large_contents_lie_beside(example, tmp_path, monkeypatch):
    from nnapi_shim.formats.capture import source as module

    monkeypatch.setattr(module, "_IN_SOURCE", 100)
    for suffix in (".c", ".py"):
        source, data = write_reproducer(
            example("mobilenet_block"), tmp_path / f"p{suffix}", overwrite=True
        )
        assert data == tmp_path / f"p{suffix}.data"
        done = run(compiled(source)) if suffix == ".c" else ran(source)
        assert done.returncode == 0, done.stdout


def test_differences_are_told_of(example, tmp_path):
    """Programs in which a number is another one."""
    (c,) = write_reproducer(example("simple_add"), tmp_path / "program.c")
    text = c.read_text()
    numbers = "0,0,192,63"  # 1.5, the first sum
    assert text.count(numbers) == 1
    c.write_text(text.replace(numbers, "0,0,32,64"))
    done = run(compiled(c))
    assert done.returncode == 1
    assert "output 0: 1 of 6 elements differ; the first is 1.5, it was 2.5" in done.stdout
    (python,) = write_reproducer(example("simple_add"), tmp_path / "program.py")
    text = python.read_text()
    assert text.count("0000c03f") == 1
    python.write_text(text.replace("0000c03f", "00002040"))
    done = ran(python)
    assert done.returncode == 1
    assert "output 0: 1 of 6 elements differ; the first is 1.5, it was 2.5" in done.stdout


def test_a_call_that_the_program_died_in_is_part_of_it(program, tmp_path):
    file = tmp_path / "capture.zip"
    assert run(program, "crash", NNAPI_SHIM_CAPTURE=file).returncode < 0
    (source,) = write_reproducer(file, tmp_path / "program.c")
    assert source.read_text().count("ANeuralNetworksExecution_compute(") == 2


def test_files(example, tmp_path):
    there = tmp_path / "there.c"
    there.write_text("mine")
    with pytest.raises(NnapiError, match="is there already"):
        write_reproducer(example("simple_add"), there)
    with pytest.raises(NnapiError, match=r"must end in \.c or \.py"):
        write_reproducer(example("simple_add"), tmp_path / "program.txt")
    assert there.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [there]
