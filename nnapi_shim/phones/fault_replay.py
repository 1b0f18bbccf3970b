"""Repeats the faults of a capture, for `nnapi-shim replay --faults`."""

from collections.abc import Iterable, Sequence

from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any
from nnapi_shim.phones.fault_injector import Injector
from nnapi_shim.phones.fault_rules import FaultRule, FaultRules, rule_of


class RecordedFaults(Injector):
    """The faults of a capture. Those of functions happen in the calls that had them, those of
    devices when a rule matches as many calls as it had matched.
    """

    def __init__(self, recorded: Sequence[dict[str, Any]]) -> None:
        """recorded: `rule` and `call` of each fault. Raises BAD_DATA for a rule that is none."""
        self._hits: dict[str, set[int]] = {}
        """Rule -> calls, among those that match it, with the fault."""
        for fault in recorded:
            self._hits.setdefault(fault["rule"], set()).add(fault["call"])
        rules = [_repeatable(rule_of(text)) for text in self._hits]
        super().__init__(FaultRules(tuple(rules), 0, ""))
        self.recorded = len(recorded)
        self._now: set[str] = set()

    def arm(self, faults: Iterable[dict[str, Any]]) -> None:
        """The faults of the call that is repeated next."""
        self._now = {fault["rule"] for fault in faults}

    @property
    def injected(self) -> int:
        """How many faults have happened."""
        return self._injected

    def _is_hit(self, at: int, rule: FaultRule, call: int) -> bool:
        if rule.function:
            return rule.text in self._now
        return call in self._hits[rule.text]

    def finish(self) -> None:
        """The replay itself reports faults that it has not repeated."""


def _repeatable(rule: FaultRule) -> FaultRule:
    """A rule without what takes time: delays, and hangs, which have ended with a code."""
    if rule.deed == "hang":
        return rule._replace(deed="", code=ResultCode.MISSED_DEADLINE_PERSISTENT, delay_s=0)
    if rule.deed == "no-signal":
        return rule._replace(deed="", delay_s=0)
    return rule._replace(delay_s=0)
