"""The schema of .tflite files, from the package `tflite`; what its codes are called."""

from functools import cache
from types import ModuleType

IDENTIFIER = b"TFL3"
VERSION = 3

PADDING = {0: "SAME", 1: "VALID"}
ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH", 5: "SIGN_BIT"}


@cache
def package() -> ModuleType:
    """The generated classes. Raises ImportError with what to install."""
    try:
        import tflite
    except ImportError as error:
        raise ImportError(
            "files of TensorFlow Lite need the packages tflite and flatbuffers; "
            "`pip install 'nnapi_shim[tflite]'`"
        ) from error
    return tflite  # type: ignore[no-any-return]


@cache
def names(enumeration: str) -> dict[int, str]:
    """Code -> name, of an enumeration of the schema such as BuiltinOperator."""
    members = vars(getattr(package(), enumeration))
    return {code: name for name, code in members.items() if isinstance(code, int)}
