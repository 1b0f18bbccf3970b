"""MODEL of the command line: a file with a model, or a Python object that is one."""

import importlib
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data

if TYPE_CHECKING:
    from nnapi_shim.formats.tflite.partial import PartialModel

Source = str | os.PathLike[str] | Model
"""A finished model; the path of a file with one, and behind a `#` which of several; or
`module:attribute`, `file.py:attribute`.
"""


def model_of(source: Source, signature: str | None = None, *, finish: bool = True) -> Model:
    """The finished model that is meant.

    source: a file that nnapi_shim.load reads, `file#signature`, and behind either the sizes of
    inputs, `@NAME=SIZE,SIZE...`; a Python file, which is run,
    with a model in `model` or one model alone; `module:attribute` or `file.py:attribute`, a model
    or a function without arguments that makes one. signature: the same as behind the `#`. finish:
    whether to finish a model of a Python file that is not.

    Raises NnapiError for what is no such thing, and OSError for a file that cannot be read.
    """
    if isinstance(source, Model):
        return source
    text = os.fspath(source)
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
    """What is meant, as `model_of` says; of a .tflite file a model in parts, of which LiteRT runs
    those that NNAPI cannot express.

    Raises as `model_of`, and ImportError without what reads the file.
    """
    if not isinstance(source, Model):
        path, signature = file_of(os.fspath(source))
        if path.endswith(".tflite"):
            from nnapi_shim.formats.load import load

            return load(path, signature=signature, partial=True)
    return model_of(source)


def file_of(text: str) -> tuple[str, str | None]:
    """The path in `file#signature`, and the signature or None."""
    path, mark, signature = text.rpartition("#")
    return (path, signature) if mark and not Path(text).exists() else (text, None)


def shapes_of(text: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """What stands before `@x=1,224,224,3@y=7`, and the sizes of inputs behind it.

    Raises BAD_DATA for sizes that are no whole numbers.
    """
    if Path(text).exists():
        return text, {}
    path, *parts = text.split("@")
    while parts and "=" not in parts[0]:  # of the path
        path = f"{path}@{parts.pop(0)}"
    shapes = {}
    for part in parts:
        name, _, sizes = part.rpartition("=")
        try:
            shapes[name] = tuple(int(size) for size in sizes.split(","))
        except ValueError:
            raise bad_data(
                f"{text}: @{part} is no NAME=SIZE,SIZE... of whole numbers", "source.shapes"
            ) from None
    return path, shapes


def name_of(source: Source) -> str:
    """What a model is called in reports: its file's name, or ""."""
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
    """A module, also from the current folder, as `python -m` has it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(name)


def _ran(path: str) -> dict[str, Any]:
    """The names that a Python file leaves behind."""
    Path(path).open("rb").close()  # a file that is not there is no fault of what is in it
    return _guarded(path, lambda: runpy.run_path(path))  # type: ignore[no-any-return]


def _only_model(path: str, names: dict[str, Any]) -> Any:
    if "model" in names:
        return names["model"]
    models = {id(item): item for item in names.values() if isinstance(item, Model)}
    if len(models) == 1:
        return next(iter(models.values()))
    raise bad_data(
        f"{path} has {len(models)} models and none that is called `model`; {path}:NAME chooses",
        "source.which-model",
    )


def _called(what: str, value: Any) -> Any:
    if isinstance(value, Model) or not callable(value):
        return value
    return _guarded(what, value)


def _guarded(what: str, call: Callable[[], Any]) -> Any:
    """What other people's code gives; whatever it raises is one line that says where."""
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
    """Where in the file that was run it happened, if it was in that file."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == what:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f", line {line}"
