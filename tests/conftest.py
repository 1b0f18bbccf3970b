"""What all tests share."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """A folder for the key of cached models, in place of the developer's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
