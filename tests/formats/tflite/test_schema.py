"""The schema, field by field: what is understood, what has no meaning for results, what is refused.

Where the schema has been given a field, these tests fail until schema_fields.py names it.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

import tflite
from ai_edge_litert import schema_py_generated as schema

from nnapi_shim import Compilation, NnapiError
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.importing.table import LOWERINGS
from nnapi_shim.formats.tflite.importing.tensors import real_values
from nnapi_shim.formats.tflite.schema import NEWER, NEWER_FIELDS, field_count
from tests.formats.tflite import schema_tables
from tests.formats.tflite.building import Array, Building, Spec, one_operator
from tests.formats.tflite.cases import F, f32
from tests.formats.tflite.running import DEVICES, Litert, assert_same, compare, model_of
from tests.formats.tflite.schema_fields import (
    OF_REFUSED_OPERATORS,
    REFUSED,
    UNDERSTOOD,
    WITHOUT_MEANING,
)

# The list


def tables() -> dict[str, set[str]]:
    """Table -> its fields."""
    result = {}
    for name, made in vars(schema).items():
        if inspect.isclass(made) and name.endswith("T") and hasattr(made, "Pack"):
            result[name[:-1]] = set(vars(made()))
    return result


def test_every_field_is_in_the_list() -> None:
    listed = {f"{table}.{field}" for table, names in UNDERSTOOD.items() for field in names.split()}
    assert len(tables()) > 140
    fields = {
        f"{table}.{field}"
        for table, names in tables().items()
        if table not in OF_REFUSED_OPERATORS
        for field in names
    }
    assert fields - listed - WITHOUT_MEANING.keys() - REFUSED == set()
    assert (listed | WITHOUT_MEANING.keys() | REFUSED) - fields == set()
    assert not listed & WITHOUT_MEANING.keys()
    assert not (listed | WITHOUT_MEANING.keys()) & REFUSED


def test_tables_of_refused_operators() -> None:
    assert OF_REFUSED_OPERATORS.keys() <= tables().keys()
    operators = {name for names in OF_REFUSED_OPERATORS.values() for name in names.split()}
    assert operators <= set(vars(schema.BuiltinOperator))
    assert operators & LOWERINGS.keys() == set()


def test_fields_that_the_package_reads() -> None:
    """`field_count`, behind which all is refused, is that of the newest schema but for what lies
    in REFUSED.
    """
    counts: dict[str, int] = {}

    class Counter:
        def StartObject(self, count: int) -> None:
            self.count = count

    for name in tables():
        if hasattr(tflite, name):
            counter = Counter()
            getattr(schema, f"{name}Start")(counter)
            counts[name] = counter.count
    differing = {name for name, count in counts.items() if count != field_count(name)}
    assert differing == {"FullyConnectedOptions"}
    assert all(name in counts for name in NEWER_FIELDS)


def test_tables_are_those_of_the_package() -> None:
    assert schema_tables.FILE.read_text() == schema_tables.text()


@pytest.mark.parametrize("enumeration", ["TensorType", "BuiltinOperator"])
def test_codes(enumeration: str) -> None:
    ours = {
        name: code
        for name, code in vars(getattr(tflite, enumeration)).items()
        if isinstance(code, int)
    }
    ours |= {name: code for code, name in NEWER[enumeration].items()}
    theirs = vars(getattr(schema, enumeration)).items()
    assert ours == {name: code for name, code in theirs if isinstance(code, int)}


# Operator codes


@pytest.mark.parametrize(
    ("name", "fields"),
    [("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions"), ("ADD", "AddOptions")],
)
@pytest.mark.parametrize("field", ["builtinCode", "deprecatedBuiltinCode"])
def test_code_in_one_field(name: str, fields: str, field: str) -> None:
    """The schema: the code is max(deprecated_builtin_code, builtin_code)."""
    made = Building()
    x, y = made.tensor(F(2, 2)), made.tensor(F(2, 2))
    made.operator(name, [x, made.constant(np.float32([[1, 2], [3, 4]]))], [y], fields)
    made.ends([x], [y])
    setattr(made.model.operatorCodes[0], field, 0)
    compare(made.file(), np.full((2, 2), 5, np.float32))


def test_compiled_for_an_npu() -> None:
    """Such files have the code of custom operators in the newer field alone."""
    made = Building()
    x, y = made.tensor(F(2)), made.tensor(F(2))
    made.operator("DISPATCH_OP", [x, x], [y], custom=b"program")
    made.model.operatorCodes[0].deprecatedBuiltinCode = 0
    made.ends([x], [y])
    with pytest.raises(NnapiError, match="operator 0 DISPATCH_OP: it contains code compiled for"):
        model_of(made.file())


# Blocks


def packed(values: Array) -> Array:
    """Numbers of 4 bits, two in a byte, the first in its lower half."""
    flat = values.reshape(-1)
    return ((flat[0::2] & 15) | (flat[1::2] & 15) << 4).astype(np.uint8)


def blockwise(
    scales: Array | None = None, block: int = 32, zero_points: Array | int = -1, **fields: Any
) -> tuple[Building, Array, Array]:
    """FULLY_CONNECTED of 64 inputs and 4 units with a scale for each 32 weights; an input, and the
    real weights.
    """
    chance = np.random.default_rng(7)
    weights = chance.integers(-7, 8, (4, 64)).astype(np.int8)
    scales = chance.uniform(0.01, 0.1, (4, 2)).astype(np.float16) if scales is None else scales
    made = Building()
    x, y = made.tensor(F(2, 64)), made.tensor(F(2, 4))
    filter = made.tensor(Spec("INT4", (4, 64), value=packed(weights)))
    details = schema.BlockwiseQuantizationT()
    details.scales, details.blockSize = made.constant(scales), block
    shift = np.zeros((4, 2), np.int8)
    if isinstance(zero_points, int):
        details.zeroPoints = zero_points
    else:
        shift = zero_points
        details.zeroPoints = made.constant(zero_points)
    for name, value in fields.items():
        setattr(details, name, value)
    quantization = schema.QuantizationParametersT()
    quantization.details = details
    quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    made.current.tensors[filter].quantization = quantization
    made.operator("FULLY_CONNECTED", [x, filter, -1], [y], "FullyConnectedOptions")
    made.version(12)
    made.ends([x], [y])
    parts = weights.reshape(4, 2, 32).astype(np.float32) - shift[..., None]
    real = (parts * scales[..., None].astype(np.float32)).reshape(4, 64)
    return made, chance.uniform(-1, 1, (2, 64)).astype(np.float32), real


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("zero_points", [-1, 0])
def test_scales_of_blocks(device: str, zero_points: int) -> None:
    made, x, real = blockwise(zero_points=zero_points)
    result = Compilation(model_of(made.file()), device).run(x)
    np.testing.assert_allclose(result, x @ real.T, 1e-5, 1e-5)
    # LiteRT quantizes its input to 8 bits first.
    np.testing.assert_allclose(result, Litert(made.file()).run(x)[0], atol=0.02)


def test_zero_points_of_blocks() -> None:
    points = np.array([[1, -2], [0, 3], [-1, 0], [2, 2]], np.int8)
    made, _, real = blockwise(zero_points=points)
    tensor = read(made.file()).graphs[0].tensors[2]
    assert tensor.value is not None
    np.testing.assert_array_equal(real_values(tensor, tensor.value), real)


# What is refused


def refused(change: Callable[[Building], None], name: str = "x") -> bytes:
    """ADD of two tensors, of which one is changed."""
    made = Building()
    x, y = made.tensor(F(2, 2)), made.tensor(F(2, 2))
    made.operator("ADD", [x, made.constant(f32(2, 2))], [y], "AddOptions")
    made.ends([x], [y])
    change(made)
    return made.file()


def detailed(kind: str, **fields: Any) -> Callable[[Building], None]:
    """A constant with another kind of quantization."""

    def change(made: Building) -> None:
        details = getattr(schema, f"{kind}T")()
        for name, value in fields.items():
            setattr(details, name, value)
        quantization = schema.QuantizationParametersT()
        quantization.detailsType = getattr(schema.QuantizationDetails, kind)
        quantization.details = details
        made.current.tensors[2].quantization = quantization

    return change


def sparse(made: Building) -> None:
    sparsity = schema.SparsityParametersT()
    sparsity.traversalOrder, sparsity.blockMap, sparsity.dimMetadata = [0, 1], [], []
    made.current.tensors[2].sparsity = sparsity


def variant(made: Building) -> None:
    inner = schema.VariantSubTypeT()
    inner.shape, inner.type, inner.hasRank = [2], 0, True
    made.current.tensors[2].variantTensors = [inner]


def external(made: Building) -> None:
    group, buffer = schema.ExternalBufferGroupT(), schema.ExternalBufferT()
    group.name, buffer.id, buffer.length = b"weights.bin", 1, 16
    made.model.externalBufferGroups, made.model.externalBuffers = [group], [buffer]
    tensor = made.current.tensors[2]
    tensor.buffer, tensor.externalBuffer = 0, 1


def custom_format(made: Building) -> None:
    made.operator("TFLite_Detection_PostProcess", [0, 0, 0], [1], custom=b"x")
    made.current.operators = made.current.operators[1:]
    made.current.operators[0].customOptionsFormat = 1


def fully_connected(**fields: Any) -> bytes:
    kind = "FullyConnectedOptions"
    return one_operator("FULLY_CONNECTED", [F(1, 4), f32(3, 4), None], [F(1, 3)], kind, **fields)


def sequence(**fields: Any) -> bytes:
    weights = [f32(3, 4)] * 4 + [f32(3, 3)] * 4 + [None] * 3 + [f32(3)] * 4 + [None] * 2
    states = [Spec("FLOAT32", (1, 3), is_variable=True)] * 2
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    kind = "UnidirectionalSequenceLSTMOptions"
    inputs = [F(1, 5, 4), *weights, *states]
    return one_operator(name, inputs, [F(1, 5, 3)], kind, fusedActivationFunction=4, **fields)


def cell(**fields: Any) -> bytes:
    inputs = [F(1, 4), F(1, 3), f32(12, 7), f32(12), F(1, 3)]
    outputs = [F(1, 3), F(1, 3), F(1, 7), F(1, 12)]
    fields = {"kernelType": 1, "fusedActivationFunction": 4} | fields
    return one_operator("LSTM", inputs, outputs, "LSTMOptions", **fields)


def whole(name: str, kind: str, **fields: Any) -> bytes:
    return one_operator(name, [F(2, 2)], [F(2, 2)], kind, **fields)


def gathered() -> bytes:
    index = np.zeros((2, 1), np.int32)
    return one_operator("GATHER", [F(2, 2), index], [F(2, 1)], "GatherOptions", batchDims=1)


def convolved() -> bytes:
    fields = {"padding": 1, "strideW": 1, "strideH": 1, "fusedActivationFunction": 4}
    inputs = [F(1, 4, 4, 2), f32(2, 2, 2, 2), f32(2)]
    return one_operator("CONV_2D", inputs, [F(1, 3, 3, 2)], "Conv2DOptions", **fields)


def blocks(**how: Any) -> bytes:
    return blockwise(**how)[0].file()


def without_contents() -> bytes:
    made, _, _ = blockwise()
    made.model.buffers[made.current.tensors[2].buffer].data = None
    return made.file()


def by_input() -> bytes:
    """FULLY_CONNECTED with a scale for each input, whose number is that of the units."""
    weights = Spec("INT8", (3, 3), [0.1, 0.2, 0.3], 0, 1, value=np.ones((3, 3), np.int8))
    arguments = [Spec("INT8", (1, 3), 0.5), weights, None]
    output = Spec("INT8", (1, 3), 0.5)
    return one_operator("FULLY_CONNECTED", arguments, [output], "FullyConnectedOptions")


SCALES = np.full((4, 2), 0.5, np.float16)
FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "CustomQuantization.custom": (
        lambda: refused(detailed("CustomQuantization", custom=[1, 2])),
        "its quantization is a custom one",
    ),
    "MultiAxisQuantization": (
        lambda: refused(detailed("MultiAxisQuantization", quantizedDimensions=[0, 1], blockSize=2)),
        "its quantization is one along several dimensions",
    ),
    "QuantizationParameters.detailsType": (
        lambda: refused(detailed("BlockwiseQuantization")),
        "its quantization is blockwise, of FLOAT32",
    ),
    "BlockwiseQuantization.blockShape": (
        lambda: blocks(blockShape=[1, 32]),
        "its quantization has blocks of several dimensions",
    ),
    "BlockwiseQuantization.blockSize": (lambda: blocks(block=48), "blocks of 48 do not fill"),
    "BlockwiseQuantization.blockSize 0": (lambda: blocks(block=0), "blocks of 0 do not fill"),
    "BlockwiseQuantization.scales": (
        lambda: blocks(block=16),
        "its scales are tensor 3 't3', FLOAT16[4, 2]; allowed is a constant FLOAT16 or FLOAT32"
        "[4, 4]",
    ),
    "BlockwiseQuantization.scales beyond": (
        lambda: blocks(scales=SCALES, zero_points=99),
        "its zero points are tensor 99; the graph has 4 tensors",
    ),
    "BlockwiseQuantization.scales 0": (lambda: blocks(scales=SCALES * 0), "a scale is 0"),
    "BlockwiseQuantization of no constant": (without_contents, "it is no constant"),
    "QuantizationParameters.quantizedDimension": (by_input, "have a scale for each input"),
    "Tensor.externalBuffer": (lambda: refused(external), "its contents lie in another file"),
    "Tensor.sparsity": (lambda: refused(sparse), "is sparse"),
    "Tensor.variantTensors": (lambda: refused(variant), "it holds tensors"),
    "Operator.customOptionsFormat": (
        lambda: refused(custom_format),
        "its options have format 1; known is 0",
    ),
    "FullyConnectedOptions.weightsFormat": (
        lambda: fully_connected(weightsFormat=1),
        "its weights are shuffled",
    ),
    "FullyConnectedOptions.quantSpec": (
        lambda: fully_connected(quantSpec=[1, 2]),
        "field 5 of its FullyConnectedOptions is newer than this version, which knows 5",
    ),
    "GatherOptions.batchDims": (gathered, "it has batch dimensions"),
    "Conv2DOptions.fusedActivationFunction": (
        convolved,
        "it fuses TANH, which NNAPI does not fuse, and LiteRT leaves out",
    ),
    "ConcatenationOptions.fusedActivationFunction": (
        lambda: whole("CONCATENATION", "ConcatenationOptions", fusedActivationFunction=4),
        "NNAPI does not fuse an activation into it",
    ),
    "L2NormOptions.fusedActivationFunction": (
        lambda: whole("L2_NORMALIZATION", "L2NormOptions", fusedActivationFunction=4),
        "NNAPI does not fuse an activation into it",
    ),
    "AddOptions.fusedActivationFunction": (
        lambda: refused(
            lambda made: setattr(
                made.current.operators[0].builtinOptions, "fusedActivationFunction", 5
            )
        ),
        "it fuses SIGN_BIT, which NNAPI does not fuse",
    ),
    "UnidirectionalSequenceLSTMOptions.diagonalRecurrentTensors": (
        lambda: sequence(diagonalRecurrentTensors=True),
        "its recurrent weights are diagonals",
    ),
    "LSTMOptions.kernelType": (lambda: cell(kernelType=2), "its kernel is 2; known are 0"),
    "LSTMOptions.cellClip": (lambda: cell(cellClip=1.0), "the basic LSTM kernel has clipping"),
    "LSTMOptions.fusedActivationFunction": (
        lambda: cell(fusedActivationFunction=1),
        "the activation of the basic LSTM kernel is not TANH",
    ),
}


@pytest.mark.parametrize("field", FILES)
def test_refused(field: str) -> None:
    make, message = FILES[field]
    with pytest.raises(NnapiError) as caught:
        model_of(make())
    assert message in caught.value.message
    assert "1 of 1 operators have no place" in caught.value.message
    assert "operator 0 " in caught.value.message


def test_each_refused_field_has_a_file() -> None:
    parts = {"VariantSubType", "DimensionMetadata", "SparsityParameters", "MultiAxisQuantization"}
    parts |= {"Int32Vector", "Uint8Vector", "Uint16Vector"}  # of the three above
    expected = {field for field in REFUSED if field.partition(".")[0] not in parts}
    assert expected <= FILES.keys()


def signed(made: Building) -> None:
    made.signature("s", {"x": 0}, {"y": 1})
    made.current.tensors[2].quantization = schema.QuantizationParametersT()


NEWER_TABLES = {
    "Operator": "operator 0 ADD: field 15 of its Operator is newer",
    "Tensor": "Tensor is newer",
    "OperatorCode": "operator code 0: field 15 of its OperatorCode is newer",
    "SubGraph": "graph 0: field 15 of its SubGraph is newer",
    "Model": "the model: field 15 of its Model is newer",
    "QuantizationParameters": "field 15 of its QuantizationParameters is newer",
    "SignatureDef": "signature 0: field 15 of its SignatureDef is newer",
    "Buffer": "field 15 of its Buffer is newer",
    "AddOptions": "operator 0 ADD: field 15 of its AddOptions is newer",
}


@pytest.mark.parametrize("table", NEWER_TABLES)
def test_field_of_a_newer_schema(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that no list names, because it does not exist yet."""
    end = getattr(schema, f"{table}End")

    def started(builder: Any) -> None:
        builder.StartObject(16)

    def ended(builder: Any) -> Any:
        builder.PrependInt32Slot(15, 77, 0)
        return end(builder)

    monkeypatch.setattr(schema, f"{table}Start", started)
    monkeypatch.setattr(schema, f"{table}End", ended)
    data = refused(signed)
    monkeypatch.undo()
    with pytest.raises(NnapiError) as caught:
        model_of(data)
    assert NEWER_TABLES[table] in caught.value.message


# What was understood in another way


def test_activation_of_integers() -> None:
    """NNAPI fuses none into a division of whole numbers."""
    values = np.array([7, -7, 5, -5, 9, -90], np.int32), np.array([2, 2, -2, -2, 1, 3], np.int32)
    for code in range(4):
        arguments = Spec("INT32", (6,))
        data = one_operator(
            "DIV", [arguments] * 2, [arguments], "DivOptions", fusedActivationFunction=code
        )
        compare(data, *values)


def test_variables_of_containers() -> None:
    """Two texts tell variables apart."""
    made = Building()
    x, handles = made.tensor(F(2)), [made.tensor(Spec("RESOURCE", ())) for _ in range(2)]
    outputs = [made.tensor(F(2)) for _ in range(2)]
    for handle, container in zip(handles, ("a", "b"), strict=True):
        variable = {"container": container, "sharedName": "v"}
        made.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", **variable)
    made.operator("ASSIGN_VARIABLE", [handles[0], x], [], "AssignVariableOptions")
    twice = made.tensor(F(2))
    made.operator("ADD", [x, x], [twice], "AddOptions")
    made.operator("ASSIGN_VARIABLE", [handles[1], twice], [], "AssignVariableOptions")
    for handle, output in zip(handles, outputs, strict=True):
        made.operator("READ_VARIABLE", [handle], [output], "ReadVariableOptions")
    made.ends([x], outputs)
    x_value = f32(2)
    result = Compilation(model_of(made.file()), "nnapi-cpu").run(x_value)
    assert_same(result, [x_value, 2 * x_value])
    assert_same(Litert(made.file()).run(x_value)[0], [x_value])
