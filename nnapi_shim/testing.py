"""A plugin of pytest: programs run on phones, and with faults (docs/testing.md).

pytest_plugins = ["nnapi_shim.testing"]    # in conftest.py

def test_it_runs(nnapi_profile):
    assert nnapi_profile.run("./program").returncode == 0
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from nnapi_shim import settings
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Callable
from nnapi_shim.phones.files import read, shipped
from nnapi_shim.tools.execute import environment

_OPTION, _MARK = "nnapi_profiles", "nnapi_profiles"


@dataclass(frozen=True)
class PhoneRunner:
    """Where a program runs. profile: name or path, "" for the library as it is. faults: rules of
    NNAPI_SHIM_FAULTS, "" for none.
    """

    profile: str = ""
    faults: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program runs there; those of this process, and more."""
        return environment(
            settings.environment(), phone=self.profile or None, faults=self.faults or None
        )

    def with_faults(self, faults: str) -> "PhoneRunner":
        """The same phone with other faults."""
        return PhoneRunner(self.profile, faults)

    def run(
        self, *command: str | Path, timeout: float = 60, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end; the result has returncode, stdout and stderr.

        variables: more variables of its environment. Raises subprocess.TimeoutExpired.
        """
        return subprocess.run(
            [str(word) for word in command],
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """The profiles of a run: `--nnapi-profile NAME` (repeatable), or `nnapi_profiles` in the
    configuration.
    """
    group = parser.getgroup("nnapi_shim")
    group.addoption(
        "--nnapi-profile",
        action="append",
        dest=_OPTION,
        metavar="NAME|FILE.json",
        help="a phone on which tests with the fixture nnapi_profile run; repeat it for several",
    )
    parser.addini(_OPTION, "phones on which tests with the fixture nnapi_profile run", "args")


def pytest_configure(config: pytest.Config) -> None:
    """The mark that chooses profiles for a test."""
    config.addinivalue_line(
        "markers", f"{_MARK}(*names): the phones on which a test with nnapi_profile runs"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each profile: of the options, the mark, the configuration, or all shipped."""
    if "nnapi_profile" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker(_MARK)
    config = metafunc.config
    chosen = mark.args if mark is not None else ()
    names = config.getoption(_OPTION) or chosen or config.getini(_OPTION) or shipped()
    for name in names:
        try:
            read(name)
        except NnapiError as error:
            raise pytest.UsageError(error.message) from None
    metafunc.parametrize(
        "nnapi_profile", [PhoneRunner(name) for name in names], ids=map(str, names)
    )


@pytest.fixture
def nnapi_faults(request: pytest.FixtureRequest) -> Callable[[str], PhoneRunner]:
    """A function that makes a phone with faults: the one of nnapi_profile, if the test has it."""
    phone = PhoneRunner()
    if "nnapi_profile" in request.fixturenames:
        phone = request.getfixturevalue("nnapi_profile")
    return phone.with_faults
