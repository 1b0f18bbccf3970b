"""Reports the findings of NNAPI_SHIM_CHECK: each once, those that are not suppressed."""

import json
import os

from nnapi_shim import log, process
from nnapi_shim.phones.check_rules import LEVEL, Checks, Suppression, level_of
from nnapi_shim.settings import CHECK


class CheckReport:
    """The findings of this process. Thread-safe; a fork reports nothing."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._known: set[object] = set()
        self._used: set[Suppression] = set()
        self._lock = process.lock()
        self._process = os.getpid()

    def asks_for(self, check: str) -> bool:
        """Whether a check is asked for."""
        return check == LEVEL or check in self._checks.ids

    def finding(self, check: str, about: object, text: str) -> None:
        """Report a finding, once for what it is about."""
        if not self.asks_for(check):
            return
        with self._lock:
            if (check, about) in self._known or os.getpid() != self._process:
                return
            self._known.add((check, about))
            if self._is_suppressed(check, text):
                return
        log.warning(f"check {check} ({level_of(check)}): {text}")
        if self._checks.report:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            try:
                fd = os.open(self._checks.report, flags, 0o600)
            except OSError:  # the program has given up the right to write it
                return
            try:
                os.write(fd, f"{json.dumps({'check': check, 'text': text})}\n".encode())
            finally:
                os.close(fd)

    def _is_suppressed(self, check: str, text: str) -> bool:
        if not self._checks.suppressions:
            return False
        from fnmatch import fnmatchcase

        for it in self._checks.suppressions:
            if it.check in ("*", check) and fnmatchcase(text, it.pattern):
                self._used.add(it)
                return True
        return False

    def finish(self) -> None:
        """At the end of the process: name the suppressions that have matched nothing."""
        if os.getpid() != self._process:
            return
        for it in self._checks.suppressions:
            if it not in self._used:
                text = f"{it.where} has suppressed nothing: {it.check}: {it.pattern}"
                log.warning(f"{CHECK.name}: {text}")
