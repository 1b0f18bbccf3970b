"""Files with something changed: each is read and imported, or refused with one line.

    python -m tests.formats.tflite.fuzzing SECONDS

Changes are made where offsets, sizes and indices lie, not in constants.
"""

import random
import resource
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from nnapi_shim import NnapiError
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.importing.model import imported
from nnapi_shim.formats.tflite.model import chosen

LARGEST = 700_000
"""Bytes of a trained model that is changed."""
SPECIAL = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def structure(data: bytes) -> list[int]:
    """Places outside of constants: where changing a byte changes what is read."""
    file = read(data)
    constants = set()
    for graph in file.graphs:
        for tensor in graph.tensors:
            if tensor.value is not None and tensor.value.nbytes > 16:
                at = data.find(tensor.value.tobytes())
                constants.update(range(at + 4, at + tensor.value.nbytes - 4))
    return [at for at in range(len(data)) if at not in constants]


def changed(data: bytes, places: list[int], chance: random.Random) -> bytes:
    """A file with something changed."""
    kind = chance.randrange(8)
    if kind == 0:
        return data[: chance.choice(places)]
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.choice(places)
        if kind < 4:
            made[at] = chance.randrange(256)
        elif kind < 6:
            at = at // 4 * 4
            made[at : at + 4] = struct.pack("<I", chance.choice((*SPECIAL, len(data))))
        elif kind == 6:
            at = at // 4 * 4
            (old,) = struct.unpack_from("<i", bytes(made[at : at + 4]).ljust(4, b"\0"))
            made[at : at + 4] = struct.pack(
                "<i", max(-(2**31), min(old + chance.choice((-4, -1, 1, 4, 64)), 2**31 - 1))
            )
        else:
            other = chance.choice(places)
            made[at : at + 4] = made[other : other + 4]
    return bytes(made)


def outcome(data: bytes) -> str:
    """What came of it: read, model, or the message of the refusal, which is one line."""
    try:
        file = read(data)
    except NnapiError as error:
        assert "\n" not in str(error)
        return str(error)
    try:
        imported(file, *chosen(file, None)).close()
    except NnapiError as error:
        assert "\n" not in str(error)
        return "read"
    return "model"


def rounds(files: list[bytes], seed: int) -> Iterator[tuple[bytes, str]]:
    """Changed files without end, and what came of each."""
    chance = random.Random(seed)
    all_places = [structure(data) for data in files]
    while True:
        at = chance.randrange(len(files))
        data = changed(files[at], all_places[at], chance)
        yield data, outcome(data)


def trained_files() -> list[bytes]:
    """The smaller ones of the trained models."""
    folder = Path(__file__).resolve().parents[4] / "shared" / "models"
    files = [path.read_bytes() for path in sorted(folder.glob("*.tflite"))]
    return [data for data in files if len(data) < LARGEST]


def small_files() -> list[bytes]:
    """One for every operator that is tested."""
    from tests.formats.tflite import test_custom, test_shapes, test_sparse, test_whole, test_wide
    from tests.formats.tflite.cases import CASES

    whole = [make() for make in test_whole.CELLS.values()]
    whole += [test_whole.counter(), test_whole.loop(1), test_whole.branches()]
    whole += [test_shapes.shuffled(), test_sparse.sparse_rows(), test_sparse.composite()]
    whole += [test_wide.chain(reals=False), test_custom.detections(-1.0, "LOGISTIC")]
    return [*(case.make() for case in CASES), *whole]


def main() -> None:
    """Fuzz for a while; exits with 1 and keeps the file where something else is raised."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    small = [*small_files(), *trained_files()]
    chance, all_places = random.Random(seed), [structure(data) for data in small]
    counts: dict[str, int] = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        at = chance.randrange(len(small))
        data = changed(small[at], all_places[at], chance)
        start = time.monotonic()
        try:
            came = outcome(data)
        except Exception:
            traceback.print_exc()
            kept = Path(tempfile.gettempdir(), "refused.tflite")
            kept.write_bytes(data)
            print(f"kept as {kept}")
            sys.exit(1)
        if time.monotonic() - start > 5:
            print(f"{time.monotonic() - start:.1f} s for {came}")
        key = came if came in ("read", "model") else "refused"
        counts[key] = counts.get(key, 0) + 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"seed {seed}: {counts}, at most {peak} MiB")


if __name__ == "__main__":
    main()
