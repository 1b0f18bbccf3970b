"""Compiled modules of engines in an application's cache folder."""

import pytest

from nnapi_shim.drivers.engines.kept import kept
from nnapi_shim.hal.types import CacheHandles

TOKEN = bytes(range(32))


@pytest.fixture
def compiling(tmp_path, monkeypatch):
    """A function that asks for a module, and a list of the compilations that it took."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    made = []

    def compile():
        made.append(1)
        return b"module"

    def ask(about=(b"model", b"options"), token=TOKEN, path=folder):
        assert kept(path and CacheHandles(str(path), token), about, compile) == b"module"
        return len(made)

    return ask


def files(tmp_path):
    return [*(tmp_path / "cache").iterdir()]


def test_it_is_compiled_once(compiling, tmp_path):
    assert [compiling(), compiling()] == [1, 1]
    (file,) = files(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600


def test_all_that_it_depends_on(compiling):
    cases = [{}, {"about": (b"mode", b"loptions")}, {"about": (b"model",)}, {"token": bytes(32)}]
    assert [compiling(**case) for case in cases] == [1, 2, 3, 4]
    assert [compiling(**case) for case in cases] == [4, 4, 4, 4]


def test_without_a_cache(compiling, tmp_path):
    assert [compiling(path=None), compiling(path=None)] == [1, 2]
    assert not files(tmp_path)


def test_what_the_engine_does_not_take_is_kept_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "cache").mkdir(mode=0o700)
    cache, made = CacheHandles(str(tmp_path / "cache"), TOKEN), []

    def ask(driver):
        def compiled():
            made.append(driver)
            return driver

        return kept(cache, [b"model"], compiled, lambda module: module == driver)

    drivers = [b"1", b"1", b"2", b"2", b"1"]
    assert [ask(driver) for driver in drivers] == drivers
    assert made == [b"1", b"2", b"1"]
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("damage", [lambda c: c[:-1] + b"X", lambda c: c[:20], lambda c: b"X" + c])
def test_a_damaged_file(damage, compiling, tmp_path, capfd):
    compiling()
    (file,) = files(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    assert [compiling(), compiling()] == [2, 2]
    (line,) = capfd.readouterr().err.splitlines()
    assert "damaged" in line


def test_a_file_of_another_user_s_key(compiling, tmp_path, monkeypatch, capfd):
    compiling()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert [compiling(), compiling()] == [2, 2]
    assert "another's" in capfd.readouterr().err


def test_a_module_under_the_name_of_another(compiling, tmp_path, capfd):
    compiling()
    (one,) = files(tmp_path)
    compiling(about=(b"other",))
    (other,) = {*files(tmp_path)} - {one}
    other.write_bytes(one.read_bytes())
    assert compiling(about=(b"other",)) == 3
    assert "damaged" in capfd.readouterr().err


def test_a_folder_that_others_may_write_to(compiling, tmp_path, capfd):
    (tmp_path / "cache").chmod(0o777)
    assert [compiling(), compiling()] == [1, 2]
    (line,) = capfd.readouterr().err.splitlines()
    assert "compiled models are not kept" in line


def test_a_folder_that_is_not_there(compiling, tmp_path):
    assert [compiling(path=tmp_path / "none"), compiling(path=tmp_path / "none")] == [1, 2]
