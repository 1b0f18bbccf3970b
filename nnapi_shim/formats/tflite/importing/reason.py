"""Refusals of what a file has and NNAPI cannot express."""

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode


def reason(message: str, name: str = "reason") -> NnapiError:
    """Why an operator has no place in a model."""
    return NnapiError(ResultCode.BAD_DATA, message, rule=f"formats.tflite.importing.{name}")
