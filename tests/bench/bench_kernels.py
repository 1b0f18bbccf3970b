"""Single operations on one thread: this library, LiteRT (XNNPACK) and ONNX Runtime, in turns.

Needs an interpreter with the packages of all three, and PYTHONPATH at the root of the repository.
NNAPI_SHIM_TIER picks our kernels; the others take what the processor has. With NNAPI_SHIM_THREADS=1
ours have one thread as well. Arguments are words: only the cases whose names contain one of them
are run.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from ai_edge_litert.interpreter import Interpreter
from onnx import TensorProto, helper

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.library import current
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.bench.tflite_model import Operator, Quantization, Tensor, constant, model, schema
from tests.drivers.cpu.single import Single

ROUNDS = 80
BAR = 1.10


class Case(NamedTuple):
    """A convolution [batch, height, width, depth] -> columns.

    filter: height and width, or the size of a square; 0: fully connected.
    """

    name: str
    operation: OperationType
    image: tuple[int, ...]
    columns: int
    filter: int | tuple[int, int]
    stride: int = 1

    @property
    def window(self) -> tuple[int, int]:
        """Height and width of the filter."""
        return self.filter if isinstance(self.filter, tuple) else (self.filter, self.filter)


C, D, F = OperationType.CONV_2D, OperationType.DEPTHWISE_CONV_2D, OperationType.FULLY_CONNECTED
CASES = (
    Case("conv 3x3 56x56x64 -> 64", C, (1, 56, 56, 64), 64, 3),
    Case("conv 1x1 28x28x256 -> 256", C, (1, 28, 28, 256), 256, 1),
    Case("depthwise 3x3 56x56x128", D, (1, 56, 56, 128), 128, 3),
    Case("fully connected 1024 -> 1000", F, (1, 1024), 1000, 0),
    Case("conv 3x3 14x14x256 -> 256", C, (1, 14, 14, 256), 256, 3),
    Case("conv 1x1 7x7x960 -> 320", C, (1, 7, 7, 960), 320, 1),
    Case("conv 1x1 56x56x24 -> 144", C, (1, 56, 56, 24), 144, 1),
    Case("conv 3x3/2 224x224x3 -> 32", C, (1, 224, 224, 3), 32, 3, 2),
    Case("depthwise 3x3/2 112x112x64", D, (1, 112, 112, 64), 64, 3, 2),
    Case("depthwise 3x3 14x14x512", D, (1, 14, 14, 512), 512, 3),
    Case("depthwise 5x5 28x28x120", D, (1, 28, 28, 120), 120, 5),
    Case("fully connected 8 x 1024 -> 1000", F, (8, 1024), 1000, 0),
    Case("few: conv 3x3/2 224x224x3 -> 8", C, (1, 224, 224, 3), 8, 3, 2),
    Case("few: conv 3x3/2 96x96x3 -> 8", C, (1, 96, 96, 3), 8, 3, 2),
    Case("few: conv 3x3 32x32x3 -> 16", C, (1, 32, 32, 3), 16, 3),
    Case("few: conv 10x4/2 49x10x1 -> 64", C, (1, 49, 10, 1), 64, (10, 4), 2),
    Case("few: depthwise 10x8/2 49x40x1 -> 8", D, (1, 49, 40, 1), 8, (10, 8), 2),
    Case("few: depthwise 3x3 112x112x8", D, (1, 112, 112, 8), 8, 3),
    Case("few: depthwise 3x3/2 112x112x16", D, (1, 112, 112, 16), 16, 3, 2),
    Case("few: depthwise 3x3 56x56x32", D, (1, 56, 56, 32), 32, 3),
    Case("few: depthwise 3x3 48x48x8", D, (1, 48, 48, 8), 8, 3),
    Case("few: depthwise 3x3/2 48x48x16", D, (1, 48, 48, 16), 16, 3, 2),
    Case("few: depthwise 3x3 24x24x32", D, (1, 24, 24, 32), 32, 3),
    Case("few: depthwise 3x3 25x5x64", D, (1, 25, 5, 64), 64, 3),
    Case("few: depthwise 3x3 6x6x128", D, (1, 6, 6, 128), 128, 3),
    Case("few: depthwise 3x3 3x3x256", D, (1, 3, 3, 256), 256, 3),
    Case("big: depthwise 3x3/2 112x112x96", D, (1, 112, 112, 96), 96, 3, 2),
    Case("big: depthwise 3x3 7x7x960", D, (1, 7, 7, 960), 960, 3),
    Case("big: depthwise 5x5/2 56x56x72", D, (1, 56, 56, 72), 72, 5, 2),
    Case("big: depthwise 3x3 56x56x24", D, (1, 56, 56, 24), 24, 3),
)
IN_SCALE, OUT_SCALE = 0.02, 0.5


class Data:
    """Operands of a case, float32 or quantized (int8, weights per channel)."""

    def __init__(self, case: Case, quantized: bool) -> None:
        random = np.random.default_rng(1)
        self.case, self.quantized = case, quantized
        size, window = case.filter, case.window
        is_depthwise = case.operation is D
        filter_shape = (case.columns, case.image[-1])
        if size:
            filter_shape = (case.columns, *window, case.image[-1])
        if is_depthwise:
            filter_shape = (1, *window, case.columns)
        out = [-(-n // case.stride) for n in case.image[1:3]] if size else []
        self.output_shape = (case.image[0], *out, case.columns)
        self.channel_dim = 3 if is_depthwise else 0
        if quantized:
            self.input = random.integers(-128, 128, case.image).astype(np.int8)
            self.filter = random.integers(-127, 128, filter_shape).astype(np.int8)
            self.bias = random.integers(-999, 999, case.columns).astype(np.int32)
            count = case.columns if size else 1
            self.scales = random.uniform(0.001, 0.002, count).astype(np.float32)
            self.bias_scales = (np.float32(IN_SCALE) * self.scales).astype(np.float32)
        else:
            self.input = random.standard_normal(case.image).astype(np.float32)
            self.filter = random.standard_normal(filter_shape).astype(np.float32)
            self.bias = random.standard_normal(case.columns).astype(np.float32)


def ours(data: Data) -> Callable[[], Any]:
    """The operation on our CPU device."""
    case = data.case
    if data.quantized:
        if case.filter:
            weights = single.qc8(data.filter, data.scales, data.channel_dim)
        else:
            weights = single.qs8(data.filter, data.scales[0])
        bias_scale = 0.0 if case.filter else data.bias_scales[0]
        operands = [single.qs8(data.input, IN_SCALE, 3), weights, single.i32(data.bias, bias_scale)]
        output = single.qs8(None, OUT_SCALE, -2)
    else:
        operands = [single.f32(data.input), single.f32(data.filter), single.f32(data.bias)]
        output = single.f32()
    same, none = 1, 0
    numbers = [none] if case.operation is F else [same, case.stride, case.stride, none]
    if case.operation is D:
        numbers.insert(3, case.columns // case.image[-1])
    run = Single(CpuDevice(), case.operation, operands + numbers, output, data.output_shape)

    def compute() -> Any:
        run.run()
        return run

    return compute


def litert(data: Data) -> Callable[[], Any]:
    """The operation in LiteRT, whose default delegate is XNNPACK."""
    case = data.case
    quantization = [None] * 4
    if data.quantized:
        quantization = [
            Quantization(IN_SCALE, 3),
            Quantization(data.scales, 0, data.channel_dim),
            Quantization(data.bias_scales),
            Quantization(OUT_SCALE, -2),
        ]
    inputs = [
        Tensor(data.input.shape, data.input.dtype, quantization[0]),
        constant(data.filter, quantization[1]),
        constant(data.bias, quantization[2]),
    ]
    if case.operation is F:
        options, operator, version = (
            schema.FullyConnectedOptionsT(), Operator.FULLY_CONNECTED, 4 if data.quantized else 1
        )  # fmt: skip
    else:
        is_plain = case.operation is C
        options = schema.Conv2DOptionsT() if is_plain else schema.DepthwiseConv2DOptionsT()
        operator = Operator.CONV_2D if is_plain else Operator.DEPTHWISE_CONV_2D
        options.padding = schema.Padding.SAME
        options.strideW = options.strideH = case.stride
        if not is_plain:
            options.depthMultiplier = case.columns // case.image[-1]
        version = 3 if data.quantized else 1
    output = Tensor(data.output_shape, data.input.dtype, quantization[3])
    content = model(operator, version, inputs, output, options)
    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], data.input)
    result = interpreter.get_output_details()[0]["index"]

    def compute() -> Any:
        interpreter.invoke()
        return lambda: interpreter.get_tensor(result)

    return compute


def onnx_runtime(data: Data) -> Callable[[], Any]:
    """The operation in ONNX Runtime: NCHW, quantized by QLinearConv."""
    case = data.case
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int8): TensorProto.INT8}
    kind = kinds[data.input.dtype]
    weights, image = data.filter, data.input
    if case.filter:
        image = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
        weights = weights.transpose((3, 0, 1, 2) if case.operation is D else (0, 3, 1, 2))
    attributes = {}
    if case.filter:
        attributes = {"auto_pad": "SAME_UPPER", "strides": [case.stride] * 2}
        attributes["group"] = case.image[-1] if case.operation is D else 1
    constants = {"w": np.ascontiguousarray(weights)}
    if data.quantized:
        if not case.filter:
            return lambda: None
        kernel = "QLinearConv"
        names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
        constants |= {
            "xs": np.float32(IN_SCALE), "xz": np.int8(3), "ws": data.scales,
            "wz": np.zeros(case.columns, np.int8), "ys": np.float32(OUT_SCALE), "yz": np.int8(-2),
            "b": data.bias,
        }  # fmt: skip
    elif case.filter:
        kernel, names, constants["b"] = "Conv", ["x", "w", "b"], data.bias
    else:
        kernel, names, constants["b"] = "Gemm", ["x", "w", "b"], data.bias
        attributes = {"transB": 1}
    node = helper.make_node(kernel, names, ["y"], **attributes)
    shape = [data.output_shape[at] for at in ((0, 3, 1, 2) if case.filter else (0, 1))]
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", kind, image.shape)],
        [helper.make_tensor_value_info("y", kind, shape)],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        whole.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    binding.bind_cpu_input("x", image)
    binding.bind_output("y")
    return lambda: session.run_with_iobinding(binding)


def compare(case: Case, quantized: bool) -> tuple[list[float], float]:
    """Best times in us, one round after the other; largest difference between ours and LiteRT."""
    data = Data(case, quantized)
    runs = [make(data) for make in (ours, litert, onnx_runtime)]
    results = [run() for run in runs]
    difference = np.abs(results[0].result.values.astype(float) - results[1]().astype(float)).max()
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for at, run in enumerate(runs):
            began = time.perf_counter()
            run()
            best[at] = min(best[at], time.perf_counter() - began)
    return [1e6 * seconds for seconds in best], float(difference)


def main() -> None:
    """Print the table."""
    words = sys.argv[1:]
    print(f"one thread, best of {ROUNDS}, us; our tier {current().tier}")
    print(f"{'':42}{'ours':>9}{'LiteRT':>9}{'ORT':>9}{'/LiteRT':>9}{'/ORT':>7}  difference")
    for quantized in (False, True):
        for case in CASES:
            name = f"{'int8' if quantized else 'f32 '} {case.name}"
            if words and not any(word in name for word in words):
                continue
            (mine, xnnpack, ort), difference = compare(case, quantized)
            other = f"{ort:9.1f}{mine / xnnpack:9.2f}{mine / ort:7.2f}"
            if ort < 1:  # not offered
                other = f"{'':9}{mine / xnnpack:9.2f}{'':7}"
            mark = "" if mine / xnnpack <= BAR else "  ABOVE THE BAR"
            print(f"{name:42}{mine:9.1f}{xnnpack:9.1f}{other}  {difference:.2g}{mark}", flush=True)


if __name__ == "__main__":
    main()
