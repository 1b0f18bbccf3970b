"""SSD with MobileNet v1 for pictures of 300x300 and 90 classes, of TensorFlow's detection models.

Up to the boxes and scores of all anchors; what chooses among them differs between runtimes.
"""

from nnapi_shim import Operand
from tests.bench.models.mobilenet_v1 import backbone
from tests.bench.models.network import Network

CLASSES = 91
EXTRA = ((256, 512), (128, 256), (128, 256), (64, 128))
"""Channels of the 1x1 and of the 3x3 convolution of stride 2 behind the backbone."""
ANCHORS = (3, 6, 6, 6, 6, 6)


def build(n: Network, size: int = 300) -> tuple[Operand, ...]:
    """Boxes and scores."""
    middle, x = backbone(n, n.input((1, size, size, 3)))
    features = [middle, x]
    for narrow, wide in EXTRA:
        x = n.conv(n.conv(x, narrow, activation="RELU6"), wide, 3, 2, "RELU6")
        features.append(x)
    boxes, scores = [], []
    for feature, anchors in zip(features, ANCHORS, strict=True):
        count = anchors * feature.dimensions[1] * feature.dimensions[2]
        for depth, result in ((4, boxes), (CLASSES, scores)):
            head = n.conv(feature, anchors * depth, has_normalisation=False, is_exact=True)
            result.append(n.reshape(head, (1, count, depth)))
    return n.concat(boxes, 1), n.logistic(n.concat(scores, 1))
