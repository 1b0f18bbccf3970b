"""For each pass, mutations: texts of its guards and what replaces them."""

from typing import NamedTuple

from nnapi_shim.drivers.cpu.passes import SCHEDULE_PASSES

PASSES = "nnapi_shim.drivers.cpu.passes"
OF_SCHEDULES = {"chains", "parallel_groups", *(each.name for each in SCHEDULE_PASSES)}


def module_of(name: str) -> str:
    """Full name of a module of passes."""
    return f"{PASSES}.{'schedule' if name in OF_SCHEDULES else 'graph'}.{name}"


class Mutation(NamedTuple):
    """A text of a module of passes that is replaced by another."""

    old: str
    new: str
    module: str = ""
    """The module, if not that of the pass."""


M = Mutation
KEPT = M("index in self.graph.outputs or ", "", "pattern")
SHARED = M(" or len(self.graph.readers.get(index, ())) != uses", "", "pattern")
IN_USE = (KEPT, SHARED)
SCALES = M("(output.scale, output.zero_point) != expected", "False", "rewriter")
PATTERN = (
    M("if not graph.is_plain(index, *sources):", "if False:", "pattern"),
    M("and element_count(operands[index].dimensions) == count", "", "pattern"),
    M("if match.results[key] == index:", "if True:", "pattern"),
)
DECLARED = M("not resolve(op)", "True", "rewriter")
OVERWRITTEN = M(" and root(step.fields[step.in_place]) in read_by_others", " and False", "chains")

MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "keep_weights_q8": (
        M("and signed_zero(bound_operand(source, operand))[1] == 0", ""),
        M("and (quant is None or quant.channel_dim == 0)", ""),
        M("or target in graph.outputs ", ""),
        M("products[each] and ", ""),
        M(" and _is_weights(graph, each, target)", ""),
        M("and graph.is_plain(*item.outputs)", ""),
    ),
    "fold_constants": (
        M("if index not in known and not graph.is_constant(index):", "if False:"),
        M(" or not graph.outputs.isdisjoint(item.outputs)", ""),
        M("if not graph.is_plain(*item.outputs):", "if False:"),
    ),
    "merge_transposes": (
        *IN_USE,
        M("not graph.is_plain(source, between, target)", "False"),
        M("target in graph.outputs or not graph.are_alike", "not graph.are_alike"),
        M("[inner[axis] for axis in outer]", "[outer[axis] for axis in inner]"),
        DECLARED,
    ),
    "merge_quantization": (
        M("operands[0].type not in BYTES or ", ""),
        M(" or operands[1].type is not OperandType.TENSOR_FLOAT32", ""),
        M("if not graph.is_plain(source, real, target):", "if False:"),
        M("table == IDENTITY and graph.are_alike(source, target)", "table == IDENTITY"),
        M(" and target not in graph.outputs", ""),
        *IN_USE,
        M("source.scale == target.scale and ", ""),
        M("table == IDENTITY and graph.are_alike", "graph.are_alike"),
        DECLARED,
    ),
    "fuse_dilation": (
        *IN_USE,
        M("any(axis != PLAIN._replace(size=axis.size) for axis in window)", "False"),
        M("not (height.is_legal and width.is_legal)", "False"),
        M("if not graph.is_plain(*first.inputs", "if False and not graph.is_plain(*first.inputs"),
        M("not is_finite(graph, item.inputs[1])", "False"),
        M("operand.type not in codes or not graph.is_constant(index)", "False", "windows"),
        DECLARED,
    ),
    "fuse_padding": (
        *IN_USE,
        M("if not (height.is_legal and width.is_legal):", "if False:"),
        M("not is_finite(graph, item.inputs[1])", "False"),
        M("value != one.zero_point", "False"),
        M(
            'if "nchw" in named and graph.value(named["nchw"]) is not False:',
            "if False:",
            "windows",
        ),
        M("if None in numbers.values():", "if False:", "windows"),
        M("if not graph.is_plain(*item.inputs, *item.outputs):", "if False:", "windows"),
        DECLARED,
    ),
    "fuse_activations": (
        *IN_USE,
        M("if not graph.is_plain(*first.inputs, between, target):", "if False:"),
        M('graph.value(named["activation"]) != FuseCode.NONE', "False"),
        SCALES,
        DECLARED,
    ),
    "fuse_gelu": (
        *IN_USE,
        *PATTERN,
        M("real(O.MUL, X, X), X)", 'real(O.MUL, X, X), Operand("y"))'),
        M("real(O.MUL, real(O.MUL, X, X)", 'real(O.MUL, real(O.MUL, X, Operand("y"))'),
        M("real(O.MUL, SHARE, X)", 'real(O.MUL, SHARE, Operand("y"))'),
        M("CUBE), X)", 'CUBE), Operand("y"))'),
        M(
            "graph.operands[item.outputs[0]].type is not OperandType.TENSOR_FLOAT32",
            "False",
            "pattern",
        ),
        M("if item.type in BINARY and graph.value", "if False and graph.value", "pattern"),
        M("graph.is_constant(index) and element_count", "element_count", "pattern"),
        DECLARED,
    ),
    "fuse_layer_norm": (
        *IN_USE,
        *PATTERN,
        M("real(O.MUL, APART, APART)", 'real(O.MUL, APART, Operand("y"))'),
        M("real(O.SUB, X, _mean(X))", 'real(O.SUB, X, _mean(Operand("y")))'),
        M("real(O.DIV, APART, DEVIATION)", 'real(O.DIV, Operand("y"), DEVIATION)'),
        M("operands[index].dimensions[-1] != length", "False"),
        M(" or not LEAST <= least <= MOST", ""),
        M("not all(_is_ordinary(graph, index) for index in (gain, bias))", "False"),
        M("in ((last,), (-1,)) and", "and"),
        M(" and keep is not None and keep > 0", ""),
        DECLARED,
    ),
    "sum_bytes": (
        *IN_USE,
        M("operands[source].type not in BYTES or ", ""),
        M("SUM = Op((O.REDUCE_SUM, O.MEAN), ", "SUM = Op((O.REDUCE_SUM, O.MEAN, O.REDUCE_MAX), "),
        M("item.type is O.MEAN", "True"),
        M("axis % rank for axis in axes", "axis % rank for axis in axes[:1]"),
        DECLARED,
    ),
    "tabulate_bytes": (
        M("output not in graph.outputs and ", ""),
        M("operand.dimensions != dimensions or ", ""),
        M(" or not graph.is_plain(index)", ""),
        M("if len(reached) == 1:", "if reached:"),
        M("if graph.operands[source].type in BYTES:", "if True:"),
        M(" and readers <= {position, *removed}", ""),
        M("if element_count(operand.dimensions) != 1:", "if False:"),
    ),
    "compress_weights_f16": (M("and _are_in_range(graph, matrices)", ""),),
    "sum_gathered": (
        M("others == [number] and ", ""),
        M(" and schedule.is_temporary(copied)", ""),
        M("is_along_first and ", ""),
        M(" and is_of_slices", ""),
    ),
    "fuse_additions": (
        M(" and len(readers[root]) == 1", ""),
        M(" and is_one_by_one(step.fields)", ""),
        M("schedule.is_temporary(root) and ", ""),
        M(' and schedule.root(first.step.fields["addend"]) not in others', ""),
        M("product.kernel not in ADDING or ", ""),
        M('fields["addend"] is not None or ', ""),
        M("addition.kernel == BYTES and may_be_floored(fields)", "False"),
        M("quantized_addition(source, side)", "quantized_addition(source, 1 - side)"),
    ),
    "write_in_place": (
        M("return root if schedule.is_temporary(root) else None", "return root"),
        M("len(uses[root].reads) != 1 or len(uses[root].writes) != 1", "not uses[root].writes"),
        M("writer.record.space != Space.MATRIX or ", ""),
        M("if not _is_dense(step):", "if False:"),
        M("root is None or not _is_dense(step) or", "root is None or"),
        M("offset, value = offset + value.offset, value.base", "offset, value = 0, value.base"),
        M('        if reader.in_place:\n            reader.in_place = ""\n', ""),
    ),
    "fuse_tiles": (
        M("behind is None or behind.units != first.units", "behind is None"),
        M("        cut.set(chain.units, chain.share)\n", "", "chains"),
        OVERWRITTEN,
        M("not is_one_by_one(fields) or ", ""),
        M('fields["row_tiles"] != fields["image_tiles"]', "False"),
    ),
    "fuse_elementwise": (
        M("finest = gcd(rows, cut.units)", "finest = max(rows, cut.units)"),
        M("if name not in cut.by_unit:", "if False:"),
        OVERWRITTEN,
        M('if fields["size"] == all_rows:', "if True:"),
        M('(fields["inner"], fields["repeats"]) != (1, 1)', "False"),
    ),
    "run_parallel": (
        M("behind = max(behind, written.get(root, -1))", "pass", "parallel_groups"),
        M("if root.address is None:", "if False:", "parallel_groups"),
        M("if name in writes:", "if False:", "parallel_groups"),
    ),
}

EQUIVALENT: dict[str, tuple[Mutation, ...]] = {
    "keep_weights_q8": (
        M("and graph.is_constant(source)", ""),
        M("and graph.is_plain(source, target)", ""),
    ),
    "fuse_gelu": (
        M("operands[sibling].dimensions == operands[result].dimensions", "True", "pattern"),
    ),
    "fuse_tiles": (
        M('fields["table_step"] == 0', "True"),
        M(' or root(fields["input"]) != written', ""),
        M("written not in map(schedule.root, sources) or ", ""),
    ),
    "write_in_place": (
        M('step.fields["rows"] * step.fields["bytes"] != byte_size(value)', "False"),
        M('if name != "output" or not isinstance(fields[name], BoundOperand):', "if False:"),
    ),
}
"""Mutations that change no result.

keep_weights_q8: weights that are no constants would be packed in each run. Operations that read a
result of unknown dimensions are not plain either.

fuse_gelu: a constant of one number adds leading dimensions of 1 to a result, at most: its elements
are the same.

fuse_tiles: a product with a table for each tile has no `tile_bytes`, and is not chained for that.
Steps that do not need each other may follow each other tile by tile, too, as they are cut into the
same pixels; that only keeps nothing in the cache. write_in_place: a copy that names an operand
itself, and is dense or of a product's rows, has all of it: what takes a part of one names an At,
and what repeats a row has a step of 0. The only step that writes an operand writes all of it.
"""
