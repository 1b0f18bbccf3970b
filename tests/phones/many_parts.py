"""Compiles a model in three parts on a phone with a DSP, through the C functions."""

from nnapi_shim.capi import ffi, lib

FLOAT, BYTES = 3, 5
DEQUANTIZE, RELU, QUANTIZE, TANH = 6, 19, 72, 28


def check(code: int) -> None:
    assert code == 0


model = ffi.new("ANeuralNetworksModel **")
check(lib.ANeuralNetworksModel_create(model))
sizes = ffi.new("uint32_t[]", [1, 4])
kinds = (BYTES, BYTES, FLOAT, FLOAT, BYTES, BYTES)
for kind in kinds:
    scale = 0.5 if kind == BYTES else 0.0
    operand = ffi.new("ANeuralNetworksOperandType *", (kind, 2, sizes, scale, 0))
    check(lib.ANeuralNetworksModel_addOperand(model[0], operand))
for number, code in enumerate((RELU, DEQUANTIZE, TANH, QUANTIZE, RELU)):
    inputs, outputs = ffi.new("uint32_t[]", [number]), ffi.new("uint32_t[]", [number + 1])
    check(lib.ANeuralNetworksModel_addOperation(model[0], code, 1, inputs, 1, outputs))
inputs, outputs = ffi.new("uint32_t[]", [0]), ffi.new("uint32_t[]", [len(kinds) - 1])
check(lib.ANeuralNetworksModel_identifyInputsAndOutputs(model[0], 1, inputs, 1, outputs))
check(lib.ANeuralNetworksModel_finish(model[0]))
compilation = ffi.new("ANeuralNetworksCompilation **")
check(lib.ANeuralNetworksCompilation_create(model[0], compilation))
check(lib.ANeuralNetworksCompilation_finish(compilation[0]))
lib.ANeuralNetworksCompilation_free(compilation[0])
lib.ANeuralNetworksModel_free(model[0])
