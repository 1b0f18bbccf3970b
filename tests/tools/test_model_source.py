"""MODEL of the command line: Python files and objects."""

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.tools.model_source import file_of, model_of
from tests.tools.models import quantized

SOURCE = """
from tests.tools.models import quantized
first = quantized()
"""


def write(path, text):
    path.write_text(text)
    return str(path)


def test_the_only_model_of_a_file(tmp_path) -> None:
    path = write(tmp_path / "some.py", SOURCE)
    assert len(model_of(path).operations) == 2


def test_one_of_several(tmp_path) -> None:
    path = write(tmp_path / "some.py", f"{SOURCE}second = quantized()\n")
    with pytest.raises(NnapiError, match="has 2 models and none that is called `model`"):
        model_of(path)
    assert model_of(f"{path}:second").runtime.state == "finished"
    assert len(model_of(f"{path}:quantized").operations) == 2
    with pytest.raises(NnapiError, match="has no 'third'"):
        model_of(f"{path}:third")


def test_a_module() -> None:
    assert len(model_of("tests.tools.models:quantized").operations) == 2


def test_a_model_itself() -> None:
    model = quantized()
    assert model_of(model) is model


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("x = 1\nraise RuntimeError('no')\n", r"some.py, line 2: RuntimeError: no"),
        ("x = (\n", r"some.py, line 1: SyntaxError"),
        ("import sys\nsys.exit(3)\n", r"some.py, line 2: SystemExit: 3"),
        ("model = 3\n", r"some.py is a int; it must be a nnapi_shim.Model"),
        ("import nnapi_shim\nnnapi_shim.Model().input('X')\n", r"some.py: there is no"),
    ],
)
def test_what_a_file_does_wrong(tmp_path, text, messages) -> None:
    with pytest.raises(NnapiError, match=messages):
        model_of(write(tmp_path / "some.py", text))


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        model_of(str(tmp_path / "none.py"))
    with pytest.raises(NnapiError, match=r"ModuleNotFoundError"):
        model_of("no_such_module:model")


def test_one_of_the_models_of_a_file(tmp_path) -> None:
    path = str(tmp_path / "a#b.tflite")
    assert file_of("model.tflite") == ("model.tflite", None)
    assert file_of("model.tflite#serving default") == ("model.tflite", "serving default")
    write(tmp_path / "a#b.tflite", "")
    assert file_of(path) == (path, None)
    assert file_of(f"{path}#main") == (path, "main")
