"""Checks models of one pass until it has acted often enough."""

import time
from typing import NamedTuple

from tests.random_models.rewrites.drawing import models
from tests.random_models.rewrites.proof import Proof, Unequal

MOST_SEEDS = 20
"""For each time that a pass is to act: it does so in every other model, and in their variants."""


class Found(NamedTuple):
    """What came of the models of one pass."""

    name: str
    models: int
    acted: int
    seconds: float
    failures: list[str]


def proven(name: str, first: int, acted: int, most_failures: int) -> Found:
    """Check the models of one pass until it has acted so often."""
    proof, failures, began = Proof(name), [], time.monotonic()
    for seed in range(first, first + MOST_SEEDS * acted):
        for what, graph, _ in models(name, seed):
            try:
                proof.check(graph)
            except Unequal as error:
                failures.append(f"{name}, seed {seed}, {what}: {error}\n{graph.shown('    ')}")
        if proof.acted >= acted or len(failures) >= most_failures:
            break
    seconds = time.monotonic() - began
    return Found(name, proof.models, proof.acted, seconds, failures[:most_failures])
