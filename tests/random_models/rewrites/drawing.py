"""Models in which a pass has something to do, one per seed."""

from collections.abc import Callable, Iterator

import numpy as np

from nnapi_shim.errors import NnapiError
from tests.random_models.graph import Graph
from tests.random_models.rewrites.on_graphs import ON_GRAPHS
from tests.random_models.rewrites.on_steps import ON_STEPS
from tests.random_models.rewrites.proof import RELAXED, REORDERED
from tests.random_models.rewrites.sketch import Sketch
from tests.random_models.rewrites.variants import Variant, variants

Idiom = Callable[[Sketch], int]
IDIOMS: dict[str, Idiom] = {idiom.__name__: idiom for idiom in (*ON_GRAPHS, *ON_STEPS)}
"""Name of a pass -> what draws something for it."""
MOST_SPECIAL = 64
"""Numbers of a constant with special contents, where large ones are weights that are rounded."""
ATTEMPTS = 50


def drawn(name: str, seed: int) -> Graph:
    """The model of a seed for a pass: its idiom once or twice, and what stands around it."""
    rng = np.random.default_rng([seed, sorted(IDIOMS).index(name)])
    for _ in range(ATTEMPTS):
        sketch = Sketch(rng, whole=name in REORDERED)
        try:
            for _ in range(2 if sketch.chance(0.15) else 1):
                result = IDIOMS[name](sketch)
                if sketch.chance(0.3):
                    sketch.passed_on(result)
        except NnapiError:
            continue  # types and sizes that an operation does not take
        return sketch.graph
    raise AssertionError(f"{name}, seed {seed}: {ATTEMPTS} models in a row are none")


def models(name: str, seed: int) -> Iterator[Variant]:
    """The model of a seed, and its variants."""
    rng = np.random.default_rng([seed, 1])
    most = MOST_SPECIAL if name in RELAXED else 1 << 40
    yield from variants(drawn(name, seed), rng, most, name in REORDERED)
