"""A sample of the conformance vectors, exported and computed in LiteRT and ONNX Runtime.

`make check-exports` does it with all of them.
"""

import pytest

from tests.conformance.vectors import FOLDER, WHY_SKIPPED
from tests.formats import exports, peers

EVERY = 23
"""One example in so many, which has nearly all operations."""

REFUSED = {
    "tflite": "BOX_WITH_NMS_LIMIT GENERATE_PROPOSALS HEATMAP_MAX_KEYPOINT ROI_ALIGN ROI_POOLING",
    "onnx": "BOX_WITH_NMS_LIMIT GENERATE_PROPOSALS HEATMAP_MAX_KEYPOINT LSH_PROJECTION "
    "QUANTIZED_16BIT_LSTM",
}
"""Format -> all operations that it cannot express in any form."""


@pytest.mark.parametrize("format", sorted(peers.RUNS))
def test_refused_operations(format: str) -> None:
    """Those without counterpart are these, and no more."""
    refused = [name for name, rule in exports.rules(format).items() if rule.lower is None]
    assert sorted(refused) == REFUSED[format].split()


@pytest.mark.skipif(not FOLDER.exists(), reason=WHY_SKIPPED)
@pytest.mark.parametrize("format", sorted(peers.RUNS))
def test_sample(format: str) -> None:
    """No example differs; what is refused has an operation or a form that cannot be expressed."""
    chosen = exports.suitable()[::EVERY]
    outcomes = exports.in_children(chosen, format)
    lines: list[str] = []
    exports.report(chosen, outcomes, True, lines.append)
    assert not [line for line in lines if line.startswith("differs")], "\n".join(lines)
    equal = sum(outcome.what == "equal" for outcome in outcomes)
    assert equal > 0.85 * len(outcomes), "\n".join(lines)
