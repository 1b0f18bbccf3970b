"""What each operation is: data and a shape function; no loops over elements, no memory.

Each family is a file, imported at the first use of one of its operations.
"""

from importlib import import_module

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import Operation

FAMILIES = {
    "activation": "RELU RELU1 RELU6 TANH LOGISTIC",
    "binary": "ADD SUB MUL DIV",
    "conversion": "QUANTIZE DEQUANTIZE",
    "convolution": "CONV_2D DEPTHWISE_CONV_2D",
    "joining": "CONCATENATION",
    "matmul": "FULLY_CONNECTED",
    "pooling": "AVERAGE_POOL_2D MAX_POOL_2D",
    "reshape": "RESHAPE",
    "softmax": "SOFTMAX",
}
"""Family (a file here and of the same name in every device) -> its operations."""

_family_of = {name: family for family, names in FAMILIES.items() for name in names.split()}
_loaded: dict[int, Operation] = {}


def family(type: OperationType) -> str:
    """Name of the file that an operation is declared in."""
    return _family_of[type.name]


def operation(type: OperationType) -> Operation:
    """The declaration of an operation; raises BAD_DATA for one that is not there."""
    found = _loaded.get(type)
    if found is None:
        if type.name not in _family_of:
            raise bad_data(f"{type.name} is not available in this version")
        module = import_module(f"{__name__}.{_family_of[type.name]}")
        found = _loaded[type] = getattr(module, type.name)
    return found


def registry() -> list[Operation]:
    """All declarations, in the order of their codes."""
    return [operation(type) for type in OperationType if type.name in _family_of]


def is_declared(item: hal.Operation, graph: hal.Subgraph) -> bool:
    """Whether an operation of a graph is a use that its declaration accepts."""
    if not isinstance(item.type, OperationType):
        return False
    try:
        operation(item.type).match(
            tuple([graph.operands[i].type for i in item.inputs]),
            tuple([graph.operands[i].type for i in item.outputs]),
        )
    except NnapiError:
        return False
    return True
