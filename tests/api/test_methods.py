"""Every operation as a method of Model."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import build_methods
from nnapi_shim import FuseCode, Model, NnapiError, OperandType, PaddingCode
from nnapi_shim.api.calling import PADS, PAIRS
from nnapi_shim.hal.quantization import ASYMMETRIC, QUANTIZED_RANGE, SCALARS, SYMMETRIC
from nnapi_shim.operations import registry

ROOT = Path(__file__).resolve().parents[2]
F32 = "TENSOR_FLOAT32"


def test_methods_are_what_the_declarations_say() -> None:
    folder = ROOT / "nnapi_shim" / "api" / "methods"
    written = build_methods.files()
    assert {path.name for path in folder.glob("*.py")} == {*written}
    for name, text in written.items():
        assert (folder / name).read_text() == text, "`make library` writes it anew"


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    build_methods.write(tmp_path)
    (tmp_path / "gone.py").touch()
    (tmp_path / "binary.py").touch()
    (target,) = (tmp_path / name for name in build_methods.files())
    before = target.stat().st_mtime_ns
    build_methods.write(tmp_path)
    assert [*tmp_path.iterdir()] == [target]
    assert target.stat().st_mtime_ns == before
    target.write_text("")
    build_methods.write(tmp_path)
    assert target.read_text() == build_methods.files()[target.name]


def test_a_method_that_is_not_written_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout whose api/methods is older than its declarations; other names are plain errors."""
    owner = next(base for base in Model.__mro__ if "add" in vars(base))
    monkeypatch.delattr(owner, "add")
    with Model() as model:
        with pytest.raises(AttributeError, match=r"attribute 'add'; `python build_methods.py`"):
            model.add  # noqa: B018
        with pytest.raises(AttributeError, match=r"attribute 'sum_up'$"):
            model.sum_up  # noqa: B018
        model.outputs(model.relu(model.input(F32, [1])))


def method_of(declaration) -> str:
    return build_methods.method_name(declaration)


def arguments(declaration, names, operands):
    """Operands by the names of a method's parameters."""
    given = dict(zip(names, operands, strict=True))
    repeated = {accepted.inputs.repeated for accepted in declaration.forms} - {""}
    for name in repeated & set(names):
        given[name] = [operand for n, operand in zip(names, operands, strict=True) if n == name]
    if PADS[0] in given:
        given["padding"] = tuple(given.pop(name) for name in PADS)
    for pair in PAIRS:
        if f"{pair}_width" in given:
            given[pair] = given.pop(f"{pair}_width"), given.pop(f"{pair}_height")
    return given


def uses():
    """Every declared use of every operation but those of models, each form with each row."""
    for declaration in registry():
        if declaration.type.name in ("IF", "WHILE"):
            continue
        for accepted in declaration.forms:
            extra = 1 if accepted.inputs.repeated else 0
            count = len(accepted.inputs.names) + extra
            outputs = declaration.outputs_of(accepted)
            if outputs.repeated:
                actual = declaration.uses(count, 2)
            else:
                actual = declaration.uses(count, len(outputs.names))
            for types, match in actual:
                if match.input_names == accepted.inputs.spread(count):
                    yield declaration, types, match


def test_every_use_of_every_operation() -> None:
    names = {d.type: method_of(d) for d in registry()}
    seen = set()
    for declaration, (inputs, outputs), match in uses():
        model = Model()
        operands = []
        for type in inputs:
            scale = 0.25 * (type in ASYMMETRIC or type in SYMMETRIC)
            operands.append(model.add_operand(type, None, scale))
        given = arguments(declaration, match.input_names, operands)
        method = getattr(model, names[declaration.type])
        parameters = inspect.signature(method).parameters
        if "num_splits" in given:
            given["num_splits"] = 2
        if "output_count" in parameters:
            given["output_count"] = len(outputs)
        if "output" in parameters:
            given["output"] = outputs[0]
        if "scale" in parameters and any(type in QUANTIZED_RANGE for type in outputs):
            given["scale"] = 0.5
        result = method(**given)
        seen.add(declaration.type)
        item = model.operations[-1]
        assert item.type is declaration.type
        if "num_splits" not in given:
            assert [o.index for o in item.inputs] == [o.index for o in operands]
        assert tuple(o.type for o in item.outputs) == outputs
        several = result if isinstance(result, tuple) else (result,)
        assert [o.index for o in several] == [o.index for o in item.outputs]
    missing = {d.type.name for d in registry()} - {type.name for type in seen}
    assert missing == {"IF", "WHILE"}


def test_the_example_of_the_documentation(device: str) -> None:
    generator = np.random.default_rng(0)
    w, b = generator.normal(size=(4, 3, 3, 2)).astype(np.float32), np.zeros(4, np.float32)
    given = generator.normal(size=(1, 6, 6, 2)).astype(np.float32)
    with Model() as model:
        x = model.input(F32, [1, 6, 6, 2])
        y = model.conv_2d(x, w, b, padding="SAME", stride=(2, 2), activation="RELU6", name="y")
        model.outputs(y)
    with Model() as other:
        x = other.input(F32, [1, 6, 6, 2])
        other.outputs(other.operation("CONV_2D", [x, w, b, PaddingCode.SAME, 2, 2, FuseCode.RELU6]))
    assert y.name == "y"
    assert [o.type for o in model.operands] == [o.type for o in other.operands]
    np.testing.assert_array_equal(
        model.compile(device).run(given), other.compile(device).run(given)
    )


def last(model: Model) -> dict[str, object]:
    """Inputs of the last operation by their names: values of constants, else the operand."""
    item = model.operations[-1]
    return {
        role: operand.value.tolist() if operand.is_constant else operand
        for role, operand in zip(item.roles, item.inputs, strict=True)
    }


def test_the_shortest_form_that_says_it_all() -> None:
    model = Model()
    x = model.input(F32, [1, 8, 8, 2])
    w, b = np.zeros((3, 3, 3, 2), np.float32), np.zeros(3, np.float32)
    plain = ("input", "filter", "bias", "padding", "stride_width", "stride_height", "activation")
    model.conv_2d(x, w, b, padding="VALID")
    assert tuple(last(model)) == plain
    model.conv_2d(x, w, b, padding="VALID", nchw=False, dilation=(1, 1))
    assert tuple(last(model)) == plain
    model.conv_2d(x, w, b, padding="VALID", dilation=(2, 1))
    actual = last(model)
    assert tuple(actual) == (*plain, "nchw", "dilation_width", "dilation_height")
    assert (actual["nchw"], actual["dilation_width"], actual["dilation_height"]) == (False, 2, 1)
    model.conv_2d(x, w, b, padding=(1, 2, 0, 2), stride=(1, 2))
    actual = last(model)
    assert [actual[name] for name in (*PADS, "stride_width", "stride_height")] == [1, 2, 0, 2, 1, 2]
    model.softmax(x)
    assert last(model)["beta"] == 1.0
    assert "axis" not in last(model)
    model.softmax(x, beta=2, axis=1)
    assert (last(model)["beta"], last(model)["axis"]) == (2.0, 1)
    model.resize_bilinear(x, output_width=3, output_height=2)
    assert (last(model)["output_width"], last(model)["output_height"]) == (3, 2)
    model.resize_bilinear(x, width_scale=2, height_scale=1.5)
    assert (last(model)["width_scale"], last(model)["height_scale"]) == (2.0, 1.5)
    model.mean(x, [1, 2], keep_dims=True)
    assert last(model)["keep_dims"] == 1


def test_what_no_form_has() -> None:
    model = Model()
    x = model.input(F32, [1, 8, 8, 2])
    with pytest.raises(NnapiError, match="RESIZE_BILINEAR: output_width, width_scale given; it t"):
        model.resize_bilinear(x, output_width=3, width_scale=2.0)
    with pytest.raises(NnapiError, match="RESIZE_BILINEAR: nothing given; it takes output_width, "):
        model.resize_bilinear(x)
    with pytest.raises(NnapiError, match=r"padding is \(1, 2\) \(tuple\); it must be a scheme"):
        model.max_pool_2d(x, padding=(1, 2), filter=2)  # type: ignore[arg-type]
    with pytest.raises(NnapiError, match="there is no PaddingCode 'SAM'; did you mean SAME"):
        model.max_pool_2d(x, padding="SAM", filter=2)  # type: ignore[arg-type]
    with pytest.raises(NnapiError, match=r"filter is \(1, 2, 3\)"):
        model.max_pool_2d(x, padding="SAME", filter=(1, 2, 3))  # type: ignore[arg-type]


def test_omitted_inputs() -> None:
    model = Model()
    x = model.input("TENSOR_FLOAT32", [1, 4])
    feature, time = np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float32)
    state = model.input("TENSOR_FLOAT32", [1, 6])
    state_out, output = model.svdf(x, feature, time, state, rank=1, bias=None)
    assert model.operations[-1].named["bias"].is_omitted
    assert (state_out.dimensions, output.dimensions) == ((1, 6), (1, 2))


def test_several_outputs() -> None:
    model = Model()
    x = model.input(F32, [2, 6], name="x")
    values, indices = model.topk_v2(x, 3, name=["best", "where"])
    assert (values.name, values.dimensions, indices.name) == ("best", (2, 3), "where")
    first, second = model.split(x, 1, 2)
    assert first.dimensions == second.dimensions == (2, 3)
    sequence = model.input(F32, [1, 5, 4])
    weights, recurrent = np.zeros((3, 4), np.float32), np.zeros((3, 3), np.float32)
    state = model.input(F32, [1, 3])
    given = sequence, weights, recurrent, np.zeros(3, np.float32), state
    assert len(model.unidirectional_sequence_rnn(*given)) == 1
    assert len(model.unidirectional_sequence_rnn(*given, output_count=2)) == 2


def test_models_as_inputs(device: str) -> None:
    def adding(number: float) -> Model:
        with Model() as model:
            x = model.input(F32, [2])
            model.outputs(model.add(x, [number, number]))
        return model

    with Model() as below:
        x = below.input(F32, [2])
        below.outputs(below.less(below.reduce_max(x, [0], keep_dims=True), [10.0]))
    with Model() as model:
        condition, x = model.input("TENSOR_BOOL8", [1]), model.input(F32, [2])
        (chosen,) = model.if_(condition, adding(1), adding(-1), [x])
        (repeated,) = model.while_(below, adding(4), [chosen])
        model.outputs(repeated)
    compilation = model.compile(device)
    assert compilation.run([True], [0, 1]).tolist() == [9, 10]
    assert compilation.run([False], [0, 1]).tolist() == [11, 12]


def test_quantization_of_the_output() -> None:
    model = Model()
    x = model.input("TENSOR_QUANT8_ASYMM", [2], 0.5, 3)
    y = model.input("TENSOR_QUANT8_ASYMM", [2], 0.25, 7)
    sum = model.add(x, y, scale=1.5, zero_point=9)
    assert (sum.scale, sum.zero_point) == (1.5, 9)
    like = model.add(x, y, like=y)
    assert (like.scale, like.zero_point) == (0.25, 7)
    floats = model.dequantize(x, output=OperandType.TENSOR_FLOAT32)
    assert model.quantize(floats, like=y).type is OperandType.TENSOR_QUANT8_ASYMM
    with pytest.raises(NnapiError, match="scale and like are both given"):
        model.add(x, y, scale=1.0, like=y)


def test_scalars_may_be_operands() -> None:
    model = Model()
    x, axis = model.input(F32, [2, 3]), model.input("INT32")
    model.gather(x, axis, [0])
    assert model.operations[-1].named["axis"].index == axis.index
    assert axis.type in SCALARS
