"""The error for an operator that cannot be imported."""

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode


def reason(message: str, rule: str) -> NnapiError:
    """BAD_DATA with the reason why an operator cannot be imported."""
    return NnapiError(ResultCode.BAD_DATA, message, rule=rule)
