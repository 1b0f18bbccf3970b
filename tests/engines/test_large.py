"""Constants of more than 2 GB, which take as much memory and more."""

import pytest

pytest.importorskip("onnx")

from tests.engines import large

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_constants_of_more_than_2_gb(engine):
    pytest.importorskip(engine)
    large.check_with_the_real_size(f"{engine}-cpu")
