"""Lowers an ExportGraph to the nodes of another format, with one rule for each operation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.graph.rule import RefusedError, Rule
from nnapi_shim.formats.graph.tensor import Array, ExportGraph, Node, Tensor, constant
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.shapes import broadcast

HALF = (T.TENSOR_FLOAT16, T.FLOAT16)


class Emitted(NamedTuple):
    """A node of the target format; None is an omitted input."""

    kind: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: dict[str, Any]


def _binary(kind: str) -> Callable[..., Tensor]:
    return lambda b, x, y, out=None: b.binary(kind, x, y, out)


class ExportBuilder:
    """Lowers the operations of a graph and collects the emitted nodes.

    Subclasses define `rules`, `format`, `round` and the conversions from `cast` to `integers`.
    """

    rules: Mapping[str, Rule]
    format: str
    round: str
    """The operator that rounds to the nearest integer."""

    def __init__(self) -> None:
        self.emitted: list[Emitted] = []
        self.refusals: list[str] = []
        self._reals: dict[int, tuple[Tensor, Tensor]] = {}

    # Lowering

    def run(self, graph: ExportGraph) -> None:
        """Lower all operations; `refusals` gets those that the format cannot express."""
        self.refusals += graph.foreign
        for node in graph.nodes:
            self.try_to_express(node)

    def try_to_express(self, node: Node) -> None:
        """Lower one operation; `refusals` gets the reason if the format cannot express it."""
        try:
            self.express(node)
        except RefusedError as error:
            self._refuse(node, str(error))
        except NnapiError as error:  # an execution would refuse it, too
            self._refuse(node, error.message)
        except (IndexError, ValueError):
            if all(t.dimensions or t.type in SCALARS for t in (*node.tensors, *node.outputs)):
                raise
            self._refuse(node, "the rank of an operand is not known")

    def _refuse(self, node: Node, why: str) -> None:
        self.refusals.append(f"operation {node.number} {node.kind}: {why}")

    def finish(self) -> None:
        """Raise BAD_DATA with all refusals, if there are any."""
        if self.refusals:
            count = len(self.refusals)
            what = "an operation has" if count == 1 else f"{count} operations have"
            raise bad_data(
                f"{what} no counterpart in {self.format}: {'; '.join(self.refusals)}",
                "export.no-counterpart",
            )

    def express(self, node: Node) -> None:
        """Lower one operation by its rule; raises RefusedError."""
        rule = self.rules.get(node.kind)
        if rule is None:
            raise RefusedError(f"{type(self).__module__} has no rule for it")
        if rule.lower is None:
            raise RefusedError(rule.why)
        self._require_constants(node, rule)
        if node.named.get("nchw"):
            self._as_nhwc(node)
        elif self._is_plain(node) or rule.native(node):
            rule.lower(self, node)
        else:
            self._in_float(node)

    def _require_constants(self, node: Node, rule: Rule) -> None:
        declared = declaration_of(OperationType[node.kind])
        for name in node.input_names:
            value = node.named[name]
            if not isinstance(value, Tensor) or name in rule.dynamic:
                continue
            if value.type in SCALARS or name in declared.values:
                raise RefusedError(f"{name} is not a constant of the model")

    @staticmethod
    def _is_plain(node: Node) -> bool:
        tensors = [*node.tensors, *node.outputs]
        return not any(t.is_quantized or t.type in HALF for t in tensors)

    # Other layouts and types

    def _as_nhwc(self, node: Node) -> None:
        """Lower an NCHW operation as NHWC between transpositions."""
        image = next(name for name in ("input", "scores", "heatmaps") if name in node.named)
        source = node.named[image]
        output = node.outputs[0]
        if node.kind in ("HEATMAP_MAX_KEYPOINT", "GENERATE_PROPOSALS"):
            raise RefusedError("its layout is NCHW")
        moved = output.like(_picked(output.dimensions, (0, 2, 3, 1)))
        changed = {image: self.transpose(source, (0, 2, 3, 1)), "nchw": False}
        if node.named.get("output_shape") is not None:
            changed["output_shape"] = _picked(node.output_shape, (0, 2, 3, 1))
        self.express(node.with_operands([moved], **changed))
        self.transpose(moved, (0, 3, 1, 2), output)

    def _in_float(self, node: Node) -> None:
        """Lower the operation in float32: dequantized inputs, quantized outputs."""
        bias = self._bias_scales(node)

        def real(name: str, value: Any) -> Any:
            if isinstance(value, list):
                return [real(name, item) for item in value]
            if not isinstance(value, Tensor):
                return value
            if name == "bias" and bias is not None and value.type is T.TENSOR_INT32:
                return self.dequantized_bias(value, bias)
            return self.real(value)

        changed = {name: real(name, node.named[name]) for name in node.input_names}
        outputs = [
            o.like(type=T.TENSOR_FLOAT32) if o.is_quantized or o.type in HALF else o
            for o in node.outputs
        ]
        self.express(node.with_operands(outputs, **changed))
        for computed, expected in zip(outputs, node.outputs, strict=True):
            if computed is not expected:
                self.store(computed, expected)

    @staticmethod
    def _bias_scales(node: Node) -> Array | None:
        """The scales of an int32 bias: input scale times filter scales."""
        weights = node.named.get("filter", node.named.get("weights"))
        if not isinstance(weights, Tensor) or not weights.is_quantized:
            return None
        scales = weights.channel_quant.scales if weights.channel_quant else weights.scale
        return np.float32(node.input.scale) * np.asarray(scales, np.float32)

    def real(self, t: Tensor) -> Tensor:
        """The tensor converted to float32; cached, so each tensor is converted once."""
        if not t.is_quantized and t.type not in HALF:
            return t
        key = id(t)
        if key not in self._reals:
            if t.type in HALF and t.value is not None:
                converted = constant(t.value.astype(np.float32), T.TENSOR_FLOAT32)
                converted.name = t.name
            else:
                converted = t.like(type=T.TENSOR_FLOAT32)
                (self.dequantize if t.is_quantized else self.cast)(t, converted)
            self._reals[key] = (t, converted)
        return self._reals[key][1]

    def store(self, value: Tensor, to: Tensor) -> None:
        """Convert a float32 tensor to the type of `to`."""
        if to.is_quantized:
            self.quantize(value, to)
        else:
            self.cast(value, to)

    def dequantized_bias(self, bias: Tensor, scales: Array) -> Tensor:
        """An int32 bias converted to float32."""
        if bias.value is not None:
            return constant((bias.value * np.float64(scales)).astype(np.float32))
        return self.mul(self.cast(bias, bias.like(type=T.TENSOR_FLOAT32)), constant(scales))

    # Conversions of the format

    def cast(self, x: Tensor, out: Tensor) -> Tensor:
        """Convert elements to another type, without scales."""
        raise NotImplementedError

    def dequantize(self, x: Tensor, out: Tensor) -> None:
        """Convert quantized elements to float32."""
        raise NotImplementedError

    def quantize(self, x: Tensor, out: Tensor) -> None:
        """Convert float32 to quantized elements."""
        raise NotImplementedError

    def integers(self, values: Any) -> Tensor:
        """Sizes or indices as a constant, or a tensor of the model in their type."""
        raise NotImplementedError

    def dequantize_by_arithmetic(self, x: Tensor, out: Tensor) -> None:
        """Convert elements of a type that the conversions of the format do not take."""
        real = self.cast(x, x.like(type=T.TENSOR_FLOAT32))
        self.mul(self.sub(real, float(x.zero_point)), x.scale, out)

    def quantize_by_arithmetic(self, x: Tensor, out: Tensor) -> None:
        """The other direction."""
        steps = self.binary("DIV", x, out.scale)
        rounded = steps.like()
        self.emit(self.round, [steps], [rounded])
        low, high = (float(bound) for bound in QUANTIZED_RANGE[out.type])
        moved = self.add(rounded, float(out.zero_point))
        self.cast(self.binary("MINIMUM", self.binary("MAXIMUM", moved, low), high), out)

    # Helpers for decompositions

    def emit(
        self, kind: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], **options: Any
    ) -> None:
        """Add a node of the target format."""
        self.emitted.append(Emitted(kind, list(inputs), list(outputs), options))

    def make(self, kind: str, out: Tensor, **named: Any) -> Tensor:
        """Lower an operation with the single output `out`."""
        name = declaration_of(OperationType[kind]).output_names[0]
        self.express(Node(kind, {**named, name: out}, [out]))
        return out

    def binary(self, kind: str, x: Tensor, y: Any, out: Tensor | None = None) -> Tensor:
        """ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM or POW; Python numbers become constants."""
        if not isinstance(y, Tensor):
            y = constant(np.asarray(y, np.float32))
        if not isinstance(x, Tensor):
            x = constant(np.asarray(x, np.float32))
        if out is None:
            out = Tensor(x.type, broadcast(x.dimensions, y.dimensions))
        if kind == "POW":
            return self.make(kind, out, base=x, exponent=y)
        fused = {} if kind in ("MAXIMUM", "MINIMUM") else {"activation": 0}
        return self.make(kind, out, input0=x, input1=y, **fused)

    add = _binary("ADD")
    sub = _binary("SUB")
    mul = _binary("MUL")

    def unary(self, kind: str, x: Tensor, out: Tensor | None = None) -> Tensor:
        """EXP, LOGISTIC, TANH, RELU, SQRT and other operations without parameters."""
        return self.make(kind, x.like() if out is None else out, input=x)

    def mean(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """The mean over `axes`, which keep size 1."""
        sizes = tuple(1 if at in axes else n for at, n in enumerate(x.dimensions))
        return self.make("MEAN", x.like(sizes), input=x, axes=tuple(axes), keep_dims=1)

    def reshape(self, x: Tensor, sizes: Dimensions, out: Tensor | None = None) -> Tensor:
        """Reshape; at most one size may be unknown."""
        out = x.like(sizes) if out is None else out
        if sizes.count(0) > 1:
            raise RefusedError("more than one of its dimensions is not known")
        return self.make("RESHAPE", out, input=x, shape=tuple(n or -1 for n in sizes))

    def transpose(self, x: Tensor, perm: Sequence[int], out: Tensor | None = None) -> Tensor:
        """Permute dimensions; a constant is transposed at once."""
        if x.value is not None and out is None:
            result = x.like(_picked(x.dimensions, perm))
            result.value, result.name = np.ascontiguousarray(x.value.transpose(perm)), x.name
            if x.channel_quant:
                at = list(perm).index(x.channel_quant.channel_dim)
                result.channel_quant = x.channel_quant._replace(channel_dim=at)
            return result
        out = x.like(_picked(x.dimensions, perm)) if out is None else out
        return self.make("TRANSPOSE", out, input=x, perm=tuple(perm))

    def slice(
        self, x: Tensor, begin: Sequence[int], size: Sequence[int], out: Tensor | None = None
    ) -> Tensor:
        """Slice; along a dimension of unknown size, all elements from `begin` on."""
        out = x.like(tuple(size)) if out is None else out
        counts = tuple(n or -1 for n in size)
        return self.make("SLICE", out, input=x, begin=tuple(begin), size=counts)

    def concatenate(self, xs: list[Tensor], axis: int, out: Tensor | None = None) -> Tensor:
        """Concatenate tensors along `axis`."""
        if out is None:
            sizes = list(xs[0].dimensions)
            sizes[axis] = sum(x.dimensions[axis] for x in xs)
            out = xs[0].like(tuple(sizes))
        return self.make("CONCATENATION", out, inputs=xs, axis=axis)

    def fully_connected(self, x: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
        """X [batch, size] times weights [units, size], plus bias [units]."""
        if bias is None:
            bias = constant(np.zeros(weights.dimensions[0], np.float32))
        out = Tensor(T.TENSOR_FLOAT32, (x.dimensions[0], weights.dimensions[0]))
        return self.make("FULLY_CONNECTED", out, input=x, weights=weights, bias=bias, activation=0)

    def activated(self, x: Tensor, code: int, out: Tensor | None = None) -> Tensor:
        """Apply an activation: a FuseCode, or a code of the recurrent cells."""
        kinds = {1: "RELU", 2: "RELU1", 3: "RELU6", 4: "TANH", 6: "LOGISTIC"}
        if code in kinds:
            return self.unary(kinds[code], x, out)
        if code:
            raise RefusedError(f"activation {code} has no counterpart")
        return x if out is None else self.copy(x, out)

    def copy(self, x: Tensor, out: Tensor) -> Tensor:
        """Copy a tensor."""
        return self.make("RESHAPE", out, input=x, shape=tuple(n or -1 for n in x.dimensions))


def _picked(dimensions: Dimensions, perm: Sequence[int]) -> Dimensions:
    return tuple(dimensions[axis] for axis in perm) if dimensions else ()


def with_size(b: ExportBuilder, node: Node, emit: Callable[[Tensor], object]) -> None:
    """Emit an operation that removes dimensions. A rank of 0 is [1] in NNAPI and [] elsewhere."""
    out = node.outputs[0]
    axes = node.named.get("axes")
    if isinstance(axes, tuple) and node.input.rank and not node.named.get("keep_dims"):
        is_all = len({axis % node.input.rank for axis in axes}) == node.input.rank
    else:
        is_all = "axis" in node.named and node.input.rank == 1
    if not is_all:
        emit(out)
        return
    single = out.like(())
    emit(single)
    b.reshape(single, (1,), out)
