"""Tests that follow from the declarations: no operation has code of its own here."""

import json
import pkgutil
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from math import inf
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from nnapi_shim import operations
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.drivers.reference.prepared_model import formula
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, OperationType, ResultCode
from nnapi_shim.operations import FAMILIES, operation, registry
from nnapi_shim.operations.declare import Operation
from nnapi_shim.operations.rules import float32, float32s
from tests.operations.cases import PLANS, TOLERANCE, USES, example, uses
from tests.operations.plans import merged
from tests.single import CONSTANT, INPUT, TEMPORARY, execute

TABLE = Path(__file__).resolve().parents[3] / "shared" / "spec" / "operations.json"

FAILS = merged("FAILS")
NOT_IN_THE_TABLE = merged("NOT_IN_THE_TABLE")

every_use = pytest.mark.parametrize("use", USES, ids=str)
COMPUTED = [declaration for declaration in registry() if declaration.types]
"""All but IF and WHILE, whose operands are those of the graphs that they refer to."""

every_operation = pytest.mark.parametrize("declaration", COMPUTED, ids=lambda o: o.type.name)


# Matching


@every_use
def test_a_use_matches_its_row_and_form(use):
    match = use.operation.match(use.inputs, use.outputs)
    assert match.variant == use.variant
    assert match.since == use.since
    assert match.input_names == use.names


def test_a_thread_that_comes_while_another_stores_the_first_use(monkeypatch):
    add = operation(OperationType.ADD)
    use = [use for use in USES if use.operation is add][-1]

    others = []

    class Matches(dict):
        """Another thread matches before the first is stored."""

        def setdefault(self, types, match):
            if not others:
                others.append(None)
                with ThreadPoolExecutor() as pool:
                    others.append(pool.submit(add.match, use.inputs, use.outputs).result())
            return super().setdefault(types, match)

    monkeypatch.setattr(add, "_matches", Matches())
    monkeypatch.setattr(add, "_counts_expanded", set())
    match = add.match(use.inputs, use.outputs)
    assert match.variant == others[1].variant == use.variant


@cache
def declared_uses(declaration):
    """(input types, output types) -> level, with up to four of an input that repeats."""
    levels = {}
    for use in uses(declaration, range(1, 5)):
        key = use.inputs, use.outputs
        levels[key] = min(use.since, levels.get(key, use.since))
    return levels


def mutations(use):
    """Types with one operand changed, one more or one fewer: (position, inputs, outputs)."""
    arguments, count = use.inputs + use.outputs, len(use.inputs)
    for position in range(len(arguments)):
        for type in OperandType:
            if type != arguments[position]:
                types = (*arguments[:position], type, *arguments[position + 1 :])
                yield position, types[:count], types[count:]
    for position in range(count + 1):
        yield None, use.inputs[:position] + use.inputs[position + 1 :], use.outputs
        for type in OperandType:
            yield None, (*use.inputs[:position], type, *use.inputs[position:]), use.outputs
    if not any(use.operation.outputs_of(form).repeated for form in use.operation.forms):
        yield None, use.inputs, use.outputs * 40
    yield None, use.inputs, ()


@every_use
def test_a_single_change_is_refused_unless_declared(use):
    accepted = declared_uses(use.operation)
    for position, inputs, outputs in mutations(use):
        if (inputs, outputs) in accepted:
            use.operation.match(inputs, outputs)
            continue
        with pytest.raises(NnapiError) as error:
            use.operation.match(inputs, outputs)
        assert error.value.code is ResultCode.BAD_DATA
        if position is not None:
            assert_names_the_operand(use, position, inputs, outputs, error.value.message)


def spread_outputs(use):
    match = use.operation.match(use.inputs, use.outputs)
    return match.output_names


def assert_names_the_operand(use, position, inputs, outputs, message):
    """The message is about the changed operand, or a later one that does not fit it."""
    found = re.match(r"(\w+) \((input|output) (\d+)\) is (\w+); allowed here: (.*)$", message)
    assert found, message
    name, role, number, type, allowed = found.groups()
    named = int(number) + (len(inputs) if role == "output" else 0)
    assert named >= position, message
    assert type == (inputs + outputs)[named].name
    assert type not in allowed.split(", ")
    same_count = [other for other in uses(use.operation) if len(other.names) == len(inputs)]
    assert name in {
        (*other.names, *spread_outputs(other))[named]
        for other in same_count
        if len(other.outputs) == len(outputs)
    }


# The published table


def table_lists(listed, counts):
    """The lists of operands that an entry allows; where counts are words, the one with a
    range for an index repeats, or else the first.
    """
    if isinstance(counts, list):
        return [listed[:count] for count in counts]
    at = next((at for at, operand in enumerate(listed) if ".." in str(operand["index"])), 0)
    return [listed[:at] + [listed[at]] * count + listed[at + 1 :] for count in range(1, 5)]


def table_uses(entry):
    """What a table entry allows, in the form of `declared_uses`."""
    levels = {}
    for variant in entry.get("variants", [entry]):
        listed = variant["inputs"]
        uses = [
            (inputs, outputs)
            for inputs in table_lists(listed, variant["input_counts"])
            for outputs in table_lists(entry["outputs"], entry["output_counts"])
        ]
        for inputs, outputs in uses:
            for row in entry["type_sets"]:
                kinds = [
                    tuple(
                        OperandType[row["types"].get(type, type)]
                        for operand in operands
                        for type in operand["types"]
                    )
                    for operands in (inputs, outputs)
                ]
                levels[tuple(kinds)] = max(
                    row["since_feature_level"],
                    *(o.get("since_feature_level", 1) for o in (*inputs, *outputs)),
                )
    return levels


@every_operation
def test_against_the_table(declaration):
    if not TABLE.exists():
        pytest.skip(f"{TABLE} is not there: nothing to compare the declarations with")
    entries = {entry["name"]: entry for entry in json.loads(TABLE.read_text())["operations"]}
    entry = entries[declaration.type.name]
    expected = table_uses(entry)
    for inputs, level in NOT_IN_THE_TABLE.get(declaration.type.name, {}).items():
        expected[inputs, (inputs[0],)] = level
    assert entry["code"] == declaration.type
    assert declared_uses(declaration) == expected
    assert entry["zero_sized"]["supported"] == declaration.allow_zero_sized
    assert entry["omitted_operands_allowed"] == bool(declaration.omittable)


# Completeness


def test_families_are_the_files():
    found = {}
    for module in pkgutil.iter_modules(operations.__path__):
        contents = vars(import_module(f"nnapi_shim.operations.{module.name}"))
        names = {item.type.name for item in contents.values() if isinstance(item, Operation)}
        if names:
            found[module.name] = names
    assert {family: set(names.split()) for family, names in FAMILIES.items()} == found


@every_operation
def test_an_operation_has_its_own_name(declaration):
    assert operation(declaration.type) is declaration


@every_operation
def test_an_operation_has_a_formula_with_documentation(declaration):
    assert formula(declaration.type).__doc__


def test_every_operation_has_a_lowering_that_needs_neither_numpy_nor_numba():
    code = """
import sys
from importlib import import_module
from nnapi_shim.operations import FAMILIES
missing = []
for family, names in FAMILIES.items():
    if family == "control_flow":
        continue
    for name in names.split():
        try:
            module = import_module(f"nnapi_shim.drivers.cpu.lowering.{family}")
            getattr(module, f"lower_{name.lower()}")
        except (ImportError, AttributeError) as error:
            missing.append(str(error))
assert not missing, missing
heavy = {"numpy", "numba", "llvmlite"} & sys.modules.keys()
assert not heavy, heavy
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_every_operation_has_a_plan_for_examples():
    assert PLANS.keys() == {declaration.type.name for declaration in COMPUTED}


# Results

ROUNDS = 4


def outcome(device, sample, dimensions=None, **kinds):
    """The outputs, or the error."""
    outputs = sample.outputs
    if dimensions is not None:
        outputs = [
            output._replace(operand=output.operand._replace(dimensions=sizes))
            for output, sizes in zip(outputs, dimensions, strict=True)
        ]
    try:
        return execute(device, sample.use.operation.type, sample.inputs, outputs, **kinds)
    except NnapiError as error:
        return error


def assert_close(use, actual, expected):
    if isinstance(expected, NnapiError):
        assert isinstance(actual, NnapiError), expected
        assert actual.code is expected.code, actual
        return
    assert not isinstance(actual, NnapiError), actual
    for type, ours, theirs in zip(use.outputs, actual, expected, strict=True):
        absolute, relative = TOLERANCE[type]
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(
            ours.astype(np.float64), theirs.astype(np.float64), rtol=relative, atol=absolute
        )


def samples(use, batch=2):
    """Examples that are the same whenever a test runs."""
    rng = np.random.default_rng(crc32(f"{use}{use.names}".encode()))
    return [example(use, rng, batch) for _ in range(ROUNDS)]


@pytest.fixture(scope="module")
def reference():
    return ReferenceDevice()


@pytest.fixture(scope="module")
def cpu():
    return CpuDevice()


@every_use
def test_the_rules_accept_an_example_at_its_level(use):
    for sample in samples(use):
        # A rank may ask for level 3.
        assert use.since <= use.operation.required_level(sample.op) <= max(use.since, 3)


@every_use
@pytest.mark.parametrize("batch", [2, 0], ids=["", "empty"])
def test_shape_is_that_of_the_formula(use, batch, reference):
    failure = FAILS.get(f"{use.operation.type.name}-{use.variant}")
    if batch == 0 and not use.operation.allow_zero_sized:
        # Of those that can do without an input, only omitted outputs are BAD_DATA.
        is_bad_data = use.operation.legacy and not use.operation.omittable
        failure = ResultCode.BAD_DATA if is_bad_data else ResultCode.OP_FAILED
    for sample in samples(use, batch):
        result = outcome(reference, sample)
        if failure is not None:
            assert result.code is failure
        else:
            declared = use.operation.shape(sample.op)
            for array, sizes in zip(result, declared, strict=True):
                # Of a data-dependent operation, a size of 0 is one that only the data decides.
                free = use.operation.data_dependent
                assert array.ndim == len(sizes)
                assert all(
                    a == s or (free and not s) for a, s in zip(array.shape, sizes, strict=True)
                )


@every_use
@pytest.mark.parametrize(
    "kinds",
    [
        {"tensors_are": INPUT},
        {"tensors_are": CONSTANT, "first_is": INPUT},
        {"tensors_are": CONSTANT},
        {"tensors_are": TEMPORARY},
        {"tensors_are": INPUT, "scalars_are": INPUT},
    ],
    ids=["inputs", "weights", "constants", "temporaries", "scalars"],
)
def test_the_cpu_device_agrees_with_the_formula(use, kinds, reference, cpu):
    for sample in samples(use):
        expected = outcome(reference, sample)
        assert_close(use, outcome(cpu, sample, **kinds), expected)
        if not isinstance(expected, NnapiError):
            declared = [array.shape for array in expected]
            assert_close(use, outcome(cpu, sample, declared, **kinds), expected)


@every_use
def test_the_cpu_device_agrees_on_empty_tensors(use, reference, cpu):
    for sample in samples(use, batch=0):
        assert_close(use, outcome(cpu, sample), outcome(reference, sample))


def test_float32s() -> None:
    """Many numbers at once, also one that overflows."""
    values = [0.1, 1e-50, -3.0, 1e39, -1e39]
    assert [*float32s(values[:3])] == [float32(value) for value in values[:3]]
    assert [*float32s(values)] == [float32(0.1), 0.0, -3.0, inf, -inf]
