"""Models as Model Explorer has them: nodes, edges, operands, layers, node data, its own server."""

import json

import pytest

pytest.importorskip("model_explorer", reason="ai-edge-model-explorer is not installed")

from nnapi_shim.pictures.explorer.files import graph_json, node_data_json
from nnapi_shim.pictures.explorer.graphs import graph
from nnapi_shim.pictures.explorer.server import serve
from nnapi_shim.pictures.shades import Shades
from tests.pictures.models import branches, chain, quantized

pytestmark = pytest.mark.integration


def attributes(items):
    return {item.key: item.value for item in items}


def test_nodes_and_edges() -> None:
    result = graph(chain(), "some.tflite")
    nodes = {node.id: node for node in result.nodes}
    assert list(nodes) == ["inputs", "0", "1", "2", "3", "4", "outputs"]
    edges = {
        (edge.sourceNodeId, node.id, edge.targetNodeInputId)
        for node in result.nodes
        for edge in node.incomingEdges
    }
    assert edges == {
        ("inputs", "0", "0"),
        ("0", "1", "0"),
        ("1", "2", "0"),
        ("2", "3", "0"),
        ("0", "3", "1"),
        ("3", "4", "0"),
        ("4", "outputs", "0"),
    }
    convolution = attributes(nodes["0"].attrs)
    assert convolution["activation"] == "RELU6"
    assert convolution["padding"] == "SAME"
    assert "576 elements from -1 to 1" in convolution["filter"]


def test_operands() -> None:
    (inputs, add, _) = graph(quantized(), "").nodes
    messages = attributes(inputs.outputsMetadata[0].attrs)
    assert messages["scale"] == "0.5"
    assert messages["zero_point"] == "128"
    assert messages["type"] == "QUANT8_ASYMM"
    assert messages["lifetime"] == "MODEL_INPUT" or messages["lifetime"] == "SUBGRAPH_INPUT"
    assert "[130, 130, 130, 130, 130, 130]" in attributes(add.attrs)["input1"]
    assert attributes(add.inputsMetadata[0].attrs)["__tensor_tag"] == "input0"


def test_graphs_of_operations_are_layers() -> None:
    nodes = graph(branches(), "").nodes
    assert len({node.id for node in nodes}) == len(nodes)
    layers = {node.namespace for node in nodes if node.label == "LOG"}
    assert layers == {
        *(f"IF 0/{a}/IF 0/{b}" for a in ("then", "else") for b in ("then", "else")),
        *(f"WHILE 1/body/IF 0/{b}" for b in ("then", "else")),
    }
    ids = {node.id for node in nodes}
    assert all(edge.sourceNodeId in ids for node in nodes for edge in node.incomingEdges)


def test_many_graphs_within_graphs() -> None:
    assert len(graph(branches(300), "").nodes) < 5000


def test_files() -> None:
    """What is written is what the page's own reader of JSON takes."""
    content = json.loads(graph_json(chain(), "some.tflite"))
    assert [item["id"] for item in content["graphs"]] == ["some.tflite"]
    shades = Shades("time", "time in a run", "s", {0: 1.23456789, 1: float("inf")})
    data = json.loads(node_data_json("some.tflite", shades))["some.tflite"]
    assert data["name"] == "time in a run (s)"
    assert data["results"]["0"]["value"] == 1.235
    assert data["results"]["1"]["value"] == "inf"


def test_the_adapter_that_model_explorer_finds(tmp_path) -> None:
    """As `model-explorer --extensions=nnapi_shim.pictures.explorer` loads and calls it."""
    from model_explorer.extension_manager import ExtensionManager

    path = tmp_path / "model.tflite"
    chain().save(path)
    manager = ExtensionManager(["nnapi_shim.pictures.explorer"])
    manager.custom_extension_modules = ["nnapi_shim.pictures.explorer.main"]  # it is a singleton
    manager.load_extensions()
    (own,) = [e for e in manager.get_extensions_metadata() if e["id"] == "nnapi_shim"]
    assert own["fileExts"] == ["tflite", "zip"]
    answer = manager.run_cmd(
        {
            "cmdId": "convert",
            "extensionId": "nnapi_shim",
            "modelPath": str(path),
            "settings": {},
            "deleteAfterConversion": False,
        }
    )
    labels = [node["label"] for node in answer["graphs"][0]["nodes"]]
    assert labels == ["GraphInputs", "CONV_2D", "TANH", "TANH", "ADD", "SOFTMAX", "GraphOutputs"]


def test_a_port_that_is_taken() -> None:
    import socket

    from nnapi_shim import NnapiError

    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        with pytest.raises(NnapiError, match="is not free"):
            serve(chain(), "", port=taken.getsockname()[1])
