"""What a build needs is looked for before the long part, and told of in one line each."""

import sysconfig
from collections import namedtuple

import pytest

import check_build


def test_nothing_is_missing_here(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["check_build.py", str(tmp_path / "build" / "lib")])
    assert check_build.main() == 0
    assert capsys.readouterr() == ("", "")


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(check_build, "OLDEST", (4, 0))
    (line,) = check_build.missing_python()
    assert "CPython 4.0 or newer is needed" in line


def test_headers(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    (line,) = check_build.missing_python()
    assert line.startswith("/nowhere/Python.h is missing") and "python3-dev" in line


@pytest.mark.parametrize(
    ("command", "said"), [("no-such-cc -O2", "no compiler no-such-cc"), ("false", "cannot compile")]
)
def test_a_compiler(monkeypatch, command, said):
    monkeypatch.setenv("CC", command)
    (line,) = check_build.missing_compiler("CC", "cc", ".c", "gcc")
    assert said in line and "apt install gcc" in line


def test_a_place(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    (line,) = check_build.missing_place(tmp_path / "file" / "lib")
    assert line.startswith(f"{tmp_path / 'file'} cannot be written")
    monkeypatch.setattr("shutil.disk_usage", lambda location: namedtuple("Usage", "free")(5 << 20))
    (line,) = check_build.missing_place(tmp_path)
    assert "has 5 MB free" in line
