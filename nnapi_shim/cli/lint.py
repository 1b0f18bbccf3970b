"""`nnapi-shim lint`."""

from typing import TYPE_CHECKING

import typer

from nnapi_shim.cli.arguments import Force, ModelPath
from nnapi_shim.cli.output import AsJson, present, write
from nnapi_shim.units import count

if TYPE_CHECKING:
    from nnapi_shim.tools.lint import Lint

PROBLEMS = 1
"""Exit code if there are errors."""


def lint(model: ModelPath, as_json: AsJson = None, force: Force = False) -> None:
    """Report all problems of a model with their rules; exit code 1 if there are errors.

    The model of a Python file may be unfinished.

    Example: nnapi-shim lint model.py:broken --json
    """
    from nnapi_shim.tools.lint import lint as find

    report = find(model)
    present(report, as_json, force, _show)
    if report.errors:
        raise typer.Exit(PROBLEMS)


def _show(report: "Lint") -> None:
    for item in report.findings:
        code = f"{item.code.name}: " if item.code is not None else ""
        rule = f" [{item.rule}]" if item.rule else ""
        write(f"{item.severity}: {code}{item.message}{rule}")
    warnings = len(report.findings) - report.errors
    write(f"{count(report.errors, 'error')}, {count(warnings, 'warning')}")
