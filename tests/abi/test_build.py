"""The build does nothing when nothing changed, and says what it cannot build with."""

import sysconfig

import pytest

import build_ffi


def test_second_build_does_nothing(tmp_path, capsys):
    library = build_ffi.build(tmp_path / "lib")
    assert capsys.readouterr().out.startswith(f"built {library}")
    first = library.stat()
    assert build_ffi.build(tmp_path / "lib") == library
    assert capsys.readouterr().out == "libneuralnetworks.so is up to date\n"
    assert library.stat() == first
    assert {path.name for path in library.parent.iterdir()} == {
        build_ffi.LIBRARY,
        build_ffi.CALLBACKS_FILE,
        build_ffi.LOCATION,
    }


@pytest.mark.parametrize("change", [{"Py_ENABLE_SHARED": 0}, {"LIBDIR": "/nowhere"}])
def test_python_without_shared_library(monkeypatch, change):
    variables = sysconfig.get_config_vars() | change
    monkeypatch.setattr(sysconfig, "get_config_var", variables.get)
    monkeypatch.setattr(sysconfig, "get_config_vars", lambda: variables)
    with pytest.raises(SystemExit, match=r"no shared libpython.*apt install libpython3"):
        build_ffi.libpython()


def test_python_without_headers(monkeypatch):
    variables = sysconfig.get_config_vars() | {"INCLUDEPY": "/nowhere"}
    monkeypatch.setattr(sysconfig, "get_config_var", variables.get)
    with pytest.raises(SystemExit, match=r"no C headers.*apt install python3.*-dev"):
        build_ffi.python_headers()


def test_wrappers():
    _, functions = build_ffi.read_headers()
    (set_value,) = (f for f in functions if f.name == "ANeuralNetworksModel_setOperandValue")
    assert set_value.callback == (
        "int py_ANeuralNetworksModel_setOperandValue"
        "(uintptr_t model, int32_t index, uintptr_t buffer, size_t length)"
    )
    (free,) = (f for f in functions if f.name == "ANeuralNetworksEvent_free")
    assert "if (event == NULL)\n        return;" in free.wrapper
