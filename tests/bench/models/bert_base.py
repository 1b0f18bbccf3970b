"""BERT-base, the encoder of 12 layers, 768 wide, with 12 heads, of Devlin et al. 2018.

One sequence, which fills all steps.
"""

from nnapi_shim import Operand
from tests.bench.models.bert_tiny import STEPS, encoder
from tests.bench.models.network import Network

PARAMETERS = 109_482_240

DEPTH, LAYERS, HEADS = 768, 12, 12


def build(n: Network, size: int = STEPS) -> tuple[Operand, ...]:
    """A vector for each word, and one for all."""
    if n.width != 1:  # in tests
        return encoder(n, size, 24, 3, 3)
    return encoder(n, size, DEPTH, LAYERS, HEADS)
