"""All problems of a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nnapi_shim.api.lint import lint as problems_of
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, Place
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.hal.types import Model as HalModel
from nnapi_shim.operations import bound_operand, bound_operation, operation
from nnapi_shim.operations.declare import UNSET
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.report import Report

_NO_MODEL = ("source.", "file.", "import.", "capture.", "driver.")
"""Prefixes of rules about loading a model, as opposed to its content."""


@dataclass(frozen=True)
class Finding:
    """A problem of a model.

    severity: `error` for a violation that finish or a computation refuses, `warning` for a legal
    but probably unintended use. code: the result code of an error; None for a warning. rule: as in
    docs/rules.md; "" for a warning. places: its location, kind, number and name, outermost first.
    """

    severity: str
    code: ResultCode | None
    rule: str
    message: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Lint(Report):
    """All findings, in the order in which finish and a run would report them."""

    model: str
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """The number of errors."""
        return sum(finding.severity == "error" for finding in self.findings)


def lint(source: Source) -> Lint:
    """Check a model; an unfinished model stays unfinished.

    Raises NnapiError and OSError if there is no model.
    """
    try:
        model = model_of(source, finish=False)
    except NnapiError as error:
        if error.rule.startswith(_NO_MODEL):
            raise
        return Lint(name_of(source), (_finding(error),))
    findings = [_finding(error) for error in problems_of(model)]
    return Lint(name_of(source), (*findings, *_warnings(model)))


def _finding(error: NnapiError) -> Finding:
    return Finding("error", error.code, error.rule, error.message, error.places)


def _warnings(model: Model) -> Iterator[Finding]:
    if model.runtime.state != "finished":
        return
    main = model.finished.main
    for item in main.operations:
        if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
            continue
        for remark in operation(item.type).remarks:
            text = remark(_bound(item, model.finished))
            if text:
                place = Place("operation", item.number, item.type.name)
                yield Finding("warning", None, "", f"{place}: {text}", (place,))


def _bound(item: Any, model: HalModel) -> Any:
    operands = model.main.operands

    def bound(index: int) -> Any:
        return bound_operand(index, operands[index], operands[index].dimensions)

    return bound_operation(
        item, operands, lambda index, is_value: UNSET if is_value else bound(index), bound
    )
