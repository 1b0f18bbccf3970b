"""Trees that several tests look at, each made once."""

import pytest

from tests.install import trees


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel, for any Linux."""
    return trees.make_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    """The wheel in a virtual environment of this Python: (tree, its python)."""
    python = trees.make_environment(tmp_path_factory.mktemp("environment") / "env")
    return trees.install_wheel(wheel, python), python


@pytest.fixture(scope="session")
def checkout():
    """What `make` gives."""
    return trees.Tree(trees.ROOT / "build", trees.ROOT / "build" / "lib")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """What `make install` gives."""
    return trees.make_prefix(tmp_path_factory.mktemp("prefix") / "usr")


@pytest.fixture(scope="session")
def tarball(tmp_path_factory):
    """What `make dist` gives."""
    return trees.make_tarball(tmp_path_factory.mktemp("tarball"))


@pytest.fixture(scope="session")
def debian(tmp_path_factory):
    """What `make deb` gives."""
    return trees.make_debian(tmp_path_factory.mktemp("debian"))
