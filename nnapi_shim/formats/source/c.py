"""C source that builds a model with the NDK functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.output_file import Target
from nnapi_shim.formats.source.c_literals import float_literal, list_literal
from nnapi_shim.formats.source.c_main import main_function
from nnapi_shim.formats.source.graphs import graphs_of, label, operations_as_added
from nnapi_shim.hal.quantization import ELEMENT_BYTES

COPIED = 128
"""Constants up to this size are copied by NNAPI; it keeps a pointer to larger ones."""

HEAD = """\
/* A model for Android's Neural Networks API, written by nnapi_shim.
 *
 * create_model() builds and finishes it; free_model() frees it and the models within it.
 * With -DNNAPI_MAIN it is a program: its arguments are files with the bytes of the inputs, in their
 * order, and it writes the bytes of the outputs to stdout. A size that the model leaves open is 1
 * there.
 */
#include <android/NeuralNetworks.h>
#include <stddef.h>
#include <stdint.h>

#define LENGTH(list) ((uint32_t)(sizeof(list) / sizeof((list)[0])))
#define TRY(call)                                        \\
    do {                                                 \\
        int result_ = (call);                            \\
        if (result_ != ANEURALNETWORKS_NO_ERROR) return result_; \\
    } while (0)

int create_model(ANeuralNetworksModel** model);
void free_model(ANeuralNetworksModel* model);

static int add(ANeuralNetworksModel* model, int32_t type, uint32_t rank, const uint32_t* sizes,
               float scale, int32_t zero_point) {
    ANeuralNetworksOperandType operand = {type, rank, rank ? sizes : NULL, scale, zero_point};
    return ANeuralNetworksModel_addOperand(model, &operand);
}
"""


def export(model: Model, path: Path) -> dict[Target, bytes]:
    """The C source of a finished model. Raises BAD_DATA for types and operations of extensions."""
    return {path: source(model).encode()}


def source(model: Model) -> str:
    """The source: constants, a function for each graph, a main function."""
    graphs = graphs_of(model)
    parts = [HEAD]
    for number, graph in enumerate(graphs):
        parts += _constants(graph, number)
    is_relaxed = model.finished.relax_computation_float32_to_float16
    inner = len(graphs) - 1
    if inner:
        parts.append(
            f"\n/* The models that IF and WHILE refer to. */\n"
            f"static ANeuralNetworksModel* inner_models[{inner}];\n"
        )
    for number, graph in enumerate(graphs):
        is_main = graph is model.graph
        parts.append(_function(graph, number, graphs, is_main, is_main and is_relaxed))
    parts.append(_create(inner))
    parts.append(main_function(model))
    return "".join(parts)


def _name(number: int, operand: OperandView) -> str:
    return f"constant_{number}_{operand.index}"


def _constants(graph: GraphView, number: int) -> list[str]:
    """Arrays for the constants that NNAPI keeps pointers to, as hexadecimal 8-, 16- or 32-bit
    words.
    """
    parts = []
    for operand in graph.operands:
        value = operand.value
        if value is None or value.nbytes <= COPIED:
            continue
        size = ELEMENT_BYTES[operand.type]
        words = value.ravel().view(f"<u{size}").tolist()
        per_line = {1: 16, 2: 12, 4: 8}[size]
        digits = 2 * size
        lines = [
            "    " + ", ".join(f"0x{word:0{digits}x}" for word in words[at : at + per_line])
            for at in range(0, len(words), per_line)
        ]
        parts.append(
            f"\n/* {label(operand)}: {operand} */\n"
            f"static const uint{8 * size}_t {_name(number, operand)}[] = {{\n"
            + ",\n".join(lines)
            + "};\n"
        )
    return parts


def _function(
    graph: GraphView, number: int, graphs: Sequence[GraphView], is_main: bool, is_relaxed: bool
) -> str:
    """The function that builds one graph."""
    lines = [
        "",
        f"static int build_{number}(ANeuralNetworksModel* model) {{"
        + ("" if is_main else "  /* a model that another one refers to */"),
        "    /* operands: type, rank, dimensions, scale, zero point */",
    ]
    for operand in graph.operands:
        lines += _operand(operand, number, graphs)
    lines += ["", "    /* operations: inputs -> outputs */"]
    for operation in operations_as_added(graph):
        inputs, outputs = (
            [o.index for o in list] for list in (operation.inputs, operation.outputs)
        )
        inputs_text = ", ".join(
            label(operand) for operand in operation.inputs if not operand.is_scalar
        )
        outputs_text = ", ".join(label(operand) for operand in operation.outputs)
        lines += [
            f"    /* {operation.number}: {inputs_text} -> {outputs_text} */",
            f"    TRY(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_{operation.name}, "
            f"{len(inputs)}, {list_literal(inputs)}, {len(outputs)}, {list_literal(outputs)}));",
        ]
    inputs, outputs = (
        [o.index for o in list] for list in (graph.input_operands, graph.output_operands)
    )
    if is_relaxed:
        lines.append("    TRY(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true));")
    lines += [
        f"    TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, {len(inputs)}, "
        f"{list_literal(inputs)}, {len(outputs)}, {list_literal(outputs)}));",
        "    return ANeuralNetworksModel_finish(model);",
        "}",
        "",
    ]
    return "\n".join(lines)


def _operand(operand: OperandView, number: int, graphs: Sequence[GraphView]) -> list[str]:
    """The calls that add an operand and set its value."""
    index, value = operand.index, operand.value
    sizes, scale = list(operand.dimensions), float_literal(operand.scale)
    lines = [
        f"    TRY(add(model, ANEURALNETWORKS_{operand.type.name}, {len(sizes)}, "
        f"{list_literal(sizes)}, {scale}, {operand.zero_point}));  /* {index} {label(operand)} */"
    ]
    if operand.channel_quant is not None:
        scales, axis = operand.channel_quant
        listed = list_literal([float_literal(scale) for scale in scales], "float")
        lines += [
            "    {",
            f"        ANeuralNetworksSymmPerChannelQuantParams scales = "
            f"{{{axis}, {len(scales)}, {listed}}};",
            "        TRY(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, "
            f"{index}, &scales));",
            "    }",
        ]
    set_value = f"    TRY(ANeuralNetworksModel_setOperandValue(model, {index}, "
    if operand.is_omitted:
        lines.append(f"{set_value}NULL, 0));")
    elif operand.subgraph is not None:
        at = graphs.index(operand.subgraph)
        lines.append(
            f"    TRY(ANeuralNetworksModel_setOperandValueFromModel(model, {index}, "
            f"inner_models[{at}]));"
        )
    elif value is not None and value.nbytes > COPIED:
        name = _name(number, operand)
        lines.append(f"{set_value}{name}, sizeof({name})));")
    elif value is not None:
        lines.append(f"{set_value}{_small(value)}, {value.nbytes}));")
    elif operand.is_constant:
        raise bad_data(
            f"operand {index} has a type without known values", "export.source.value-type"
        )
    return lines


def _small(value: Any) -> str:
    """A short constant as a literal: decimal for integers and finite floats, else hexadecimal."""
    flat = value.ravel()
    if flat.dtype == np.float32 and np.isfinite(flat).all():
        return list_literal([float_literal(item) for item in flat], "float")
    if flat.dtype.kind == "f":
        flat = flat.view(f"<u{flat.dtype.itemsize}")
    kinds = {"i": "int", "u": "uint", "b": "uint"}
    type = f"{kinds[flat.dtype.kind]}{8 * flat.dtype.itemsize}_t"
    lowest = -(2**31)
    texts = ["INT32_MIN" if item == lowest else str(int(item)) for item in flat.tolist()]
    return list_literal(texts, type) if texts else '""'


def _create(inner: int) -> str:
    """create_model and free_model."""
    first = (
        f"""    for (uint32_t i = 0; i < {inner}; ++i) {{
        static int (*const build[])(ANeuralNetworksModel*) = {{{
            ", ".join(f"build_{at}" for at in range(inner))
        }}};
        TRY(ANeuralNetworksModel_create(&inner_models[i]));
        TRY(build[i](inner_models[i]));
    }}
"""
        if inner
        else ""
    )
    last = (
        f"""    for (uint32_t i = 0; i < {inner}; ++i) {{
        ANeuralNetworksModel_free(inner_models[i]);
        inner_models[i] = NULL;
    }}
"""
        if inner
        else ""
    )
    return f"""
int create_model(ANeuralNetworksModel** model) {{
{first}    TRY(ANeuralNetworksModel_create(model));
    return build_{inner}(*model);
}}

void free_model(ANeuralNetworksModel* model) {{
    ANeuralNetworksModel_free(model);
{last}}}
"""
