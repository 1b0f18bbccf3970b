"""What a run costs in Python beside its computation: models of one operation on four numbers.

Of nnapi_shim, of LiteRT and of ONNX Runtime where they are installed: rounds in turns, medians.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnapi_shim import Execution, Model

ROUNDS, RUNS = 25, 2000
SHAPE = (1, 4)

Call = Callable[[], Any]


def ours(a: NDArray[Any], b: NDArray[Any]) -> dict[str, Call]:
    """Every way to run a model of ours."""
    with Model() as model:
        x, y = (model.input("TENSOR_FLOAT32", SHAPE, name=name) for name in "xy")
        model.outputs(model.add(x, y))
    compilation = model.compile("nnapi-cpu")
    result = np.empty(SHAPE, np.float32)
    execution = Execution(compilation, reusable=True)
    execution.set_input(0, a)
    execution.set_input(1, b)
    execution.set_output(0, result)
    return {
        "Compilation.run(a, b)": lambda: compilation.run(a, b),
        "Compilation.run(x=a, y=b)": lambda: compilation.run(x=a, y=b),
        "Compilation.run(a, b, out=result)": lambda: compilation.run(a, b, out=result),
        "Compilation.run of lists": lambda: compilation.run([[1, 2, 3, 4]], [[1, 2, 3, 4]]),
        "Execution.compute, reusable": execution.compute,
    }


def litert(a: NDArray[Any], b: NDArray[Any]) -> Call | None:
    """A run of the same model by LiteRT: inputs set, invoked, output taken as a new array."""
    try:
        from ai_edge_litert import schema_py_generated as schema
        from ai_edge_litert.interpreter import Interpreter

        from tests.bench.tflite_model import Tensor, model
    except ImportError:
        return None
    tensors = [Tensor(SHAPE, np.float32) for _ in range(3)]
    options = schema.AddOptionsT()
    content = model(schema.BuiltinOperator.ADD, 1, tensors[:2], tensors[2], options)
    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    first, second = (detail["index"] for detail in interpreter.get_input_details())
    (output,) = (detail["index"] for detail in interpreter.get_output_details())

    def call() -> NDArray[Any]:
        interpreter.set_tensor(first, a)
        interpreter.set_tensor(second, b)
        interpreter.invoke()
        return interpreter.get_tensor(output)  # type: ignore[no-any-return]

    return call


def onnxruntime(a: NDArray[Any], b: NDArray[Any]) -> Call | None:
    """A run of the same model by ONNX Runtime."""
    try:
        import onnx
        from onnx import helper
        from onnxruntime import InferenceSession, SessionOptions
    except ImportError:
        return None
    kind = onnx.TensorProto.FLOAT
    x, y, z = (helper.make_tensor_value_info(name, kind, SHAPE) for name in "xyz")
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "g", [x, y], [z])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(made.SerializeToString(), options)
    return lambda: session.run(None, {"x": a, "y": b})


def figures() -> dict[str, float]:
    """Way of running -> median of its rounds in microseconds per run."""
    a, b = np.ones(SHAPE, np.float32), np.full(SHAPE, 2, np.float32)
    calls: dict[str, Call] = ours(a, b)
    for name, peer in (("LiteRT", litert(a, b)), ("ONNX Runtime", onnxruntime(a, b))):
        if peer is not None:
            calls[name] = peer
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.perf_counter_ns()
            for _ in range(RUNS):
                call()
            rounds[name].append((time.perf_counter_ns() - began) / RUNS / 1000)
    return {name: median(times) for name, times in rounds.items()}


if __name__ == "__main__":
    for name, microseconds in figures().items():
        print(f"{name:<40} {microseconds:6.2f} us")
