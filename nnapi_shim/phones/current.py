"""The profile of this process."""

from functools import partial

from nnapi_shim.drivers.adoption import Found
from nnapi_shim.phones.files import read
from nnapi_shim.phones.profile import Profile
from nnapi_shim.settings import PROFILE

_read: dict[str, Profile] = {}


def current() -> Profile:
    """The profile that the setting names; it is read once. Raises BAD_DATA."""
    name = PROFILE.get()
    profile = _read.get(name)
    if profile is None:
        profile = _read[name] = read(name)
    return profile


def devices() -> list[Found]:
    """The devices of the profile, in their listed order."""
    from nnapi_shim.phones.device import ProfiledDevice

    profile = current()
    return [
        Found(each.name, f"profile {profile.name}", "nnapi_shim", partial(ProfiledDevice, each))
        for each in profile.devices
    ]
