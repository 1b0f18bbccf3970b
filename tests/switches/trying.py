"""A scene with a switch at each instruction, or at some of them."""

import ctypes
import random
from collections.abc import Iterator
from pathlib import Path

from tests.switches.pausing import Instruction, instructions_of, paused
from tests.switches.scenes import SCENES, equal

_M_PERTURB = -6


def name_of(instruction: Instruction) -> str:
    """Where an instruction is."""
    code, _, number = instruction
    path = Path(code.co_filename)
    return f"{path.parent.name}/{path.name}:{number} {code.co_name}"


def tried(name: str, folder: Path, count: int | None, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Stop in front of `count` instructions of a scene, or of all; yields the line of each and
    what went wrong there, "" for nothing.
    """
    scene = SCENES[name]
    ctypes.CDLL(None).mallopt(_M_PERTURB, 0xA5)  # what is freed and still read shows
    folders = iter(range(10**9))

    def fresh() -> Path:
        made = folder / str(next(folders))
        made.mkdir()
        return made

    first, second = scene(fresh())
    expected = [first(), second()]  # what is imported once is
    places = instructions_of(scene(fresh())[0])
    chosen = places
    if count is not None:
        chosen = random.Random(seed).sample(places, min(count, len(places)))
    for location in chosen:
        first, second = scene(fresh())
        try:
            result = [*paused(first, location, second), first(), second()]
            wrong = "" if all(map(equal, result, expected * 2)) else "wrong numbers"
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        yield name_of(location), wrong
