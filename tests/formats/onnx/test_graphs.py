"""Inner graphs, functions, shapes and names, next to ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

pytest.importorskip("onnxruntime")

import nnapi_shim
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.onnx.model import loaded
from tests.formats import peers

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info
node = helper.make_node


def file(nodes: list[Any], inputs: list[Any], outputs: list[Any], **options: Any) -> bytes:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph(
        nodes, "graph", inputs, outputs, initializer=options.pop("initializer", ())
    )
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, **options)
    return bytes(model.SerializeToString())


def equal(data: bytes, *inputs: Any) -> None:
    expected = peers.in_onnxruntime(data, list(inputs))
    model = loaded(data, None)
    results = nnapi_shim.Compilation(model, devices=["nnapi-cpu"]).run(*map(np.atleast_1d, inputs))
    results = results if isinstance(results, tuple) else (results,)
    for result, goal in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, np.atleast_1d(goal), rtol=1e-5)


def numbers(name: str, *values: float) -> Any:
    return helper.make_tensor(name, FLOAT, [len(values)], values)


def branches() -> dict[str, Any]:
    then = helper.make_graph(
        [node("Mul", ["x", "two"], ["t"])], "then", [], [value("t", FLOAT, [3])]
    )
    inner = helper.make_graph(
        [node("Sub", ["x", "y"], ["d"]), node("Neg", ["d"], ["e"])],
        "else",
        [],
        [value("e", FLOAT, [3])],
    )
    return {"then_branch": then, "else_branch": inner}


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool) -> None:
    data = file(
        [node("Relu", ["x0"], ["x"]), node("If", ["c"], ["z"], **branches())],
        [value("c", BOOL, []), value("x0", FLOAT, [3]), value("y", FLOAT, [3])],
        [value("z", FLOAT, [3])],
        initializer=[numbers("two", 2)],
    )
    x, y = np.array([1, -2, 3], np.float32), np.array([4, 5, 6], np.float32)
    equal(data, np.array(condition), x, y)


def test_if_of_a_constant() -> None:
    constant = helper.make_tensor("c", BOOL, [], [False])
    data = file(
        [node("Relu", ["x0"], ["x"]), node("If", ["c"], ["z"], **branches())],
        [value("x0", FLOAT, [3]), value("y", FLOAT, [3])],
        [value("z", FLOAT, [3])],
        initializer=[numbers("two", 2), constant],
    )
    equal(data, np.array([1, -2, 3], np.float32), np.array([4, 5, 6], np.float32))
    assert not any(item.name == "IF" for item in loaded(data, None).operations)


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("is_constant", [False, True])
def test_loop(count: int, is_constant: bool) -> None:
    """Until the sum exceeds 10, or `count` iterations are done."""
    body = helper.make_graph(
        [
            node("Add", ["v", "step"], ["w"]),
            node("Cast", ["i"], ["j"], to=FLOAT),
            node("Add", ["w", "j"], ["u"]),
            node("ReduceSum", ["u"], ["s"], keepdims=0),
            node("Less", ["s", "ten"], ["more"]),
        ],
        "body",
        [value("i", INT64, []), value("go", BOOL, []), value("v", FLOAT, [2])],
        [value("more", BOOL, []), value("u", FLOAT, [2])],
    )
    limit = helper.make_tensor("m", INT64, [], [count])
    data = file(
        [node("Loop", ["m", "", "x"], ["z"], body=body)],
        [value("x", FLOAT, [2]), value("step", FLOAT, [2])]
        + ([] if is_constant else [value("m", INT64, [])]),
        [value("z", FLOAT, [2])],
        initializer=[
            helper.make_tensor("ten", FLOAT, [], [10]),
            *([limit] if is_constant else []),
        ],
    )
    x, step = np.array([0, 1], np.float32), np.array([0.5, 0.25], np.float32)
    equal(data, x, step, *([] if is_constant else [np.array(count)]))


def _running_sums(more: str, outputs: int = 3, **limit: Any) -> bytes:
    """A Loop that stacks running sums and the numbers of its iterations, and its first outputs."""
    body = helper.make_graph(
        [
            node("Add", ["v", "step"], ["u"]),
            node("Add", ["u", "half"], ["stacked"]),
            node("Cast", ["i"], ["number"], to=FLOAT),
            node("Less", ["i", "three"], ["first"]),
            node("Identity", ["go"], ["always"]),
        ],
        "body",
        [value("i", INT64, []), value("go", BOOL, []), value("v", FLOAT, [2])],
        [value(more, BOOL, []), value("u", FLOAT, [2]), value("stacked", FLOAT, [2])]
        + [value("number", FLOAT, [])],
        initializer=[numbers("half", 0.5, 0.25), helper.make_tensor("three", INT64, [], [3])],
    )
    return file(
        [node("Loop", ["m", "", "x"], ["z", "sums", "numbers" if outputs == 3 else ""], body=body)],
        [value("x", FLOAT, [2]), value("step", FLOAT, [2]), *limit.get("inputs", ())],
        [
            value("z", FLOAT, [2]),
            value("sums", FLOAT, [None, 2]),
            value("numbers", FLOAT, [None]),
        ][:outputs],
        initializer=[helper.make_tensor("m", INT64, [], [n]) for n in limit.get("counts", ())],
    )


@pytest.mark.parametrize("more", ["always", "first"])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_stacked_results_of_a_loop(more: str, count: int) -> None:
    """Up to `count` iterations; four where the condition says so."""
    x, step = np.array([0, 1], np.float32), np.array([0.5, 0.25], np.float32)
    equal(_running_sums(more, counts=[count]), x, step)


def test_an_omitted_stacked_result() -> None:
    x, step = np.array([0, 1], np.float32), np.array([0.5, 0.25], np.float32)
    all_three, two = (
        nnapi_shim.Compilation(loaded(_running_sums("always", outputs, counts=[3]), None))
        for outputs in (3, 2)
    )
    for result, goal in zip(two.run(x, step), all_three.run(x, step)[:2], strict=True):
        np.testing.assert_array_equal(result, goal)


def test_stacked_results_of_unknown_number() -> None:
    with pytest.raises(NnapiError, match="whose number is no constant"):
        loaded(_running_sums("always", inputs=[value("m", INT64, [])]), None)


@pytest.mark.parametrize(("count", "message"), [(0, "no iterations"), (2000, "4096 operators")])
def test_a_number_of_iterations_that_is_not_unrolled(count: int, message: str) -> None:
    with pytest.raises(NnapiError, match=message):
        loaded(_running_sums("always", counts=[count]), None)


@pytest.mark.parametrize("is_reversed", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scan(axis: int, is_reversed: int) -> None:
    """Two inputs, of which one is read from its end, and a result that is stacked along an axis."""
    body = helper.make_graph(
        [
            node("Mul", ["v", "a"], ["product"]),
            node("Add", ["product", "b"], ["w"]),
            node("Sub", ["w", "outer"], ["stacked"]),
        ],
        "body",
        [value(name, FLOAT, [2]) for name in "vab"],
        [value("w", FLOAT, [2]), value("stacked", FLOAT, [2])],
    )
    options = {
        "num_scan_inputs": 2,
        "scan_input_axes": [0, 1],
        "scan_input_directions": [is_reversed, 0],
        "scan_output_axes": [axis],
        "scan_output_directions": [is_reversed],
    }
    data = file(
        [node("Scan", ["x", "a", "b"], ["z", "all"], body=body, **options)],
        [value("x", FLOAT, [2]), value("a", FLOAT, [3, 2]), value("b", FLOAT, [2, 3])]
        + [value("outer", FLOAT, [2])],
        [value("z", FLOAT, [2]), value("all", FLOAT, [None, None])],
    )
    random = np.random.default_rng(1)
    shapes = ([2], [3, 2], [2, 3], [2])
    equal(data, *(random.random(shape, np.float32) for shape in shapes))


def test_a_function_of_the_file() -> None:
    opsets = [helper.make_opsetid("", 17)]
    scaled = helper.make_node("LeakyRelu", ["a"], ["b"])
    reference = scaled.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", 1
    twice = helper.make_function(
        "own", "Leaky", ["a"], ["c"], [scaled, node("Add", ["b", "b"], ["c"])], opsets, ["slope"]
    )
    data = file(
        [
            node("Leaky", ["x"], ["y"], domain="own", slope=0.5),
            node("Leaky", ["y"], ["z"], domain="own", slope=0.25),
        ],
        [value("x", FLOAT, [3])],
        [value("z", FLOAT, [3])],
        functions=[twice],
    )
    equal(data, np.array([1, -2, 3], np.float32))


def test_names_and_copies() -> None:
    data = file(
        [node("Identity", ["x"], ["same"]), node("Identity", ["x"], ["again"])],
        [value("x", FLOAT, [2])],
        [value("same", FLOAT, [2]), value("again", FLOAT, [2])],
    )
    compilation = nnapi_shim.Compilation(loaded(data, None))
    assert compilation.input_names == ("x",)
    assert compilation.output_names == ("same", "again")
    equal(data, np.array([1, 2], np.float32))


OPEN = file(
    [node("MatMul", ["x", "x"], ["y"])],
    [value("x", FLOAT, ["batch", 3, 3])],
    [value("y", FLOAT, None)],
)


def test_open_dimensions() -> None:
    with pytest.raises(
        NnapiError, match=r"\[batch, 3, 3\].*shapes=\{'x': \(1, 3, 3\)\}.*FILE@x=1,3,3"
    ):
        loaded(OPEN, None)
    model = loaded(OPEN, None, {"x": (2, 3, 3)})
    x = np.ones((2, 3, 3), np.float32)
    assert (nnapi_shim.Compilation(model).run(x) == 3).all()


@pytest.mark.parametrize(
    ("shapes", "rule"),
    [
        ({"z": (1,)}, "input"),
        ({"x": (1, 3)}, "rank"),
        ({"x": (0, 3, 3)}, "sizes"),
        ({"x": ("a", 3, 3)}, "sizes"),
    ],
)
def test_shapes_that_do_not_fit(shapes: Any, rule: str) -> None:
    with pytest.raises(NnapiError) as error:
        loaded(OPEN, None, shapes)
    assert error.value.rule == f"import.onnx.shapes.{rule}"


def test_int64_beyond_32_bits() -> None:
    data = file(
        [node("Gather", ["t", "i"], ["y"])],
        [value("t", FLOAT, [4]), value("i", INT64, [2])],
        [value("y", FLOAT, [2])],
    )
    equal(data, np.arange(4, dtype=np.float32), np.array([3, 1]))
    compilation = nnapi_shim.Compilation(loaded(data, None))
    with pytest.raises(NnapiError, match="not all values"):
        compilation.run(np.arange(4, dtype=np.float32), np.array([3, 2**32 + 1]))
