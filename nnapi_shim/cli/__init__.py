"""The command `nnapi-shim`, which prints the results of nnapi_shim.tools.

`main` is the entry point. An error is one line on stderr and exit code 2; Ctrl-C is exit code 130.
"""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nnapi_shim.cli import plain
from nnapi_shim.cli.plain import NAME
from nnapi_shim.errors import NnapiError
from nnapi_shim.extras import install_command

REFUSED, INTERRUPTED = 2, 130
"""Exit codes."""

OPTIONS = {"overwrite=True": "--force"}
"""Argument of the Python API in a message -> option of the command."""

EXTRAS = {
    "typer": ("tools", ""),
    "rich": ("tools", ""),
    "matplotlib": ("tools", ""),
    "PIL": ("tools", ""),
    "tflite": ("tflite", ""),
    "flatbuffers": ("tflite", ""),
    "onnx": ("onnx", ""),
    "model_explorer": ("explorer", ""),
    "ai_edge_litert": ("bench", "ai-edge-litert"),
    "onnxruntime": ("bench", "onnxruntime"),
    "openvino": ("bench", "openvino"),
    "numpy": ("", "numpy"),
}
"""Imported package -> (extra of nnapi_shim, package). "" is no extra, or all packages of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; arguments: those of the process by default."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names may not be encodable
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except NnapiError as error:
        message = error.message
        for argument, option in OPTIONS.items():
            message = message.replace(argument, option)
        return _refused(message)
    except BrokenPipeError:
        _leave_stdout()
        return _refused("nobody reads the output any more")
    except OSError as error:
        if error.filename is None:  # most likely an error of stdout
            _leave_stdout()
        return _refused(_of_file(error))
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        return _refused(_missing(package))
    except MemoryError:
        return _refused("there is not enough memory")
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    text = plain.run(words)
    if text is not None:
        sys.stdout.write(f"{text}\n")
        return 0
    import typer

    from nnapi_shim.cli.app import app
    from nnapi_shim.cli.output import UnreadError, with_json_values

    usage_error: Any = typer.BadParameter.__base__
    try:
        result = app(with_json_values(words), prog_name=NAME, standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except UnreadError:
        raise BrokenPipeError from None
    except usage_error as error:  # a missing, unknown or invalid argument
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else NAME
        message = error.format_message().removeprefix("Invalid value: ").rstrip(".")
        return _refused(f"{message}; see `{command} --help`")
    return result if isinstance(result, int) else 0


def _refused(message: str) -> int:
    plain.print_error(message)
    return REFUSED


def _of_file(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def _missing(package: str) -> str:
    extra, one = EXTRAS[package]
    command = install_command(extra, one) if extra else f"pip install {one}"
    return f"this needs the package {package}, which is not there; `{command}`"


def _leave_stdout() -> None:
    """Replace a closed stdout, so that the interpreter's exit does not fail on it."""
    if sys.stdout is None:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
