"""Looking at what is in a model, while it is built and afterwards."""

import mmap

import numpy as np
import pytest

from nnapi_shim import FuseCode, Model, OperandType, OperationType
from nnapi_shim.api.view import GraphView
from nnapi_shim.runtime.memory import FdMemory


def convolution() -> Model:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [1, 4, 4, 1])
    filter = model.constant(np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1))
    bias = np.array([0.5], np.float32)
    y = model.operation("CONV_2D", [x, filter, bias, 1, 1, 1, FuseCode.NONE])
    model.outputs(model.operation("RELU", [y]))
    return model


@pytest.mark.parametrize("is_finished", [False, True])
def test_operations_have_their_operands_by_name(is_finished: bool) -> None:
    model = convolution()
    if is_finished:
        model.finish()
    graph = model.graph
    first, second = graph.operations
    assert (first.type, second.name) == (OperationType.CONV_2D, "RELU")
    named = first.named
    assert named["input"] is graph.input_operands[0]
    assert named["filter"].type is OperandType.TENSOR_FLOAT32
    assert named["output"].consumers == (second,)
    assert named["output"].producer is first
    assert second.outputs == graph.output_operands
    assert first.roles[:3] == ("input", "filter", "bias")
    assert first.output_roles == ("output",)


@pytest.mark.parametrize("is_finished", [False, True])
def test_constants_have_values_that_cannot_be_written_to(is_finished: bool) -> None:
    model = convolution()
    if is_finished:
        model.finish()
    named = model.operations[0].named
    value = named["filter"].value
    assert value.tolist() == np.arange(9).reshape(1, 3, 3, 1).tolist()
    assert not value.flags.writeable
    assert named["activation"].value == 0 and named["activation"].value.shape == ()
    assert named["input"].value is None and not named["input"].is_constant


def test_a_finished_model_shows_one_and_the_same_graph() -> None:
    model = convolution()
    assert model.graph is not model.graph
    model.finish()
    assert model.graph is model.graph
    assert model.operands[0] is model.operands[0]
    large = model.operations[0].named["filter"]
    assert not large.value.flags.owndata


def test_repeated_names_hold_lists() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2])
        y = model.operation("CONCATENATION", [x, x, x, 0])
        model.outputs(y)
    (joined,) = model.operations
    assert joined.named["inputs"] == [model.operands[0]] * 3
    assert joined.roles == ("inputs", "inputs", "inputs", "axis")
    assert model.operands[0].consumers == (joined,)


def test_graphs_of_branches() -> None:
    def branch(kind: str) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [2])
            model.outputs(model.operation(kind, [x]))
        return model

    with Model() as model:
        condition = model.input("TENSOR_BOOL8", [1])
        x = model.input("TENSOR_FLOAT32", [2])
        model.outputs(model.operation("IF", [condition, branch("ABS"), branch("NEG"), x]))
    (item,) = model.operations
    graphs = [operand.subgraph for operand in item.inputs if operand.subgraph]
    assert [graph.operations[0].name for graph in graphs] == ["ABS", "NEG"]
    assert all(isinstance(graph, GraphView) for graph in graphs)
    assert item.inputs[1].subgraph is graphs[0]


def test_what_no_declaration_knows_has_numbers_for_names() -> None:
    model = Model()
    x, y = model.add_operand("TENSOR_FLOAT32", [1]), model.add_operand("TENSOR_FLOAT32", [1])
    model.add_operation(OperationType.OEM_OPERATION, [x], [y])
    (item,) = model.operations
    assert (item.roles, item.output_roles, item.match) == (("input 0",), ("output 0",), None)
    assert list(item.named) == ["input 0", "output 0"]
    assert repr(item) == "<operation 0 OEM_OPERATION: 0 -> 1>"


def test_constants_in_memories(tmp_path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(np.array([1.5, -2], np.float32).tobytes())
    with path.open("rb") as file:
        memory = FdMemory(8, mmap.PROT_READ, file.fileno(), 0)
    model = Model()
    x = model.input("TENSOR_FLOAT32", [2])
    weights = model.add_operand("TENSOR_FLOAT32", [2])
    model.runtime.set_operand_value_from_memory(weights.index, memory, 0, 8)
    model.outputs(model.operation("ADD", [x, weights, FuseCode.NONE]))
    assert model.operands[weights.index].value.tolist() == [1.5, -2]
    model.finish()
    assert model.operands[weights.index].value.tolist() == [1.5, -2]
