"""MODEL of the command line: a file with a model, or a Python object."""

import importlib
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnapi_shim.api.base_model import require_model
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data

if TYPE_CHECKING:
    from nnapi_shim.formats.importing.partial import PartialModel

Source = str | os.PathLike[str] | Model
"""A finished model; the path of a model file, optionally with `#signature`; or `module:attribute`,
`file.py:attribute`.
"""


def model_of(source: Source, signature: str | None = None, *, finish: bool = True) -> Model:
    """The finished model of a source.

    source: a file that nnapi_shim.load reads, or `file#signature`, either followed by sizes of
    inputs, `@NAME=SIZE,SIZE...`; a Python file, which is run and must define `model` or a single
    model; `module:attribute` or `file.py:attribute`, a model or a function without arguments that
    returns one. signature: alternative to `#signature`. finish: whether to finish an unfinished
    model of a Python file.

    Raises NnapiError for an invalid source, and OSError for a file that cannot be read.
    """
    if isinstance(source, Model):
        return source
    text = path_of(source)
    module, colon, attribute = text.rpartition(":")
    if colon and attribute.isidentifier() and not Path(text).exists():
        loaded = _attribute(module, attribute)
    elif text.endswith(".py"):
        loaded = _only_model(text, _ran(text))
    else:
        from nnapi_shim.formats.load import load

        path, shapes = shapes_of(text)
        path, chosen = file_of(path)
        loaded = load(path, signature=signature or chosen, shapes=shapes)
    model = _called(text, loaded)
    if not isinstance(model, Model):
        raise bad_data(
            f"{text} is a {type(model).__name__}; it must be a nnapi_shim.Model",
            "source.not-a-model",
        )
    if finish and model.runtime.state == "building":
        model.finish()
    return model


def partial_of(source: Source) -> "Model | PartialModel":
    """The model of a source as in `model_of`; for a .tflite or .onnx file a partial model, in which
    LiteRT or ONNX Runtime runs the parts that NNAPI cannot express.

    Raises as `model_of`, and ImportError if a package that reads the file is missing.
    """
    if not isinstance(source, Model):
        path, shapes = shapes_of(path_of(source))
        path, signature = file_of(path)
        if path.endswith((".tflite", ".onnx")):
            from nnapi_shim.formats.load import load

            return load(path, signature=signature, partial=True, shapes=shapes)
    return model_of(source)


def path_of(source: str | os.PathLike[str]) -> str:
    """The path of a model file as text; raises TypeError for another object."""
    if not isinstance(source, str | os.PathLike):
        require_model(source)
    return os.fspath(source)


def file_of(text: str) -> tuple[str, str | None]:
    """The path in `file#signature`, and the signature or None."""
    path, mark, signature = text.rpartition("#")
    return (path, signature) if mark and not Path(text).exists() else (text, None)


def shapes_of(text: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The path before `@x=1,224,224,3@y=7`, and the sizes of inputs.

    Raises BAD_DATA for sizes that are not integers.
    """
    if Path(text).exists():
        return text, {}
    path, *parts = text.split("@")
    while parts and "=" not in parts[0]:  # part of the path
        path = f"{path}@{parts.pop(0)}"
    shapes = {}
    for part in parts:
        name, _, sizes = part.rpartition("=")
        try:
            shapes[name] = tuple(int(size) for size in sizes.split(","))
        except ValueError:
            raise bad_data(
                f"{text}: @{part} is not NAME=SIZE,SIZE..., with integers", "source.shapes"
            ) from None
    return path, shapes


def name_of(source: Source) -> str:
    """The name of a model in reports: its file's name, or ""."""
    return "" if isinstance(source, Model) else os.path.basename(os.fspath(source))  # noqa: PTH119


def _attribute(module: str, attribute: str) -> Any:
    if module.endswith(".py"):
        names = _ran(module)
    else:
        names = vars(_guarded(module, lambda: _imported(module)))
    if attribute not in names:
        raise bad_data(f"{module} has no {attribute!r}", "source.no-attribute")
    return names[attribute]


def _imported(name: str) -> Any:
    """Import a module, also from the current folder, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(name)


def _ran(path: str) -> dict[str, Any]:
    """The global names of a Python file after it was run."""
    Path(path).open("rb").close()  # a missing file raises OSError, not an error of its code
    return _guarded(path, lambda: runpy.run_path(path))  # type: ignore[no-any-return]


def _only_model(path: str, names: dict[str, Any]) -> Any:
    if "model" in names:
        return names["model"]
    models = {id(item): item for item in names.values() if isinstance(item, Model)}
    if len(models) == 1:
        return next(iter(models.values()))
    if not models:
        raise bad_data(f"{path} has no nnapi_shim.Model", "source.no-model")
    raise bad_data(
        f"{path} has {len(models)} models and none that is called `model`; {path}:NAME chooses",
        "source.which-model",
    )


def _called(what: str, value: Any) -> Any:
    if isinstance(value, Model) or not callable(value):
        return value
    return _guarded(what, value)


def _guarded(what: str, call: Callable[[], Any]) -> Any:
    """The result of foreign code; its exceptions become a one-line NnapiError with the location."""
    try:
        return call()
    except NnapiError as error:
        raise error.at(what) from None
    except (Exception, SystemExit) as error:
        if isinstance(error, MemoryError):
            raise
        raise bad_data(
            f"{what}{_line(what, error)}: {type(error).__name__}: {error}", "source.python"
        ) from None


def _line(what: str, error: BaseException) -> str:
    """The line in the file that raised the error, if it is in that file."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == what:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f", line {line}"
