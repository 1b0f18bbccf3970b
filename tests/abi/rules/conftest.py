"""Tests of the rules of the C API.

They run inside a process of their own, which test_bad_input.py starts: a crash of the library ends
that process only. By hand: `pytest tests/abi/rules/models.py`.
"""

import os

import pytest

from tests.abi.rules.capi import Api
from tests.abi.rules.graph import Run, add_graph, set_arguments


def pytest_addoption(parser):
    parser.addoption(
        "--device", default="nnapi-reference", help="where models run; default: on any device"
    )


@pytest.fixture
def api(library, capfd):
    """The C API; what a test makes with it is freed at its end, without a message."""
    api = Api(library, capfd)
    yield api
    api.free_all()


@pytest.fixture
def device(api, request):
    """The device that models are compiled for; None where the library chooses."""
    name = request.config.getoption("--device")
    return None if name == "default" else api.devices()[name]


@pytest.fixture
def run(api, device):
    """An execution of c = a + b with two elements each, all set; run.result is the output."""
    run = Run(api, device, add_graph(api).finish())
    set_arguments(run)
    return run


@pytest.fixture
def file():
    """Makes a file of a size in memory, with these bytes at its start; gives its descriptor."""
    descriptors = []

    def make(size, contents=b""):
        descriptors.append(os.memfd_create("nnapi_shim_test"))
        os.truncate(descriptors[-1], size)
        os.pwrite(descriptors[-1], contents, 0)
        return descriptors[-1]

    yield make
    for descriptor in descriptors:
        os.close(descriptor)
