"""Every tree is found by CMake, pkg-config and in the NDK's manner, and runs where it is moved."""

import shutil

import pytest

from tests.install.ways import WAYS

TREES = ("checkout", "environment", "prefix", "tarball", "debian")


@pytest.fixture(params=TREES)
def tree(request):
    """A tree of each kind."""
    made = request.getfixturevalue(request.param)
    return made[0] if request.param == "environment" else made


@pytest.mark.installed
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_way(tree, way, tmp_path):
    way(tree, tmp_path)


@pytest.mark.installed
@pytest.mark.parametrize("kind", ["prefix", "tarball", "debian"])
def test_moved(kind, request, tmp_path):
    tree = request.getfixturevalue(kind)
    moved = tmp_path / "elsewhere"
    shutil.copytree(tree.prefix, moved, symlinks=True)
    relative = tree.libraries.relative_to(tree.prefix)
    hidden = tree.prefix.with_name("hidden")
    tree.prefix.rename(hidden)
    try:
        for way in WAYS:
            folder = tmp_path / way.__name__
            folder.mkdir()
            way(tree._replace(prefix=moved, libraries=moved / relative), folder)
    finally:
        hidden.rename(tree.prefix)
