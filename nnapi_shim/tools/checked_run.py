"""Runs a program with the checks of NNAPI_SHIM_CHECK; its exit code and the findings."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nnapi_shim import settings
from nnapi_shim.phones.check_rules import LEVELS, level_of, parsed
from nnapi_shim.tools.execute import cannot_run, program_path
from nnapi_shim.tools.report import Report

_OF_A_SIGNAL = 128


@dataclass(frozen=True)
class CheckedRun(Report):
    """A run. exit_code: of the program, or 128 plus the number of the signal that ended it.
    findings: check and text of each.
    """

    exit_code: int
    findings: list[tuple[str, str]]

    def has(self, level: str) -> bool:
        """Whether there is a finding of this level or a higher one."""
        lowest = LEVELS.index(level)
        return any(LEVELS.index(level_of(check)) >= lowest for check, _ in self.findings)


def run_checked(command: Sequence[str], variables: Mapping[str, str], checks: str) -> CheckedRun:
    """Run a program to its end; it has the terminal meanwhile.

    variables: its environment (execute.environment). checks: as NNAPI_SHIM_CHECK. Raises BAD_DATA
    for a check or a program that does not exist.
    """
    parsed(checks)
    path = program_path(command, variables)
    with tempfile.TemporaryDirectory(prefix="nnapi-shim-check-") as folder:
        report = Path(folder) / "report"
        environment = dict(variables) | {settings.CHECK.name: f"{checks} report={report}"}
        try:
            code = subprocess.run([path, *command[1:]], env=environment, check=False).returncode
        except OSError as error:
            raise cannot_run(path, error) from None
        lines = report.read_text().splitlines() if report.exists() else []
    entries = [json.loads(line) for line in lines]
    findings = [(entry["check"], entry["text"]) for entry in entries]
    return CheckedRun(code if code >= 0 else _OF_A_SIGNAL - code, findings)
