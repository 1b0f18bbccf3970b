"""A canonical device with an extension: pixels of three bytes, and an operation that mixes them."""

from nnapi_shim import address
from nnapi_shim.hal.enums import DeviceType, ErrorStatus, FeatureLevel, OperandLifeTime
from nnapi_shim.hal.types import (
    Capabilities,
    ExecutionResult,
    Extension,
    ExtensionOperandType,
    OutputShape,
    PerformanceInfo,
    within_extension,
)

NAME = "com.example.painting"
PIXELS, WEIGHT, MIX = 7, 8, 3
INFO = PerformanceInfo(1.0, 1.0)


class Painter:
    """MIX: output = (a * weight + b * (255 - weight)) / 255, byte by byte, and a few extras.

    The bytes of the output operand's extension data are added, those of the attributes 1 of the
    compilation and 2 of the execution, too.
    """

    name = "painter"
    version = "1"
    type = DeviceType.GPU
    feature_level = FeatureLevel.LEVEL_4

    def getSupportedExtensions(self):
        types = (ExtensionOperandType(PIXELS, True, 3), ExtensionOperandType(WEIGHT, False, 1))
        return (Extension(NAME, types),)

    def getCapabilities(self):
        return Capabilities(INFO, INFO, {}, INFO, INFO)

    def getSupportedOperations(self, model):
        return [within_extension(model, item.type) == (NAME, MIX) for item in model.main.operations]

    def prepareModel(self, model, preference, priority, deadline_ns, cache):
        return Prepared(model)

    def wait(self):
        pass


class Prepared:
    def __init__(self, model):
        self.model = model

    def createReusableExecution(self, request, measure, loop_timeout_ns):
        return Execution(self.model, request)

    def execute(self, request, measure, deadline_ns, loop_timeout_ns):
        return Execution(self.model, request).compute(deadline_ns)


class Execution:
    def __init__(self, model, request):
        self.model = model
        self.request = request

    def contents(self, index):
        graph = self.model.main
        operand = graph.operands[index]
        if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
            where = operand.location
            return self.model.operand_values[where.offset : where.offset + where.length]
        argument = self.request.inputs[graph.input_indexes.index(index)]
        return address.read(argument.address, argument.length)

    def compute(self, deadline_ns):
        graph, request = self.model.main, self.request
        (item,) = graph.operations
        a, b, (weight,) = map(self.contents, item.inputs)
        extra = sum(graph.operands[item.outputs[0]].extension_data)
        for attribute in (*self.model.extension_attributes, *request.extension_attributes):
            if attribute.extension == NAME and attribute.code in (1, 2):
                extra += sum(attribute.data)
        mixed = [
            (x * weight + y * (255 - weight)) // 255 + extra for x, y in zip(a, b, strict=True)
        ]
        target = request.outputs[0]
        address.view(target.address, target.length)[:] = bytes(mixed)
        return ExecutionResult(ErrorStatus.NONE, [OutputShape(request.inputs[0].dimensions)])
