"""A canonical device with memory of its own; nnapi-reference computes."""

from nnapi_shim import address
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.types import byte_size


class Allocator(ReferenceDevice):
    """As nnapi-reference. Its memory is at addresses that it alone knows."""

    name = "allocator"

    def allocate(self, operand):
        return Buffer(byte_size(operand))

    def prepareModel(self, *arguments):
        return Prepared(super().prepareModel(*arguments))


class Buffer:
    def __init__(self, size):
        self.block = address.Block(size)

    def copyTo(self, start, length):
        assert length == self.block.length
        address.copy(start, self.block.address, length)

    def copyFrom(self, start, length):
        assert length == self.block.length
        address.copy(self.block.address, start, length)


class Prepared:
    def __init__(self, prepared):
        self.prepared = prepared

    def createReusableExecution(self, request, measure, loop_timeout_ns):
        return self.prepared.createReusableExecution(placed(request), measure, loop_timeout_ns)

    def execute(self, request, measure, deadline_ns, loop_timeout_ns):
        return self.prepared.execute(placed(request), measure, deadline_ns, loop_timeout_ns)


def placed(request):
    """The request with addresses."""

    def at_address(argument):
        if argument.buffer is None:
            return argument
        assert not argument.address
        return argument._replace(address=argument.buffer.block.address, buffer=None)

    return request._replace(
        inputs=tuple(map(at_address, request.inputs)),
        outputs=tuple(map(at_address, request.outputs)),
    )
