"""The rules of NNAPI_SHIM_FAULTS: where a fault is injected, and which (docs/testing.md).

    function=ANeuralNetworksExecution_compute nth=2 code=DEAD_OBJECT; device=npu do=nan; seed=7

Rules are separated by semicolons, the parts of a rule by spaces. `file=PATH` stands for the rules
of a file, one per line.
"""

from pathlib import Path

from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.levels import FUNCTION_LEVELS
from nnapi_shim.hints import NamedTuple

PREFIX = "ANeuralNetworks"
PLACES = ("supported", "prepare", "run")
"""Calls of a device: what it takes, compiling, computing."""
DEEDS = {
    "unsupported": "supported",
    "fewer": "supported",
    "no-cache": "prepare",
    "damaged-cache": "prepare",
    "lost": "run",
    "hang": "run",
    "too-small": "run",
    "nan": "run",
    "ulp": "run",
    "step": "run",
}
"""Value of `do` -> the call of a device that it belongs to."""
EVENT_DEEDS = ("no-signal", "error-signal")
"""Values of `do` for functions that make an event."""
EVENT_FUNCTIONS = (
    "ANeuralNetworksExecution_startCompute",
    "ANeuralNetworksExecution_startComputeWithDependencies",
    "ANeuralNetworksEvent_createFromSyncFenceFd",
)

_CODES = {code.name: code for code in ResultCode if code is not ResultCode.NO_ERROR}
_PLAIN = ("_getDefaultLoopTimeout", "_getMaximumLoopTimeout", "_getRuntimeFeatureLevel")
FUNCTIONS = frozenset(
    name
    for name in FUNCTION_LEVELS
    if not name.endswith("_free") and name.removeprefix(PREFIX) not in _PLAIN
)
"""The functions that can fail."""
_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_LONGEST_S = 3600
"""The longest delay."""


class FaultRule(NamedTuple):
    """A rule.

    text: as it was written. function: of the C API, "" for a rule of a device. device: its name,
    "" for any. place: the call of the device, "" for a function. nth: the matching call, from 1; 0
    for all.
    probability: of each matching call. code, delay_s, deed: what happens; None, 0 and "" for
    nothing.
    """

    text: str
    function: str
    device: str
    place: str
    nth: int
    probability: float
    code: ResultCode | None
    delay_s: float
    deed: str


class FaultRules(NamedTuple):
    """All rules, and the words that hold for all."""

    rules: tuple[FaultRule, ...]
    seed: int
    report: str
    """File for a report that `nnapi-shim exec --sweep` reads; "" for none."""


def parsed(text: str) -> FaultRules:
    """The rules of a text; raises BAD_DATA."""
    rules: list[FaultRule] = []
    seed, report = 0, ""
    for part in _parts(text):
        if part.startswith("report="):
            report = part.removeprefix("report=")
            continue
        words = _words(part)
        if "seed" in words:
            if len(words) > 1:
                raise bad_data(f"{part!r} has more than seed=NUMBER", "fault.seed")
            seed = _number(part, "seed", words["seed"], 0)
            continue
        rules.append(_rule(part, words))
    return FaultRules(tuple(rules), seed, report)


def with_absolute_files(text: str) -> str:
    """The same rules, for a process in another folder."""
    parts = text.split(";")
    for at, part in enumerate(parts):
        if part.strip().startswith("file="):
            path = part.strip().removeprefix("file=")
            parts[at] = f" file={Path(path).absolute()}"
    return ";".join(parts).strip()


def _parts(text: str) -> list[str]:
    """The parts between semicolons; in place of `file=PATH`, the rules of that file."""
    parts: list[str] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        if not part.startswith("file="):
            parts.append(part)
            continue
        path = part.removeprefix("file=")
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise bad_data(f"{part!r} cannot be read: {reason}", "fault.file") from None
        rules = "; ".join(line.partition("#")[0] for line in lines)
        if any(rule.strip().startswith("file=") for rule in rules.split(";")):
            raise bad_data(
                f"{path} has file=, which files of rules cannot have", "fault.file-in-file"
            )
        parts += _parts(rules)
    return parts


_KNOWN = ("function", "device", "at", "nth", "probability", "code", "delay", "do", "seed")


def _words(part: str) -> dict[str, str]:
    words: dict[str, str] = {}
    for word in part.split():
        key, equals, value = word.partition("=")
        if not equals or key not in _KNOWN:
            message = f"{part!r} has {word!r}; allowed are {', '.join(f'{it}=' for it in _KNOWN)}"
            raise bad_data(message, "fault.unknown-word")
        if key in words:
            raise bad_data(f"{part!r} has {key}= twice", "fault.twice")
        words[key] = value
    return words


def rule_of(text: str) -> FaultRule:
    """A single rule; raises BAD_DATA."""
    return _rule(text, _words(text))


def _rule(part: str, words: dict[str, str]) -> FaultRule:
    function = _function(part, words["function"]) if "function" in words else ""
    deed = words.get("do", "")
    if deed and deed not in (*DEEDS, *EVENT_DEEDS):
        message = f"{part!r}: do is {deed!r}; allowed are {', '.join((*DEEDS, *EVENT_DEEDS))}"
        raise bad_data(message, "fault.deed")
    place = words.get("at", "" if function else DEEDS.get(deed, "run"))
    if place and place not in PLACES:
        message = f"{part!r}: at is {place!r}; allowed are {', '.join(PLACES)}"
        raise bad_data(message, "fault.place")
    if function and ("device" in words or place or deed in DEEDS):
        message = (
            f"{part!r}: function= takes no device=, at= and do=, which are of devices, except "
            f"{' and '.join(f'do={it}' for it in EVENT_DEEDS)}"
        )
        raise bad_data(message, "fault.function-or-device")
    if not function and "device" not in words:
        raise bad_data(f"{part!r} names no function= and no device=", "fault.nowhere")
    _require_place_of(part, deed, function, place)
    code = words.get("code")
    if code is not None and code not in _CODES:
        message = f"{part!r}: code is {code!r}; allowed are {', '.join(_CODES)}"
        raise bad_data(message, "fault.code")
    if code is not None and deed:
        raise bad_data(f"{part!r} has code= and do=; one of them is allowed", "fault.both")
    if "nth" in words and "probability" in words:
        message = f"{part!r} has nth= and probability=; one of them is allowed"
        raise bad_data(message, "fault.both")
    delay_s = _seconds(part, words["delay"]) if "delay" in words else 0.0
    if code is None and not deed and not delay_s:
        raise bad_data(f"{part!r} does nothing; it needs code=, do= or delay=", "fault.nothing")
    return FaultRule(
        part,
        function,
        "" if words.get("device") == "any" else words.get("device", ""),
        place,
        _number(part, "nth", words["nth"], 1) if "nth" in words else 0,
        _probability(part, words.get("probability", "1")),
        None if code is None else _CODES[code],
        delay_s,
        deed,
    )


def _require_place_of(part: str, deed: str, function: str, place: str) -> None:
    """Raise BAD_DATA for a `do` of another place."""
    if deed in EVENT_DEEDS and function not in EVENT_FUNCTIONS:
        message = f"{part!r}: do={deed} belongs to function= {' or '.join(EVENT_FUNCTIONS)}"
        raise bad_data(message, "fault.deed-of-events")
    if deed in DEEDS and DEEDS[deed] != place:
        message = f"{part!r}: do={deed} belongs to at={DEEDS[deed]}"
        raise bad_data(message, "fault.deed-elsewhere")


def _function(part: str, name: str) -> str:
    full = name if name.startswith(PREFIX) else PREFIX + name
    if full in FUNCTIONS:
        return full
    from difflib import get_close_matches

    near = ", ".join(get_close_matches(full, sorted(FUNCTIONS), 3, 0))
    message = f"{part!r}: there is no function {name!r} that can fail; near are {near}"
    raise bad_data(message, "fault.function")


def _number(part: str, name: str, text: str, lowest: int) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) < lowest:
        message = f"{part!r}: {name} is {text!r}; it must be a number from {lowest}"
        raise bad_data(message, "fault.number")
    return int(text)


def _probability(part: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        message = f"{part!r}: probability is {text!r}; it must be above 0 and at most 1"
        raise bad_data(message, "fault.probability")
    return value


def _seconds(part: str, text: str) -> float:
    for unit, factor in _UNITS_S.items():
        number = text.removesuffix(unit)
        if text.endswith(unit) and number.replace(".", "", 1).isdecimal():
            seconds = float(number) * factor
            if seconds <= _LONGEST_S:
                return seconds
    message = f"{part!r}: delay is {text!r}; write 20ms, 5us or 1.5s, at most {_LONGEST_S}s"
    raise bad_data(message, "fault.delay")
