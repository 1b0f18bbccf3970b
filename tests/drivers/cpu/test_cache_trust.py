"""Cached models are believed only if nobody else wrote them, and nothing of them was changed."""

import errno
import os
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.cache.cache import HEAD
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType, OperationType
from tests.drivers.cpu.test_cache import files, network, prepared, result_of
from tests.drivers.cpu.test_programs import Graph
from tests.waiting import HANGS_S

STRANGER = 4321
"""A user that is neither this one nor root."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


def is_loaded(graph, expected, folder, lowered):
    """Whether a preparation finds what is kept; its result is right in any case."""
    lowered.clear()
    np.testing.assert_array_equal(result_of(graph, prepared(graph, folder)), expected)
    return not lowered


def in_a_child(code, *arguments):
    """Run code that may crash; its output."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}"
    return done


SMALL = """if True:
    import os, sys
    from pathlib import Path
    import numpy as np
    from nnapi_shim import log
    from nnapi_shim.drivers.cpu.cache import writer
    from nnapi_shim.drivers.cpu.compile.segments import Segment
    from tests.drivers.cpu.test_cache_trust import small, run_small
    from tests.drivers.cpu.test_cache import prepared
    folder = Path(sys.argv[1])
    graph = small()
    expected = run_small(graph, prepared(graph, folder))
    (path,) = folder.iterdir()
    original, times = path.read_bytes(), path.stat()
    lowered = []
    real = Segment.__init__
    Segment.__init__ = lambda self, lowering: lowered.append(1) or real(self, lowering)
    log.write = lambda *given: None
    writer.store = lambda *given: None

    def attempt(what, contents):
        path.write_bytes(contents)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        lowered.clear()
        found = run_small(graph, prepared(graph, folder))
        np.testing.assert_array_equal(found, expected, what)
        assert lowered, f"{what}: was taken"
"""


def small():
    """A GATHER from a constant by constant indexes, an addition of literals."""
    graph = Graph()
    x = graph.input([4])
    table = graph.constant(np.arange(4, dtype=np.float32))
    axis = graph.constant(np.int32(0), OperandType.INT32)
    indexes = graph.constant(np.array([3, 0, 1, 2], np.int32), OperandType.TENSOR_INT32)
    y = graph.operation(OperationType.GATHER, [table, axis, indexes], [4])
    none = graph.none()
    y = graph.operation(OperationType.ADD, [x, y, none], [4])
    w = graph.constant(np.eye(4, dtype=np.float32))
    bias = graph.constant(np.ones(4, np.float32))
    y = graph.operation(OperationType.RESHAPE, [y, shape(graph, 1, 4)], [1, 4])
    graph.operation(OperationType.FULLY_CONNECTED, [y, w, bias, none], [1, 4], output=True)
    return graph


def shape(graph, *sizes):
    return graph.constant(np.array(sizes, np.int32), OperandType.TENSOR_INT32)


def run_small(graph, model):
    values, result = np.ones(4, np.float32), np.zeros((1, 4), np.float32)
    model.execute(graph.request([values], [result]), False, None, 10**9)
    return result


def test_every_byte_counts(tmp_path):
    """With the time of change that it was written with."""
    loop = """
    for at in range(len(original)):
        flipped = bytearray(original)
        flipped[at] ^= 1 << at % 8
        attempt(f"byte {at}", flipped)
    print(len(original))
"""
    assert int(in_a_child(SMALL + loop, tmp_path).stdout) > 500


def test_every_length_counts(tmp_path):
    loop = """
    for length in range(len(original)):
        attempt(f"cut to {length}", original[:length])
    for more in (1, 8, 64, 4096):
        attempt(f"{more} bytes more", original + bytes(more))
"""
    in_a_child(SMALL + loop, tmp_path)


def test_a_file_that_changes_once_it_is_loaded(kept, lowered):
    """What decides addresses is a copy by then; weights are the owner's to spoil."""
    graph, expected, path = kept
    lowered.clear()
    model = prepared(graph, path.parent)
    assert not lowered
    *_, weights = HEAD.unpack_from(path.read_bytes())
    with path.open("r+b") as file:
        file.write(b"\xff" * (path.stat().st_size - weights))
    np.testing.assert_array_equal(result_of(graph, model), expected)


def test_zeroed_weights_with_their_old_time(kept, lowered):
    graph, expected, path = kept
    data, times = bytearray(path.read_bytes()), path.stat()
    data[-1024:] = bytes(1024)
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not is_loaded(graph, expected, path.parent, lowered)


def test_files_that_a_marshal_would_obey(kept, lowered):
    """Contents are plain numbers: none of them is a program of another kind."""
    import marshal

    graph, expected, path = kept
    head = path.read_bytes()[:160]
    for bomb in (marshal.dumps([0] * 10**5), b"[\xff\xff\xff\x7f", b"(" * 10**5, b"\xfb" * 4096):
        for at in (0, 40, 160):
            path.write_bytes(head[:at] + bomb)
            assert not is_loaded(graph, expected, path.parent, lowered)


def test_weights_that_are_chosen_to_look_the_same(tmp_path):
    """For a checksum without a key, whoever knows how it is made finds two models that share it."""
    graph = Graph()
    x = graph.input([1, 64])
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    operands = [graph.constant(weights), graph.constant(np.zeros(64, np.float32)), graph.none()]
    graph.operation(OperationType.FULLY_CONNECTED, [x, *operands], [1, 64], output=True)
    values, result = np.eye(1, 64, dtype=np.float32), np.zeros((1, 64), np.float32)

    def computed():
        prepared(graph, tmp_path).execute(graph.request([values], [result]), False, None, 10**9)
        return result.copy()

    first = computed()
    # sum = (sum + word) * FACTOR, sum ^= sum >> 32, over every 32nd word of 64 bits
    words = struct.unpack_from("<2048Q", graph.constants)
    mask = (1 << 64) - 1

    def after(word):
        product = word * 0x9E3779B1 & mask
        return product ^ product >> 32

    changed = words[0] ^ 1 << 30
    other = words[32] + after(words[0]) - after(changed) & mask
    struct.pack_into("<Q", graph.constants, 0, changed)
    struct.pack_into("<Q", graph.constants, 256, other)
    assert (computed() != first).any()
    assert computed()[0, 0] == np.frombuffer(graph.constants, np.float32)[0]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write(kept, lowered, capfd, mode):
    graph, expected, path = kept
    path.chmod(mode)
    assert not is_loaded(graph, expected, path.parent, lowered)
    message = capfd.readouterr().err
    assert message.count("\n") == 1 and f"mode is {mode:o}" in message
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_loaded(graph, expected, path.parent, lowered)


@needs_root
def test_the_file_of_another_user(kept, lowered, capfd):
    graph, expected, path = kept
    os.chown(path, STRANGER, -1)
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert f"belongs to user {STRANGER}" in capfd.readouterr().err
    assert path.stat().st_uid == 0
    assert is_loaded(graph, expected, path.parent, lowered)


def test_a_folder_that_the_own_group_can_write(kept, lowered, capfd):
    graph, expected, path = kept
    path.parent.chmod(0o775)
    os.chown(path.parent, -1, os.getegid())
    assert is_loaded(graph, expected, path.parent, lowered)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mode", [pytest.param(0o770, marks=needs_root), 0o707, 0o1777])
def test_a_folder_that_others_can_write(kept, lowered, capfd, mode):
    graph, expected, path = kept
    if mode & 0o070 == 0o070 and os.geteuid() == 0:
        os.chown(path.parent, -1, STRANGER)
    path.parent.chmod(mode)
    for _ in range(2):
        assert not is_loaded(graph, expected, path.parent, lowered)
    message = capfd.readouterr().err
    assert message.count("\n") == 1 and f"mode is {mode:o}" in message
    path.unlink()
    prepared(graph, path.parent)
    assert files(path.parent) == []


@needs_root
def test_the_folder_of_another_user(kept, lowered, capfd):
    graph, expected, path = kept
    os.chown(path.parent, STRANGER, -1)
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert f"belongs to user {STRANGER}" in capfd.readouterr().err


def test_a_symbolic_link_in_its_place(kept, lowered, capfd):
    graph, expected, path = kept
    elsewhere = path.parent / "elsewhere"
    path.rename(elsewhere)
    before = elsewhere.read_bytes()
    path.symlink_to(elsewhere)
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert "symbolic link" in capfd.readouterr().err
    assert not path.is_symlink() and elsewhere.read_bytes() == before


def make_socket(path):
    folder = os.open(path.parent, os.O_RDONLY)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{folder}/s")
    os.close(folder)
    path.with_name("s").rename(path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, make_socket])
def test_no_plain_file_in_its_place(kept, lowered, make):
    graph, expected, path = kept
    path.unlink()
    make(path)
    assert not is_loaded(graph, expected, path.parent, lowered)


def test_a_file_that_nobody_can_read(kept, lowered, monkeypatch, capfd):
    graph, expected, path = kept
    real = os.open

    def refusing(name, *values, **named):
        if name == path.name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(name, *values, **named)

    monkeypatch.setattr(os, "open", refusing)
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert "Permission denied" in capfd.readouterr().err


def test_a_link_to_the_folder_is_followed(kept, lowered, tmp_path_factory):
    graph, expected, path = kept
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(path.parent)
    assert is_loaded(graph, expected, link, lowered)


def key_file():
    return Path(os.environ["XDG_STATE_HOME"], "nnapi_shim", "models.key")


@pytest.fixture
def own_key(tmp_path_factory, monkeypatch):
    """A folder for a key of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("own") / "state"))


def test_a_file_of_another_key(own_key, kept, lowered):
    graph, expected, path = kept
    key = key_file()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    key.unlink()
    assert not is_loaded(graph, expected, path.parent, lowered)
    (other,) = set(path.parent.iterdir()) - {path}
    other.write_bytes(path.read_bytes())
    assert not is_loaded(graph, expected, path.parent, lowered)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read(own_key, kept, lowered, capfd, mode):
    graph, expected, path = kept
    key_file().chmod(mode)
    for _ in range(2):
        assert not is_loaded(graph, expected, path.parent, lowered)
    message = capfd.readouterr().err
    assert message.count("\n") == 1 and f"mode is {mode:o}" in message


@needs_root
def test_the_key_of_another_user(own_key, kept, lowered, capfd):
    graph, expected, path = kept
    os.chown(key_file(), STRANGER, -1)
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert f"belongs to user {STRANGER}" in capfd.readouterr().err


def test_half_a_key_is_replaced(own_key, kept, lowered):
    graph, expected, path = kept
    key = key_file()
    length = key.stat().st_size
    key.write_bytes(key.read_bytes()[:100])
    assert not is_loaded(graph, expected, path.parent, lowered)
    assert is_loaded(graph, expected, path.parent, lowered)
    assert key.stat().st_size == length


def test_no_place_for_a_key(tmp_path, monkeypatch, lowered, capfd):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    for _ in range(2):
        assert not is_loaded(graph, expected, tmp_path, lowered)
    assert files(tmp_path) == ["file"]
    assert capfd.readouterr().err == ""


@needs_root
def test_a_program_with_raised_privileges_keeps_nothing(tmp_path):
    """The environment is that of a caller who has less of them, and so would be the key."""
    code = """if True:
        import os, sys
        from pathlib import Path
        os.setresgid(65534, 0, 0)
        from tests.drivers.cpu.test_cache import network, prepared
        prepared(network(), Path(sys.argv[1]))
    """
    assert in_a_child(code, tmp_path).stderr == ""
    assert files(tmp_path) == []
