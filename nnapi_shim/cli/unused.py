"""Options that have no effect because of others: they are refused, by one table for all commands.

`--force` alone is accepted everywhere, for scripts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import typer

_SAVED = ".json"


class Call:
    """The arguments of a command; options by their names on the command line."""

    def __init__(self, context: Any) -> None:
        self._values: dict[str, Any] = {}
        self.given: list[str] = []
        """The options that the user has written, by their first names."""
        for parameter in context.command.params:
            for name in parameter.opts:
                self._values[name] = context.params.get(parameter.name)
            source = context.get_parameter_source(parameter.name)
            if source is not None and source.name == "COMMANDLINE":
                self.given.append(parameter.opts[0])

    def __getitem__(self, name: str) -> Any:
        """The value of an option, or of an argument by its parameter's name."""
        return self._values[name]

    def has(self, *names: str) -> bool:
        """Whether any of these options is given."""
        return any(name in self.given for name in names)


class Rule(NamedTuple):
    """Options of commands that have no effect in a case. options: "" for all except `used`."""

    commands: str
    options: str
    why: str
    applies: Callable[[Call], bool]
    used: str = ""


def is_saved_run(model: str) -> bool:
    """Whether the model of `bench` is a saved run."""
    return Path(model).suffix == _SAVED


def is_operation(what: str) -> bool:
    """Whether `explain` describes an operation; files have suffixes."""
    return what.isidentifier() and not Path(what).exists()


def _has_no_picture(call: Call) -> bool:
    from nnapi_shim.tools.input_files import KINDS

    return all(Path(text).suffix.lower() in KINDS for text in call["--input"] or ())


def _is_no_file(call: Call) -> bool:
    from nnapi_shim.tools.model_source import file_of, shapes_of

    return not file_of(shapes_of(call["model"])[0])[0].endswith((".tflite", ".onnx"))


def _measures_nothing(call: Call) -> bool:
    return not call.has("--diff", "--profile") and call["--colour"] not in ("error", "time")


RULES = (
    Rule("run bench profile diff", "--seed", "with --input", lambda c: c.has("--input")),
    Rule(
        "run bench profile diff",
        "--resize --mean --std",
        "without a picture as input",
        _has_no_picture,
    ),
    Rule("run", "--atol --rtol --steps", "without --expect", lambda c: not c.has("--expect")),
    Rule("run", "--labels", "with --top 0", lambda c: c["--top"] == 0),
    Rule("run", "--partial", "on a model that is no .tflite or .onnx file", _is_no_file),
    Rule("bench", "--seconds", "with --runs", lambda c: c["--runs"] > 0),
    Rule("bench", "--samples", "without --json", lambda c: not c.has("--json")),
    Rule(
        "bench",
        "",
        "on two saved runs",
        lambda c: c.has("--against") and is_saved_run(c["model"]),
        used="model --against --json --force",
    ),
    Rule("profile", "--kernel-threads", "without --scaling", lambda c: not c.has("--scaling")),
    Rule(
        "profile",
        "--device --steps --top --no-peaks --trace --picture",
        "with --scaling",
        lambda c: c.has("--scaling"),
    ),
    Rule("profile", "--steps --top", "on --json, which has all", lambda c: c.has("--json")),
    Rule(
        "diff",
        "--isolated --atol --rtol --steps --picture",
        "with --float",
        lambda c: c.has("--float"),
    ),
    Rule(
        "calibrate",
        "--device --seconds",
        "with --show or --forget",
        lambda c: c.has("--show", "--forget"),
    ),
    Rule("calibrate", "--show --json", "with --forget", lambda c: c.has("--forget")),
    Rule("explain", "--device --preference", "on an operation", lambda c: is_operation(c["what"])),
    Rule(
        "graph",
        "--colour --profile --diff --device",
        "on --json alone, which has no colours",
        lambda c: not c.has("--output", "--node-data", "--explorer"),
    ),
    Rule(
        "graph",
        "--isolated --atol --rtol --steps",
        "without --diff",
        lambda c: not c.has("--diff") and c["--colour"] != "error",
    ),
    Rule("graph", "--input", "without --diff or --profile", _measures_nothing),
    Rule("graph", "--port --no-open", "without --explorer", lambda c: not c.has("--explorer")),
    Rule(
        "replay",
        "--device --last --json",
        "with --to-c or --to-python",
        lambda c: c.has("--to-c", "--to-python"),
    ),
    Rule(
        "exec",
        "--junit --jobs --limit --calls --json",
        "without --sweep",
        lambda c: not c.has("--sweep"),
    ),
    Rule("profiles", "--from --output", "without new", lambda c: c["action"] != "new"),
    Rule("profiles", "--json", "on new", lambda c: c["action"] == "new"),
    Rule("config", "", "with --json, which has all", lambda c: c.has("--json"), "--json --force"),
)


def require_used(context: Any) -> None:
    """Raise for the first option of a command that has no effect."""
    call = Call(context)
    for rule in RULES:
        if context.command.name not in rule.commands.split():
            continue
        options = rule.options.split() or [
            name for name in call.given if name not in rule.used.split()
        ]
        unused = [name for name in options if call.has(name)]
        if unused and rule.applies(call):
            raise typer.BadParameter(f"{unused[0]} has no effect {rule.why}", ctx=context)
