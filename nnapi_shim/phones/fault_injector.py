"""Decides which calls get a fault, and reports each."""

import json
import os
from hashlib import blake2b

from nnapi_shim import log, process
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.phones.fault_rules import FaultRule, FaultRules, parsed
from nnapi_shim.settings import FAULTS


class Fault(NamedTuple):
    """An injected fault: its number in this process, its rule, and the matching call."""

    number: int
    rule: FaultRule
    call: int

    def error(self, where: str) -> NnapiError:
        """The error of a fault with a result code."""
        assert self.rule.code is not None
        return NnapiError(
            self.rule.code, f"injected fault {self.number} at {where}", "fault.injected"
        )


class Injector:
    """The rules of this process and their counters. Thread-safe.

    Whether a call gets a fault depends on the seed, the rule, and the number of the call among
    those that match the rule.
    """

    def __init__(self, rules: FaultRules) -> None:
        self.rules = rules
        self._calls = [0] * len(rules.rules)
        self._injected = 0
        self._lock = process.lock()
        self._process = os.getpid()

    def at_function(self, name: str) -> list[Fault]:
        """The faults of a call of the C API."""
        return self._faults(name, lambda rule: rule.function == name)

    def at_device(self, device: str, place: str) -> list[Fault]:
        """The faults of a call of a device."""
        return self._faults(
            f"{device}, {place}",
            lambda rule: rule.place == place and rule.device in ("", device),
        )

    def _faults(self, where: str, matches: Any) -> list[Fault]:
        faults = []
        for at, rule in enumerate(self.rules.rules):
            if not matches(rule):
                continue
            with self._lock:
                self._calls[at] += 1
                call = self._calls[at]
                if not self._is_hit(at, rule, call):
                    continue
                self._injected += 1
                fault = Fault(self._injected, rule, call)
            log.warning(f"injected fault {fault.number}: {where}, call {call}: {rule.text}")
            self.report({"fault": fault.number, "where": where, "rule": rule.text})
            faults.append(fault)
        return faults

    def _is_hit(self, at: int, rule: FaultRule, call: int) -> bool:
        if rule.nth:
            return call == rule.nth
        if rule.probability == 1:
            return True
        text = f"{self.rules.seed} {at} {call}".encode()
        drawn = int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        return drawn < rule.probability * 2**64

    def finish(self) -> None:
        """At the end of the process: report the rules that no call has matched."""
        if os.getpid() != self._process:
            return
        for rule, calls in zip(self.rules.rules, self._calls, strict=True):
            if not calls:
                log.warning(f"{FAULTS.name}: no call has matched {rule.text!r}")
            elif calls < rule.nth:
                log.warning(
                    f"{FAULTS.name}: {calls} calls have matched {rule.text!r}, fewer than nth"
                )

    def report(self, entry: dict[str, Any]) -> None:
        """Append an entry to the report, if there is one; a child of fork() writes none."""
        if not self.rules.report or os.getpid() != self._process:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(self.rules.report, flags, 0o600)
        try:
            os.write(fd, f"{json.dumps(entry)}\n".encode())
        finally:
            os.close(fd)


_made: dict[str, Injector] = {}


def injector() -> Injector:
    """The injector of the setting; made once. Raises BAD_DATA for rules that are not valid."""
    text = FAULTS.get()
    made = _made.get(text)
    if made is None:
        made = _made.setdefault(text, Injector(parsed(text)))
    return made
