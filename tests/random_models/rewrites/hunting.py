"""Searches for a model whose results show that a guard of a pass is missing."""

from collections.abc import Iterable
from multiprocessing import get_context
from multiprocessing.connection import Connection

from tests.random_models.graph import Graph
from tests.random_models.rewrites.drawing import models
from tests.random_models.rewrites.mutating import mutated
from tests.random_models.rewrites.mutations import Mutation, module_of
from tests.random_models.rewrites.proof import Proof, Unequal


def found_by(name: str, mutation: Mutation, seeds: Iterable[int], method: str = "fork") -> str:
    """The first model whose results a mutation of a pass changes; "" if there is none.

    It runs in a process of its own, started by `method`: a mutated pass may write anywhere.
    """
    context = get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_hunt, args=(name, mutation, list(seeds), theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        result = ours.recv()
    except EOFError:
        process.join()
        return f"the process ended: {process.exitcode}"
    process.join()
    if isinstance(result, Exception):
        raise result
    return str(result)


def _hunt(name: str, mutation: Mutation, seeds: Iterable[int], results: Connection) -> None:
    try:
        results.send(_first(name, mutation, seeds))
    except AssertionError as error:
        results.send(error)


def _first(name: str, mutation: Mutation, seeds: Iterable[int]) -> str:
    proof = Proof(name)
    for seed in seeds:
        with mutated(module_of(mutation.module or name), mutation.old, mutation.new):
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
