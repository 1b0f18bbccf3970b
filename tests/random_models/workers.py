"""Processes that generate and check models, so that one that crashes is a failure like others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperationType
from tests.random_models.closeness import Difference
from tests.random_models.comparison import check
from tests.random_models.generator import random_model
from tests.random_models.graph import Graph
from tests.random_models.minimise import minimal


class Models(NamedTuple):
    """Which models there are: what they are made of, and whether contents are at the edges."""

    allowed: Sequence[OperationType]
    special: bool = False


class Done(NamedTuple):
    """A seed is done; failure: what differs, and the minimal model, or an empty text."""

    seed: int
    operations: Counter[str]
    failure: str


def failure_of(seed: int, models: Models) -> tuple[Graph, str]:
    """The model of a seed, and what is wrong with it: an empty text, or a description."""
    cpu, reference = CpuDevice(), ReferenceDevice()
    graph = Graph()
    try:
        graph = random_model(seed, None, *models)
        check(graph, cpu, reference)
    except Difference as error:
        smallest, difference = minimal(graph, error, lambda part: check(part, cpu, reference))
        return graph, f"{difference}\n{smallest.shown('    ')}"
    except Exception as error:
        return graph, f"{type(error).__name__}: {error}"
    return graph, ""


def work(seeds: range, models: Models, messages: Connection) -> None:
    """What a worker does: it sends every seed that it begins with, and then what came of it."""
    for seed in seeds:
        messages.send(seed)
        graph, failure = failure_of(seed, models)
        messages.send(Done(seed, Counter(type.name for type in graph.operations()), failure))
    messages.send(None)


class _Running(NamedTuple):
    process: Any
    seeds: range
    begun: int


Work = Callable[[range, Models, Connection], None]


def results(seeds: range, jobs: int, models: Models, work: Work = work) -> Iterator[Done]:
    """What comes of every seed, in any order; `jobs` processes work on every n-th each.

    One that dies is replaced by one that goes on with its next seed.
    """
    context = get_context("spawn")
    running: dict[Any, _Running] = {}

    def start(seeds: range) -> None:
        if seeds:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(seeds, models, theirs), daemon=True)
            process.start()
            theirs.close()
            running[ours] = _Running(process, seeds, seeds[0])

    for job in range(jobs):
        start(seeds[job::jobs])
    while running:
        for connection in wait(list(running)):
            now = running[connection]
            try:
                message = connection.recv()
            except EOFError:
                del running[connection]
                now.process.join()
                yield Done(now.begun, Counter(), f"the process ended: {now.process.exitcode}")
                start(now.seeds[now.seeds.index(now.begun) + 1 :])
                continue
            if message is None:
                del running[connection]
            elif isinstance(message, Done):
                yield message
            else:
                running[connection] = now._replace(begun=message)
