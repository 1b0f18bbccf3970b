"""Reads and checks a profile: version 1 of its JSON format, which docs/testing.md describes."""

from nnapi_shim.drivers.adoption import require_name
from nnapi_shim.drivers.reference.precision import Precision
from nnapi_shim.drivers.versioned.compliance import operand_level
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.enums import DeviceType, OperandType, OperationType
from nnapi_shim.hal.levels import ANDROID, FUNCTION_LEVELS
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Capabilities, Operand, PerformanceInfo
from nnapi_shim.hints import Any
from nnapi_shim.operations import operation
from nnapi_shim.phones import fault_rules
from nnapi_shim.phones.fields import Fields, shown
from nnapi_shim.phones.profile import (
    CPU,
    ONE_FILE,
    SCHEMA,
    CacheFiles,
    Delays,
    DeviceProfile,
    Profile,
    Rule,
)

COMPUTERS = ("nnapi-cpu", "nnapi-reference")
"""The devices that compute for those of a profile."""

_DEVICES = [kind.name for kind in DeviceType if kind is not DeviceType.UNKNOWN]
_OPERATIONS = [it.name for it in OperationType if it is not OperationType.OEM_OPERATION]
_TENSORS = [it.name for it in OperandType if it.name.startswith("TENSOR_") and "OEM" not in it.name]
_FIGURES = ("default", "relaxedFloat32", "relaxedFloat32Scalar", "if", "while")
"""Figures besides those of operand types."""
_DOMAINS = 4
"""The first feature level whose devices allocate memory."""
_CACHES = _BURSTS = 3
"""The first feature level whose devices keep compiled models, and have bursts."""
_MOST_FILES = 32
"""Of each kind, that a device may have for a compiled model."""
_LONGEST_US = 3_600_000_000
"""The longest delay: an hour."""
_HABITS = {
    "sums": ("float32", "float16"),
    "rounding": ("nearest", "zero"),
    "overflow": ("infinity", "saturate"),
    "subnormals": ("keep", "flush"),
}
"""Field of float16 -> allowed values, of which the first is the default."""


def parsed(data: Any, problems: list[NnapiError]) -> Profile | None:
    """The profile of a JSON value; None, with the problems, if something is wrong with it."""
    fields = Fields(data, "", problems)
    version = fields.take("schema", "a whole number")
    if version is not None and version != SCHEMA:
        message = f"is {version}; this library reads version {SCHEMA}"
        fields.refuse(bad_data(message, "profile.schema"), "schema")
        return None
    name = fields.take("name", "a text")
    if name is not None and not name.replace("-", "").replace(".", "").isalnum():
        message = f"is {shown(name)}; allowed are letters, digits, - and ."
        fields.refuse(bad_data(message, "profile.name"), "name")
    description = fields.take("description", "a text", "")
    fields.take("source", "a text", "")
    android = fields.among("android", list(ANDROID))
    known = ANDROID.get(android or "15", ANDROID["15"])
    level = _level(fields, "featureLevel", known.feature_level, 8)
    if known.feature_level != level and min(level, known.feature_level) < 5:
        message = f"is {level}; Android {android} has {known.feature_level}"
        fields.refuse(bad_data(message, "profile.runtime-level"), "featureLevel")
    computed_by = fields.among("computedBy", COMPUTERS, COMPUTERS[0])
    listed = fields.take("devices", "a list", [])
    devices = [_device(each, f"devices[{at}]", level, problems) for at, each in enumerate(listed)]
    names = [device.name for device in devices]
    _check_names(fields, names)
    faults = fields.take("faults", "a list of texts", [])
    for at, text in enumerate(faults):
        _check_fault(fields, f"faults[{at}]", text, [*names, CPU], known.api_level)
    fields.end()
    if problems:
        return None
    devices.append(_cpu(android, level, computed_by))
    return Profile(
        name, description, android, known.api_level, level, tuple(devices), tuple(faults)
    )


def _level(fields: Fields, name: str, default: Any, highest: int) -> int:
    """A feature level, 1 to `highest`; the default if it is missing."""
    level: int | None = fields.take(name, "a whole number", default)
    if level is None or not 1 <= level <= highest:
        if level is not None:
            message = f"is {level}; allowed are 1 to {highest}"
            fields.refuse(bad_data(message, "profile.level"), name)
        return highest
    return level


def _check_names(fields: Fields, names: list[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            message = f"is {name!r}, as that of device {names.index(name)}; names must differ"
            fields.refuse(bad_data(message, "profile.name-clash"), f"devices[{at}].name")


def _check_fault(fields: Fields, field: str, text: str, devices: list[str], api_level: int) -> None:
    """Refuse a rule that is none, and one for a device or function that the phone lacks."""
    if any(part.strip().startswith(("report=", "file=")) for part in text.split(";")):
        message = f"is {shown(text)}; a profile has no files of rules or for reports"
        fields.refuse(bad_data(message, "profile.fault"), field)
        return
    try:
        rules = fault_rules.parsed(text).rules
    except NnapiError as error:
        fields.refuse(error, field)
        return
    for rule in rules:
        if rule.device and rule.device not in devices:
            message = f"has device={rule.device}; the phone has {', '.join(devices)}"
            fields.refuse(bad_data(message, "profile.fault-device"), field)
        level = FUNCTION_LEVELS.get(rule.function, 0)
        if level > api_level:
            message = f"has {rule.function} of API level {level}; the phone has {api_level}"
            fields.refuse(bad_data(message, "profile.fault-function"), field)


def _cpu(android: str, level: int, computed_by: str) -> DeviceProfile:
    """The CPU device: it takes all operations of the runtime's level."""
    everything = Rule(None, None, None, None, None, None, None, False)
    one = PerformanceInfo(1.0, 1.0)
    figures = Capabilities(one, one, dict.fromkeys(OperandType, one), one, one)
    version = f"Android {android}"
    return DeviceProfile(
        *(CPU, version, DeviceType.CPU, level, computed_by, figures, None, Delays(), (everything,))
    )


def _device(data: Any, where: str, highest: int, problems: list[NnapiError]) -> DeviceProfile:
    fields = Fields(data, where, problems)
    name = fields.take("name", "a text") or ""
    try:
        require_name(name or "-")
    except NnapiError as error:
        fields.refuse(error, "name")
    if name in COMPUTERS:
        message = f"is {name!r}, a device of this library; it must be another one"
        fields.refuse(bad_data(message, "profile.name-taken"), "name")
    version = fields.take("version", "a text", "1")
    kind = DeviceType[fields.among("type", _DEVICES, "ACCELERATOR")]
    level = _level(fields, "featureLevel", highest, highest)
    computed_by = fields.among("computedBy", COMPUTERS, COMPUTERS[0])
    figures = _capabilities(fields.take("performance", "an object", {}), fields)
    caching = _caching(fields, level)
    delays = _delays(fields.take("delays", "an object", {}), fields, level)
    has_domains = fields.take("memoryDomains", "true or false", level >= _DOMAINS)
    if has_domains and level < _DOMAINS:
        message = (
            f"is true; devices have them from feature level {_DOMAINS} on, this one has {level}"
        )
        fields.refuse(bad_data(message, "profile.memory-domains"), "memoryDomains")
    half = fields.take("float16", "an object", None)
    float16 = None if half is None else _float16(half, fields)
    listed = fields.take("operations", "a list", [])
    rules = [
        _rule(each, fields.path(f"operations[{at}]"), level, problems)
        for at, each in enumerate(listed)
    ]
    fields.end()
    return DeviceProfile(
        name,
        version,
        kind,
        level,
        computed_by,
        figures,
        caching,
        delays,
        tuple(rules),
        float16,
        has_domains,
    )


def _float16(data: Any, around: Fields) -> Precision:
    fields = Fields(data, around.path("float16"), around.problems)
    values = {name: fields.among(name, allowed, allowed[0]) for name, allowed in _HABITS.items()}
    fields.end()
    return Precision(**values)


def _capabilities(data: Any, around: Fields) -> Capabilities:
    """Figures; those that are missing are the default ones, by default 1."""
    fields = Fields(data, around.path("performance"), around.problems)
    known = [kind.name for kind in OperandType]
    one = PerformanceInfo(*fields.take("default", "two numbers above 0", [1.0, 1.0]))
    others = {name: fields.take(name, "two numbers above 0", one) for name in _FIGURES[1:]}
    each = {
        kind: PerformanceInfo(*fields.take(kind.name, "two numbers above 0", one))
        for kind in OperandType
        if kind.name in known
    }
    fields.end()
    scalar, tensor = others["relaxedFloat32Scalar"], others["relaxedFloat32"]
    return Capabilities(
        PerformanceInfo(*scalar),
        PerformanceInfo(*tensor),
        each,
        PerformanceInfo(*others["if"]),
        PerformanceInfo(*others["while"]),
    )


def _caching(around: Fields, level: int) -> CacheFiles | None:
    """The files of a compiled model; None if the device keeps none."""
    value = around.take("caching", "true, false or an object", False)
    if value is False:
        return None
    if level < _CACHES:
        message = f"is for devices from feature level {_CACHES} on; this one has {level}"
        around.refuse(bad_data(message, "profile.caching-level"), "caching")
        return None
    if value is True:
        return ONE_FILE
    fields = Fields(value, around.path("caching"), around.problems)
    counts = []
    for name in ("modelFiles", "dataFiles"):
        count = fields.take(name, "a whole number", 0)
        if not 0 <= count <= _MOST_FILES:
            message = f"is {count}; allowed are 0 to {_MOST_FILES}"
            fields.refuse(bad_data(message, "profile.cache-files"), name)
        counts.append(count)
    fields.end()
    if not any(counts):
        message = "has no files; a device without caching has false"
        around.refuse(bad_data(message, "profile.cache-files"), "caching")
    return CacheFiles(*counts)


def _delays(data: Any, around: Fields, level: int) -> Delays:
    fields = Fields(data, around.path("delays"), around.problems)
    values = []
    for name in ("compileUs", "runUs", "operationUs", "burstRunUs"):
        value = fields.take(name, "a number", None if name == "burstRunUs" else 0)
        if value is not None and not 0 <= value <= _LONGEST_US:
            message = f"is {shown(value)}; it must be from 0 to {_LONGEST_US:,}"
            fields.refuse(bad_data(message, "profile.delay"), name)
        values.append(value)
    if values[-1] is not None and level < _BURSTS:
        message = f"is for devices from feature level {_BURSTS} on; this one has {level}"
        fields.refuse(bad_data(message, "profile.burst-level"), "burstRunUs")
    fields.end()
    return Delays(*values)


def _rule(data: Any, where: str, level: int, problems: list[NnapiError]) -> Rule:
    fields = Fields(data, where, problems)
    names = fields.take("names", 'a list of texts, or "all"') or "all"
    types = fields.take("types", "a list of texts", None)
    chosen = None if names == "all" else fields.each("names", names, _OPERATIONS)
    kinds = None if types is None else fields.each("types", types, _TENSORS)
    rule = Rule(
        None if chosen is None else frozenset(OperationType[name] for name in chosen),
        None if kinds is None else frozenset(OperandType[name] for name in kinds),
        fields.count("minRank"),
        fields.count("maxRank"),
        fields.count("maxDimension"),
        fields.count("maxElements"),
        fields.count("maxBatch"),
        fields.take("knownDimensions", "true or false", False),
    )
    if rule.min_rank and rule.max_rank and rule.min_rank > rule.max_rank:
        message = f"is {rule.min_rank}; it must be at most maxRank, {rule.max_rank}"
        fields.refuse(bad_data(message, "profile.limit"), "minRank")
    _check_levels(fields, rule, level)
    fields.end()
    return rule


def _check_levels(fields: Fields, rule: Rule, level: int) -> None:
    """Refuse types and operations above the level of the device, and those that have no use."""
    for kind in sorted(rule.types or ()):
        needed = operand_level(Operand(kind, (1,)))
        if needed > level:
            message = f"{kind.name} is of feature level {needed}; the device has {level}"
            fields.refuse(bad_data(message, "profile.above-level"), "types")
    for code in sorted(rule.names or ()):
        declared = operation(code)
        if rule.types is None:
            needed = min((row[0] for row in declared.types.values()), default=4)
        else:
            levels = [
                row[0]
                for row in declared.types.values()
                if all(kind in SCALARS or kind in rule.types for kind in row[1:])
            ]
            if declared.types and not levels:
                message = f"{code.name} has no use with these types alone"
                fields.refuse(bad_data(message, "profile.no-use"), "types")
                continue
            needed = min(levels, default=4)
        if needed > level:
            message = f"{code.name} is of feature level {needed}; the device has {level}"
            fields.refuse(bad_data(message, "profile.above-level"), "names")
