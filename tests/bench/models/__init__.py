"""Networks as they are published, with random weights, for `make bench-models`: one file each, in
float32 and in int8 (`network.py`), for all runtimes the same.
"""

from importlib import import_module

from nnapi_shim import Model
from tests.bench.models.network import Network, calibrated

NAMES = (
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "efficientnet_lite0",
    "resnet50",
    "ssd_mobilenet_v1",
    "inception_v3",
    "lstm",
    "bert_tiny",
    "conformer",
)
"""Each is a module of this folder; `build` makes it, PARAMETERS is how many it is said to have."""

LARGE = ("resnet152", "bert_base", "transformer_100m", "unet")
"""The same, for `make bench-large`."""

FLOAT_ONLY = ("lstm", *LARGE)


def network(name: str, size: int | None = None, width: float = 1.0) -> tuple[Network, Model]:
    """A network in float32. size: of the picture, or of the sequence, if not the usual."""
    return _built(name, size, Network(None, width))


def quantized(
    name: str, result: Network, model: Model, size: int | None = None
) -> tuple[Network, Model]:
    """One in int8, with the ranges of the same in float32, which `network` gave."""
    return _built(name, size, Network(calibrated(result, model), result.width))


def _built(name: str, size: int | None, result: Network) -> tuple[Network, Model]:
    build = import_module(f"tests.bench.models.{name}").build
    outputs = build(result) if size is None else build(result, size)
    return result, result.finish(*outputs)
