"""Files that the library reads, changed at random: cached models, manifests, location files.

    python -m tests.fuzz.files --minutes 10 [--seed 7] [--only cache,sealed,manifest,location]

cache: what is not as it was written is refused, and the model computes what it should.
sealed: the same with a right seal, as nobody without the key could make it: what the description
    refers to is there, or it is refused.
manifest: a device is found, or one line says why not.
location: a program starts, or one line says why not; whatever is in the file beside the library.

Each runs in a process of its own for its share of the time; hypothesis makes the changes, and looks
for the smallest that fails. The last line says what was done; the exit status is 0 when nothing was
found.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"
EXAMPLES = 50
"""Changes that hypothesis makes in one go, before the clock is looked at."""

EDGES = (0, 1, 7, 8, 63, 64, 255, 4096, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1, -1, -8)

Change = tuple[str, int, Any]

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("bit"), st.integers(0, 1 << 20), st.integers(0, 7)),
        st.tuples(st.just("word"), st.integers(0, 1 << 20), st.sampled_from(EDGES)),
        st.tuples(st.just("bytes"), st.integers(0, 1 << 20), st.binary(min_size=1, max_size=40)),
        st.tuples(st.just("insert"), st.integers(0, 1 << 20), st.binary(min_size=1, max_size=40)),
        st.tuples(st.just("repeat"), st.integers(0, 1 << 20), st.integers(2, 2000)),
        st.tuples(st.just("cut"), st.integers(0, 1 << 20), st.integers(1, 1 << 13)),
        st.tuples(st.just("end"), st.integers(0, 1 << 20), st.none()),
    ),
    min_size=1,
    max_size=4,
)


def changed(data: bytes, changes: list[Change], keeps_length: bool = False) -> bytes:
    """The contents after some changes; keeps_length: without those that make them longer."""
    result = bytearray(data)
    for kind, where, what in changes:
        at = where % max(1, len(result))
        if kind == "bit" and result:
            result[at] ^= 1 << what
        elif kind == "word" and len(result) >= 8:
            struct.pack_into(
                "<q", result, at // 8 * 8 if at // 8 * 8 + 8 <= len(result) else 0, what
            )
        elif kind == "bytes":
            result[at : at + len(what)] = what[: len(result) - at]
        elif kind == "insert" and not keeps_length:
            result[at:at] = what
        elif kind == "repeat" and not keeps_length:
            result[at:at] = result[at : at + 8] * what
        elif kind == "cut" and not keeps_length:
            del result[at : at + what]
        elif kind == "end" and not keeps_length:
            del result[at:]
    return bytes(result)


def cache(folder: Path) -> Iterator[Callable[[list[Change]], None]]:
    """A cached model that is not what was written."""
    from nnapi_shim.drivers.cpu.cache import writer
    from tests.drivers.cpu.test_cache import prepared
    from tests.drivers.cpu.test_cache_trust import run_small, small

    graph = small()
    expected = run_small(graph, prepared(graph, folder))
    (path,) = folder.iterdir()
    original, times = path.read_bytes(), path.stat()
    writer.store = lambda *given: None

    def check(changes: list[Change]) -> None:
        path.write_bytes(changed(original, changes))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        model = prepared(graph, folder)
        is_loaded = model._usual.__class__ is not None and not hasattr(model._usual, "lowering")
        np.testing.assert_array_equal(run_small(graph, model), expected)
        assert not is_loaded or path.read_bytes() == original, "what was changed is taken"

    yield check


def sealed(folder: Path) -> Iterator[Callable[[list[Change]], None]]:
    """A cached model with any description, and a right seal."""
    from nnapi_shim.drivers.cpu.cache import cache as module
    from nnapi_shim.drivers.cpu.cache.folder import key_of_user
    from nnapi_shim.drivers.cpu.cache.format import Malformed, parsed
    from nnapi_shim.drivers.cpu.program.constants import Constants
    from nnapi_shim.drivers.cpu.program.digest import Digest
    from nnapi_shim.drivers.cpu.program.library import current
    from nnapi_shim.hal.types import CacheHandles
    from tests.drivers.cpu.test_cache import TOKEN, prepared
    from tests.drivers.cpu.test_cache_format import leads_nowhere_else
    from tests.drivers.cpu.test_cache_trust import small

    graph = small()
    prepared(graph, folder)
    (path,) = folder.iterdir()
    original, model, library = path.read_bytes(), graph.model(), current()
    digest = Digest(library, key_of_user())
    seal, begin = module.HEAD.size, module.SEALED
    *_, described, literals, weights = module.HEAD.unpack_from(original)
    limits = module.limits(model, literals, weights)

    def check(changes: list[Change]) -> None:
        data = bytearray(original)
        data[seal : seal + described] = changed(original[seal : seal + described], changes, True)
        private = len(data) - weights
        data[8:begin] = digest.of(b"sealed", bytes(data[begin:private]))
        path.write_bytes(data)
        constants = Constants(model)
        constants.begin_digest(digest)
        handles = CacheHandles(str(folder), TOKEN)
        with module.Cache(model, library, constants, handles, digest) as opened:
            opened.load()
        try:
            actual = parsed(memoryview(data)[seal : seal + described], limits)
        except Malformed:
            return
        leads_nowhere_else(actual, limits)

    yield check


def manifest(folder: Path) -> Iterator[Callable[[list[Change]], None]]:
    """A manifest of a device."""
    from nnapi_shim.drivers.manifest import in_folders

    path = folder / "device.json"
    fields = {"name": "a device", "hal": "1.0", "module": "device.py", "class": "Device"}
    originals = [
        json.dumps({**fields, "version": "1.0", "type": "GPU"}, indent=1).encode(),
        json.dumps(fields).encode("utf-16"),
        b'{"name": ' + b"[" * 100 + b"]" * 100 + b"}",
    ]

    def check(changes: list[Change]) -> None:
        for original in originals:
            path.write_bytes(changed(original, changes))
            for actual in in_folders(str(folder)):
                assert actual.name.isprintable() and actual.origin == str(path)

    yield check


def location(folder: Path) -> Iterator[Callable[[list[Change]], None]]:
    """The file beside the library that says where everything is."""
    for name in ("libneuralnetworks.so", "nnapi_shim_callbacks.abi3.so"):
        shutil.copy(LIBRARIES / name, folder)
    path = folder / "libneuralnetworks.location"
    written = (LIBRARIES / path.name).read_bytes()
    program = ROOT / "build" / "c_examples" / "devices"
    environment = {"LD_LIBRARY_PATH": str(folder), "PATH": os.environ["PATH"]}

    def check(changes: list[Change]) -> None:
        path.write_bytes(changed(written, changes))
        done = subprocess.run(
            [program], env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode >= 0, f"signal {-done.returncode}"
        assert done.returncode == 0 or done.stderr.count(b"\n") >= 1, "nothing says why"

    yield check


TARGETS = {"cache": cache, "sealed": sealed, "manifest": manifest, "location": location}


def run(name: str, seconds: float, seed: int) -> int:
    """Change one kind of file until the time is up; how often."""
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = str(Path(folder, "state"))
        inner = Path(folder, "files")
        inner.mkdir(mode=0o700)
        (check,) = TARGETS[name](inner)

        def counted(changes: list[Change]) -> None:
            nonlocal count
            count += 1
            check(changes)

        until = time.monotonic() + seconds
        while True:
            test = settings(
                max_examples=10 if name == "location" else EXAMPLES,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )(hypothesis.seed(seed)(given(CHANGES)(counted)))
            test()
            seed += 1
            if time.monotonic() >= until:
                return count


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--only", default=",".join(TARGETS), help="kinds of files, with commas")
    parser.add_argument("--within", help=argparse.SUPPRESS)  # in the child alone
    options = parser.parse_args()
    names = options.only.split(",")
    seconds = 60 * options.minutes / len(names)
    if options.within:
        print(run(options.within, seconds * len(names), options.seed))
        return 0
    actual, messages = 0, []
    for name in names:
        second = ["--seed", str(options.seed), "--minutes", str(seconds / 60)]
        command = [sys.executable, "-m", "tests.fuzz.files", *second]
        done = subprocess.run(
            [*command, "--within", name],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=ROOT,
            env={**os.environ, "NNAPI_SHIM_LOG": "silent"},
            check=False,
        )
        if done.returncode != 0:
            actual += 1
            print(f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr[-4000:]}")
            print("to run it again: python -m tests.fuzz.files", *second, "--only", name)
        else:
            messages.append(f"{done.stdout.strip()} of {name}")
    print(f"seed {options.seed}: changed files: {', '.join(messages)}; {actual} kinds failed")
    return 1 if actual else 0


if __name__ == "__main__":
    sys.exit(main())
