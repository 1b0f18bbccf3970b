"""Decides which calls get a fault, and reports each."""

import json
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b

from nnapi_shim import log, process
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.phones.fault_rules import FaultRule, FaultRules, parsed
from nnapi_shim.settings import FAULTS, PROFILE


class Fault(NamedTuple):
    """An injected fault: its number in this process, its rule, the number of the call among those
    that match the rule, and where it happens.
    """

    number: int
    rule: FaultRule
    call: int
    where: str

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
        self.observers: list[Callable[[Fault], None]] = []
        """Called for each fault, on the thread on which it happens."""
        self._calls = [0] * len(rules.rules)
        self._injected = 0
        self._lock = process.lock()
        self._process = os.getpid()
        self._has_end = False

    def at_function(self, name: str) -> list[Fault]:
        """The faults of a call of the C API."""
        return self._faults(name, lambda rule: rule.function == name)

    def at_device(self, device: str, place: str, without: Sequence[str] = ()) -> list[Fault]:
        """The faults of a call of a device. without: values of `do` that the call cannot have."""
        return self._faults(
            f"{device}, {place}",
            lambda rule: (
                rule.place == place and rule.device in ("", device) and rule.deed not in without
            ),
        )

    def is_drawn(self, fault: Fault, index: int) -> bool:
        """Whether one of several things of a call, such as its operations, gets the fault: half of
        them, others in each call.
        """
        return self._drawn(f"{fault.rule.text} {fault.call} {index}") < 0.5

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
                fault = Fault(self._injected, rule, call, where)
            log.warning(f"injected fault {fault.number}: {where}, call {call}: {rule.text}")
            self.report({"fault": fault.number, "where": where, "rule": rule.text})
            for observer in self.observers:
                observer(fault)
            faults.append(fault)
        return faults

    def _is_hit(self, at: int, rule: FaultRule, call: int) -> bool:
        if rule.nth:
            return call == rule.nth
        if rule.probability == 1:
            return True
        return self._drawn(f"{at} {call}") < rule.probability

    def _drawn(self, text: str) -> float:
        """A number from 0 to 1, the same for the same seed and text."""
        digest = blake2b(f"{self.rules.seed} {text}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") / 2**64

    def end_with(self, at_exit: Callable[[Callable[[], None]], None]) -> None:
        """Let `finish` be called at the end of the process, once."""
        if not self._has_end:
            self._has_end = True
            at_exit(self.finish)

    def finish(self) -> None:
        """At the end of the process: report the rules that no call has matched."""
        if self.is_forked():
            return
        for rule, calls in zip(self.rules.rules, self._calls, strict=True):
            if not calls:
                log.warning(f"{FAULTS.name}: no call has matched {rule.text!r}")
            elif calls < rule.nth:
                log.warning(
                    f"{FAULTS.name}: fewer calls than nth have matched {rule.text!r}: {calls}"
                )

    def is_forked(self) -> bool:
        """Whether this is a child of fork() of the process with the report."""
        return os.getpid() != self._process

    def report(self, entry: dict[str, Any]) -> None:
        """Append an entry to the report, if there is one; a child of fork() writes none but one
        with `forked`.
        """
        if not self.rules.report or (self.is_forked() and "forked" not in entry):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            fd = os.open(self.rules.report, flags, 0o600)
        except OSError:  # the program has given up the right to write it
            return
        try:
            os.write(fd, f"{json.dumps(entry)}\n".encode())
        finally:
            os.close(fd)


_made: dict[tuple[str, str], Injector] = {}
_instead: list[Injector] = []


def injector() -> Injector:
    """The injector of the setting and the profile; made once. Raises BAD_DATA for rules, or a
    profile, that are not valid.
    """
    if _instead:
        return _instead[0]
    key = FAULTS.get(), PROFILE.get()
    made = _made.get(key)
    if made is None:
        made = _made.setdefault(key, Injector(parsed("; ".join((*_of_profile(), key[0])))))
    return made


def _of_profile() -> tuple[str, ...]:
    """The rules of the profile; they come first, so that the seed of the setting holds."""
    if not PROFILE.get():
        return ()
    from nnapi_shim.phones.current import current

    return current().faults


def is_asked_for() -> bool:
    """Whether the setting or the profile has faults. A profile that cannot be used has none: calls
    that need it are refused with the reason.
    """
    if FAULTS.get():
        return True
    try:
        return bool(_of_profile())
    except NnapiError:
        return False


def use(made: Injector) -> None:
    """Use another injector in this process, from its start on."""
    _instead[:] = [made]
