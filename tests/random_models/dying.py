"""A worker that dies again and again, for the test of workers.py.

It stands here because another process has to import it.
"""

import os
from collections import Counter
from multiprocessing.connection import Connection

from tests.random_models.workers import Done, Models


def work(seeds: range, models: Models, messages: Connection) -> None:
    """End the process in front of every third seed."""
    for seed in seeds:
        messages.send(seed)
        if seed % 3 == 0:
            os._exit(7)
        messages.send(Done(seed, Counter(), ""))
    messages.send(None)
