"""ANeuralNetworksModel_*: models with their operands and operations."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import (
    channel_quant,
    data_at,
    not_null,
    not_null_with_length,
    operand_type,
    pointers,
    store,
    store_handle,
    string,
    uint32s,
)
from nnapi_shim.abi.global_ import listed_devices
from nnapi_shim.abi.tables import memories, models
from nnapi_shim.errors import bad_data
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.compilation import supported_operations
from nnapi_shim.runtime.model import Model


@exported
def ANeuralNetworksModel_create(model):
    """Create an empty model."""
    not_null(model=model)
    store_handle(model, 0)
    store_handle(model, models.add(Model()))
    return NO_ERROR


@exported
def ANeuralNetworksModel_free(model):
    """Free a model; its compilations stay valid."""
    models.remove(model)


@exported
def ANeuralNetworksModel_finish(model):
    """Validate the whole model; it cannot be changed afterwards."""
    models[model].finish()
    return NO_ERROR


@exported
def ANeuralNetworksModel_addOperand(model, type):
    """Add an operand to a model that is being built."""
    if not (model and type):
        not_null(model=model, type=type)
    models[model].add_operand(*operand_type(type))
    return NO_ERROR


@exported
def ANeuralNetworksModel_setOperandValue(model, index, buffer, length):
    """Set the constant value of an operand, or omit it (NULL, 0)."""
    if not (model and buffer):
        not_null(model=model)
        not_null_with_length(buffer, length, "buffer")
    models[model].set_operand_value(index, buffer, length)
    return NO_ERROR


@exported
def ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, index, channelQuant):
    """Set the scales of a per-channel quantized operand."""
    not_null(model=model, channelQuant=channelQuant)
    models[model].set_operand_symm_per_channel_quant_params(index, *channel_quant(channelQuant))
    return NO_ERROR


@exported
def ANeuralNetworksModel_setOperandValueFromMemory(model, index, memory, offset, length):
    """Set the constant value of an operand to a region of a memory object."""
    not_null(model=model, memory=memory)
    models[model].set_operand_value_from_memory(index, memories[memory], offset, length)
    return NO_ERROR


@exported
def ANeuralNetworksModel_setOperandValueFromModel(model, index, value):
    """Set the value of an operand to a finished model."""
    not_null(model=model, value=value)
    models[model].set_operand_value_from_model(index, models[value])
    return NO_ERROR


@exported
def nnapi_shim_setOperandName(model, index, name):
    """Name an operand of a model that is being built."""
    not_null(model=model, name=name)
    models[model].set_operand_name(index, string(name))
    return NO_ERROR


@exported
def ANeuralNetworksModel_addOperation(model, type, inputCount, inputs, outputCount, outputs):
    """Add an operation to a model that is being built."""
    not_null(model=model, inputs=inputs, outputs=outputs)
    models[model].add_operation(type, uint32s(inputs, inputCount), uint32s(outputs, outputCount))
    return NO_ERROR


@exported
def ANeuralNetworksModel_identifyInputsAndOutputs(model, inputCount, inputs, outputCount, outputs):
    """Set the inputs and outputs of the model."""
    not_null(model=model, inputs=inputs, outputs=outputs)
    models[model].identify_inputs_and_outputs(
        uint32s(inputs, inputCount), uint32s(outputs, outputCount)
    )
    return NO_ERROR


@exported
def ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, allow):
    """Allow float32 to be computed with the range and precision of float16."""
    models[model].relax_computation_float32_to_float16(allow)
    return NO_ERROR


@exported
def ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, numDevices, supportedOps):
    """For each operation of a finished model: whether one of the devices supports it."""
    not_null(model=model, devices=devices, supportedOps=supportedOps)
    if numDevices == 0:
        raise bad_data("numDevices is 0", "device.list.empty")
    item = models[model]
    # The state of the model is checked before the devices (api-semantics.md 1).
    item.require_finished()
    result = supported_operations(item, listed_devices(pointers(devices, numDevices)))
    for number, supported in enumerate(result):
        store("_Bool *", supportedOps + number, supported)
    return NO_ERROR


@exported
def ANeuralNetworksModel_getExtensionOperandType(
    model, extensionName, operandCodeWithinExtension, type
):
    """The operand type of an extension, as a number of this process."""
    return _extension_type(model, extensionName, operandCodeWithinExtension, type)


@exported
def ANeuralNetworksModel_getExtensionOperationType(
    model, extensionName, operationCodeWithinExtension, type
):
    """The operation type of an extension, as a number of this process."""
    return _extension_type(model, extensionName, operationCodeWithinExtension, type)


def _extension_type(model, extensionName, code, type):
    not_null(model=model, extensionName=extensionName, type=type)
    models[model]
    store("int32_t *", type, extension.prefixed(string(extensionName), code))
    return NO_ERROR


@exported
def ANeuralNetworksModel_setOperandExtensionData(model, index, data, length):
    """Attach data to an operand of an extension type."""
    not_null(model=model)
    models[model].set_operand_extension_data(index, data_at(data, length))
    return NO_ERROR
