"""Each pass on models in which it acts; a removed guard is found."""

import pytest

from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.passes import NAMES
from tests.random_models.rewrites.drawing import IDIOMS, models
from tests.random_models.rewrites.hunting import found_by
from tests.random_models.rewrites.mutations import MUTATIONS, Mutation
from tests.random_models.rewrites.proof import Proof, Unequal

TIERS_WITH = {"compress_weights_f16": "float16", "keep_weights_q8": "byte_weights"}
"""The passes that act on some tiers, and the attribute that says on which."""


def skip_unless_it_acts(name: str) -> None:
    if name in TIERS_WITH and not getattr(tier(), TIERS_WITH[name]):
        pytest.skip(f"{name} does not act on this tier")


ACTED = 40
MOST_SEEDS = 100


def test_every_pass_is_proven() -> None:
    assert IDIOMS.keys() == set(NAMES) == MUTATIONS.keys()


@pytest.mark.parametrize("special", [False, True], ids=["ordinary", "special"])
@pytest.mark.parametrize("name", IDIOMS)
def test_a_pass_changes_no_result(name: str, special: bool) -> None:
    skip_unless_it_acts(name)
    least = ACTED // 5 if special else ACTED
    proof = Proof(name)
    for seed in range(MOST_SEEDS):
        for what, graph, is_special in models(name, seed):
            if is_special is special:
                try:
                    proof.check(graph)
                except Unequal as error:
                    shown = graph.shown("    ")
                    raise AssertionError(f"seed {seed}, {what}: {error}\n{shown}") from None
        if proof.acted >= least:
            return
    raise AssertionError(f"{name} has acted {proof.acted} times only")


SAMPLE = [(name, mutations[0]) for name, mutations in MUTATIONS.items()]
"""One of each pass; `make mutations` has all of them."""


@pytest.mark.parametrize(("name", "mutation"), SAMPLE, ids=MUTATIONS)
def test_a_guard_that_is_taken_away_is_found(name: str, mutation: Mutation) -> None:
    skip_unless_it_acts(name)
    assert found_by(name, mutation, range(200))
