"""What is said of installed engines."""

from importlib import metadata

import pytest

from nnapi_shim.drivers.engines import PACKAGES
from nnapi_shim.tools.engines import _version


@pytest.mark.parametrize("owners", [["onnxruntime-gpu"], []])
def test_a_package_in_the_place_of_another(owners, monkeypatch):
    """onnxruntime-gpu has the module of onnxruntime."""
    versions = {"onnxruntime-gpu": "1.30.1"}

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"onnxruntime": owners})
    assert _version(PACKAGES["onnxruntime"]) == ("1.30.1" if owners else None)
    assert _version(PACKAGES["iree"]) is None
    versions["onnxruntime"] = "1.31.1"
    assert _version(PACKAGES["onnxruntime"]) == "1.31.1"
