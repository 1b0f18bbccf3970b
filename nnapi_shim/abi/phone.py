"""NNAPI_SHIM_PROFILE: the levels that the library reports, and functions that the phone lacks."""

from nnapi_shim.abi.cdata import store
from nnapi_shim.abi.instrumentation import watch_all
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.levels import FUNCTION_LEVELS, feature_level
from nnapi_shim.hints import Any, Callable
from nnapi_shim.phones.bursts import in_a_burst
from nnapi_shim.phones.current import current
from nnapi_shim.phones.profile import Profile

_FENCED_DURATIONS = (2, 3)
"""Durations of feature level 4."""


def begin(levels: int) -> None:
    """Report the levels of the profile, and refuse calls of functions of later Android versions.

    levels: address of `struct nn_levels`. Does nothing for a profile that cannot be used; calls
    that need it are refused with the reason.
    """
    try:
        profile = current()
    except NnapiError:
        return
    store("int64_t *", levels, feature_level(profile.level))
    store("int64_t *", levels + 8, profile.api_level)
    watch_all(lambda name, function: _of_the_phone(name, function, profile))


def _of_the_phone(name: str, function: Callable[..., Any], profile: Profile) -> Callable[..., Any]:
    """A function as the phone has it."""
    level = FUNCTION_LEVELS.get(name, 0)
    if level > profile.api_level:

        def refuse(*_: Any) -> Any:
            raise op_failed(
                f"Android {profile.android} lacks this function of API level {level}: a program "
                f"that links it does not start, and dlsym() gives NULL ({profile.name})",
                "library.function-level",
            )

        return refuse
    if name == "ANeuralNetworksExecution_getDuration" and profile.level < 4:

        def get_duration(execution: int, code: int, duration: int) -> Any:
            if code in _FENCED_DURATIONS:
                raise bad_data(
                    f"duration code is {code}; Android {profile.android} allows 0 and 1",
                    "execution.duration.level",
                )
            return function(execution, code, duration)

        return get_duration
    if name == "ANeuralNetworksExecution_burstCompute":
        return in_a_burst(function)
    return function
