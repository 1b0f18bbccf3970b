"""What the tests of the CPU device share."""

import pytest

from nnapi_shim.drivers.cpu.segments import Segment


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """A folder for the key of cached models, in place of the developer's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def lowered(monkeypatch):
    """How many graphs were lowered since."""
    counted = []
    real = Segment.__init__

    def counting(self, builder):
        counted.append(builder)
        real(self, builder)

    monkeypatch.setattr(Segment, "__init__", counting)
    return counted
