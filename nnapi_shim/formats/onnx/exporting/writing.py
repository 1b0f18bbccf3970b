"""Serializes emitted nodes as an ONNX model with the package `onnx`, which also checks it."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import ExportGraph, Tensor
from nnapi_shim.formats.onnx.exporting.inner import Inner
from nnapi_shim.formats.onnx.exporting.types import code

SMALL = 1 << 10
"""Constants with fewer bytes are in the model in any case: engines look at their values."""

MAIN = "model"
"""The main graph; only its constants can be external, as ONNX Runtime takes no others in memory."""

OPSET, IR_VERSION = 19, 9
"""The first opset with all operators in use, and the IR version released with it."""


def written(graph: ExportGraph, nodes: Sequence[Emitted]) -> bytes:
    """The serialized model."""
    return _Writer().model(graph, nodes)


def written_with_names(
    graph: ExportGraph, nodes: Sequence[Emitted], external: dict[str, Any] | None = None
) -> tuple[bytes, list[str], list[str]]:
    """The serialized model, and the names of its inputs and outputs.

    external: gets the constants that are not small, by the names of the files in which the model
    has them; None if they are to be in the model. Such a model is not checked: the files are not
    there.
    """
    writer = _Writer(external)
    content = writer.model(graph, nodes)
    inputs, outputs = ([writer.name(t) for t in ts] for ts in (graph.inputs, graph.outputs))
    return content, inputs, outputs


class _Writer:
    """Gives every tensor a unique name across all nested graphs."""

    def __init__(self, external: dict[str, Any] | None = None) -> None:
        self.external = external
        self.names: dict[int, str] = {}
        self.used: set[str] = set()
        self.kept: list[Tensor] = []

    def name(self, t: Tensor | None) -> str:
        """The name of a tensor; "" for an omitted one."""
        if t is None:
            return ""
        if id(t) not in self.names:
            base = t.name or "tensor"
            name = base if t.name and base not in self.used else f"{base}_{len(self.names)}"
            while name in self.used:
                name += "_"
            self.used.add(name)
            self.names[id(t)] = name
            self.kept.append(t)
        return self.names[id(t)]

    def model(self, graph: ExportGraph, nodes: Sequence[Emitted]) -> bytes:
        """The ModelProto."""
        for t in (*graph.inputs, *graph.outputs):
            self.name(t)
        main = self.graph(MAIN, graph.inputs, graph.outputs, nodes)
        model = helper.make_model(
            main,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="nnapi_shim",
        )
        if graph.carried:
            pairs = [
                {"input": self.name(graph.inputs[i]), "output": self.name(graph.outputs[o])}
                for i, o, _ in graph.carried
            ]
            helper.set_model_props(model, {"nnapi_shim.carried": json.dumps(pairs)})
        if self.external is None:
            onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def graph(
        self,
        name: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        nodes: Sequence[Emitted],
    ) -> Any:
        """A GraphProto; constants that its nodes read become initializers."""
        constants: dict[int, Tensor] = {}
        protos: list[Any] = []
        for node in nodes:
            for t in node.inputs:
                if t is not None and t.value is not None:
                    constants[id(t)] = t
            protos.append(self.node(node, len(protos)))
        is_inner = name != MAIN
        listed = [self.constant(t, is_inner) for t in constants.values()]
        ins, outs = ([self.value(t) for t in tensors] for tensors in (inputs, outputs))
        return helper.make_graph(protos, name, ins, outs, initializer=listed)

    def constant(self, t: Tensor, is_inner: bool) -> Any:
        """The TensorProto of a constant."""
        value = np.require(t.value, requirements="C")
        if self.external is None or is_inner or value.nbytes < SMALL:
            return numpy_helper.from_array(value, self.name(t))
        proto = onnx.TensorProto(
            name=self.name(t),
            dims=value.shape,
            data_type=helper.np_dtype_to_tensor_dtype(value.dtype),
            data_location=onnx.TensorProto.EXTERNAL,
        )
        file = f"constant_{len(self.external)}"
        self.external[file] = value
        for key, text in (("location", file), ("offset", "0"), ("length", str(value.nbytes))):
            proto.external_data.add(key=key, value=text)
        return proto

    def node(self, node: Emitted, number: int) -> Any:
        """A NodeProto; Inner attributes become GraphProto attributes."""
        attributes = {
            key: self.graph(value.name, value.inputs, value.outputs, value.nodes)
            if isinstance(value, Inner)
            else value
            for key, value in node.options.items()
        }
        inputs, outputs = ([self.name(t) for t in ts] for ts in (node.inputs, node.outputs))
        label = f"{node.kind}_{outputs[0]}"
        return helper.make_node(node.kind, inputs, outputs, name=label, **attributes)

    def value(self, t: Tensor) -> Any:
        """The ValueInfoProto of an input or output; unknown sizes get symbolic names."""
        name = self.name(t)
        sizes = [n or f"{name}_size_{at}" for at, n in enumerate(t.dimensions)]
        is_open = not t.dimensions and str(getattr(t.type, "name", "")).startswith("TENSOR")
        return helper.make_tensor_value_info(name, code(t.type), None if is_open else sizes)
