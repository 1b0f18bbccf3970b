"""A computation of some 50 ms that is started, waited for and freed; for a capture of it."""

from nnapi_shim import capi
from nnapi_shim.hal.enums import OperandType, OperationType

SIZE = 1000
"""Rows and columns of the matrix that is multiplied by itself."""


def main() -> None:
    """FILL makes the matrix from one number, so that the capture is small."""
    ffi, lib = capi.ffi, capi.lib

    def done(code: int) -> None:
        assert code == 0, code

    def made(kind: str, function: str, *arguments: object) -> object:
        variable = ffi.new(f"ANeuralNetworks{kind} **")
        done(getattr(lib, f"ANeuralNetworks{function}")(*arguments, variable))
        return variable[0]

    model = made("Model", "Model_create")

    def operand(code: int, *sizes: int, data: bytes = b"") -> int:
        array = ffi.new("uint32_t[]", list(sizes)) if sizes else ffi.NULL
        kind = ffi.new("ANeuralNetworksOperandType *", (code, len(sizes), array, 0, 0))
        done(lib.ANeuralNetworksModel_addOperand(model, kind))
        count.append(code)
        if data:
            kept.append(ffi.new("char[]", data))
            index = len(count) - 1
            done(lib.ANeuralNetworksModel_setOperandValue(model, index, kept[-1], len(data)))
        return len(count) - 1

    def operation(code: int, inputs: list[int], outputs: list[int]) -> None:
        arguments = (len(inputs), inputs, len(outputs), outputs)
        done(lib.ANeuralNetworksModel_addOperation(model, code, *arguments))

    count: list[int] = []
    kept: list[object] = []
    number = operand(OperandType.FLOAT32)
    sizes = operand(OperandType.TENSOR_INT32, 2, data=SIZE.to_bytes(4, "little") * 2)
    matrix = operand(OperandType.TENSOR_FLOAT32, SIZE, SIZE)
    false = operand(OperandType.BOOL, data=b"\0")
    axes = operand(OperandType.TENSOR_INT32, 2, data=b"\0\0\0\0\1\0\0\0")
    operation(OperationType.FILL, [sizes, number], [matrix])
    for _ in range(3):
        product = operand(OperandType.TENSOR_FLOAT32, SIZE, SIZE)
        operation(OperationType.BATCH_MATMUL, [matrix, matrix, false, false], [product])
        matrix = product
    result = operand(OperandType.TENSOR_FLOAT32, 1)
    operation(OperationType.REDUCE_MAX, [matrix, axes, false], [result])
    done(lib.ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, [number], 1, [result]))
    done(lib.ANeuralNetworksModel_finish(model))
    compilation = made("Compilation", "Compilation_create", model)
    done(lib.ANeuralNetworksCompilation_finish(compilation))
    execution = made("Execution", "Execution_create", compilation)
    arguments, taken = ffi.new("float *", 0.001), ffi.new("float *")
    null = ffi.NULL
    done(lib.ANeuralNetworksExecution_setInput(execution, 0, null, arguments, 4))
    done(lib.ANeuralNetworksExecution_setOutput(execution, 0, null, taken, 4))
    event = made("Event", "Execution_startCompute", execution)
    done(lib.ANeuralNetworksEvent_wait(event))
    lib.ANeuralNetworksEvent_free(event)


if __name__ == "__main__":
    main()
