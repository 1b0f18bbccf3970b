"""ResNet-152, He et al. 2015, with the stride in the 3x3 convolution."""

from nnapi_shim import Operand
from tests.bench.models import resnet50
from tests.bench.models.network import Network

PARAMETERS = 60_192_808

STAGES = ((64, 3, 1), (128, 8, 2), (256, 36, 2), (512, 3, 2))


def build(n: Network, size: int = 224) -> tuple[Operand, ...]:
    """Classes of a picture."""
    return resnet50.build(n, size, STAGES)
