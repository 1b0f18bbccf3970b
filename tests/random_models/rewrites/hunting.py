"""Looks for a model that shows that a guard of a pass was taken away."""

from collections.abc import Iterable

from tests.random_models.graph import Graph
from tests.random_models.rewrites.drawing import models
from tests.random_models.rewrites.mutating import mutated
from tests.random_models.rewrites.mutations import PASSES, Mutation
from tests.random_models.rewrites.proof import Proof, Unequal


def found_by(name: str, mutation: Mutation, seeds: Iterable[int]) -> str:
    """The first model that differs with a mutation of a pass and not without it; "" if none does."""
    proof = Proof(name)
    for seed in seeds:
        with mutated(f"{PASSES}.{mutation.module or name}", mutation.old, mutation.new):
            different = [
                (what, graph, difference)
                for what, graph, _ in models(name, seed)
                if (difference := _difference(proof, graph))
            ]
        for what, graph, difference in different:
            if not _difference(proof, graph):
                return f"seed {seed}, {what}: {difference}"
    return ""


def _difference(proof: Proof, graph: Graph) -> str:
    try:
        proof.check(graph)
    except Unequal as error:
        return str(error)
    return ""
