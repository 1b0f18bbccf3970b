"""The devices that the Python face is tested on."""

import pytest

DEVICES = ("nnapi-cpu", "nnapi-reference")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The name of each built-in device."""
    return str(request.param)
