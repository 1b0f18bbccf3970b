"""Files of the cache appear whole or not at all, private and for good; failures harm nothing."""

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from tests.drivers.cpu.test_cache import files, network, prepared, result_of
from tests.drivers.cpu.test_cache_trust import in_a_child, is_loaded


@pytest.mark.parametrize("mask", [0, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        prepared(network(), tmp_path)
    finally:
        os.umask(before)
    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("call", ["open", "fchmod", "write", "fsync", "rename"])
def test_a_file_that_cannot_be_written(kept, monkeypatch, capfd, call):
    """It is reported, leaves no file, and keeps existing files."""
    graph, expected, path = kept
    before = path.read_bytes()
    graph = network(seed=1)
    expected = result_of(graph, graph.prepare(CpuDevice()))
    real = getattr(os, call)

    def failing(*values, **named):
        if (call == "open" and not values[1] & os.O_CREAT) or values[0] == 2:
            return real(*values, **named)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, failing)
    model = prepared(graph, path.parent)
    monkeypatch.undo()
    np.testing.assert_array_equal(result_of(graph, model), expected)
    assert files(path.parent) == [path.name]
    assert path.read_bytes() == before
    message = capfd.readouterr().err
    assert message.count("\n") == 1 and "No space left on device" in message


def test_what_is_written_outlasts_a_power_cut(tmp_path, monkeypatch):
    """The contents are on the disk before the name is, and the name before finish returns."""
    calls = []

    def listen(name):
        real = getattr(os, name)

        def heard(*values, **named):
            what = "folder" if name == "fsync" and is_folder(values[0]) else ""
            calls.append(f"{name} {what}".strip())
            return real(*values, **named)

        monkeypatch.setattr(os, name, heard)

    for name in ("write", "fsync", "rename"):
        listen(name)
    prepared(network(), tmp_path)
    assert list(dict.fromkeys(calls)) == ["write", "fsync", "rename", "fsync folder"]


def is_folder(fd):
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def test_temporary_names_are_nobody_elses(tmp_path, monkeypatch):
    opened = []
    real = os.open

    def heard(path, flags, *more, **named):
        if flags & os.O_CREAT:
            opened.append((path, flags))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", heard)
    for seed in (0, 1):
        prepared(network(seed=seed), tmp_path)
    reference = os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    assert len(opened) == 2 and all(flags & reference == reference for _, flags in opened)
    random = {Path(name).name.rpartition(".")[2] for name, _ in opened}
    assert len(random) == 2 and all(len(name) >= 24 for name in random)


def test_a_writer_that_dies_in_front_of_its_last_step(tmp_path, lowered):
    code = """if True:
        import os, sys
        from pathlib import Path
        from tests.drivers.cpu.test_cache import network, prepared
        os.rename = lambda *given, **named: os._exit(0)
        prepared(network(), Path(sys.argv[1]))
        os._exit(1)
    """
    in_a_child(code, tmp_path)
    (half,) = tmp_path.iterdir()
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    assert not is_loaded(graph, expected, tmp_path, lowered)
    assert is_loaded(graph, expected, tmp_path, lowered)
    os.utime(half, (1, 1))
    (path,) = set(tmp_path.iterdir()) - {half}
    path.unlink()
    prepared(graph, tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_standard_descriptors_that_are_closed(tmp_path, lowered):
    """What is written to stderr does not end in the file, and the file is right."""
    code = """if True:
        import os, sys
        from pathlib import Path
        import nnapi_shim.drivers.cpu.cache.folder
        from tests.drivers.cpu.test_cache import network, prepared
        real = os.write
        def heard(fd, data):
            if len(data) > 500:
                real(2, b"not for this file") if is_open(2) else None
            return real(fd, data)
        def is_open(fd):
            try:
                os.fstat(fd)
            except OSError:
                return False
            return True
        os.write = heard
        os.closerange(0, 3)
        prepared(network(), Path(sys.argv[1]))
    """
    in_a_child(code, tmp_path)
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    assert is_loaded(graph, expected, tmp_path, lowered)
