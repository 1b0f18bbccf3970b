"""The devices of IREE, and its compiler in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")
pytest.importorskip("iree", reason="IREE is not installed (the extra iree)")

from nnapi_shim.drivers.engines import iree, iree_compiler  # noqa: E402 - these need both
from tests.engines import vectors  # noqa: E402

DEVICE = "iree-cpu"


def prepared(model, deadline_ns=None):
    preference = ExecutionPreference.FAST_SINGLE_ANSWER
    return vectors.device(DEVICE).prepareModel(
        model, preference, Priority.MEDIUM, deadline_ns, None
    )


def test_a_model():
    model = chain("ADD MUL", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = prepared(model)
    bound = Bound(made, model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))
        x += 1
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert np.array_equal(bound.buffers[0].view(np.float32).reshape(2, 3), (x + x) * (x + x))
    short = Bound(made, model, [x], room=8)
    assert short.compute().status.name == "OUTPUT_INSUFFICIENT_SIZE"


def test_a_size_that_is_known_at_the_execution():
    model = chain("ADD", (0, 2))
    made = prepared(model)
    for rows in (1, 3):
        x = np.ones((rows, 2), np.float32)
        assert np.array_equal(Bound(made, model, [x]).outputs()[0], x + x)


def test_a_deadline_that_has_passed():
    with pytest.raises(NnapiError) as caught:
        prepared(chain("ADD"), time.monotonic_ns() - 1)
    assert caught.value.code is ResultCode.MISSED_DEADLINE_PERSISTENT


def test_the_program_does_not_load_the_compiler():
    """Three hundred megabytes, and a crash of it would be one of the program."""
    prepared(chain("ADD"))
    assert "libIREECompiler" not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize(
    ("content", "options", "why"),
    [
        (b"nonsense", [], "DecodeError"),
        (None, ["--iree-hal-target-device=no-device"], "no-device"),
    ],
)
def test_what_the_compiler_refuses(content, options, why, capfd):
    from nnapi_shim import savers

    content = content or savers.exchange().written(chain("ADD"))[0]
    with pytest.raises(NnapiError, match=rf"IREE does not compile the model: .*{why}") as caught:
        iree_compiler.compiled(content, options)
    assert caught.value.code is ResultCode.OP_FAILED
    assert "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")


def test_a_compiler_that_crashes(monkeypatch, capfd):
    """In its process alone."""
    monkeypatch.setattr(iree_compiler, "__name__", "tests.engines.crashing_compiler")
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(NnapiError, match="its process ended without a word"):
        iree_compiler.compiled(b"", [])
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert capfd.readouterr() == ("", "")


def test_packages_of_two_versions(monkeypatch):
    versions = {"iree-base-runtime": "3.13.0", "iree-base-compiler": "3.12.0"}
    monkeypatch.setattr(iree.metadata, "version", versions.get)
    with pytest.raises(
        NnapiError, match=r"compiler 3\.12\.0 and iree-base-runtime 3\.13\.0 do not"
    ):
        iree.Engine()


def test_what_no_vector_was_computed_of():
    b = Builder()
    x = b.input((2,))
    b.operation(O.FLOOR, [x], [b.temporary((2,))])
    (reason,) = vectors.device(DEVICE).getReasons(b.model([x], [1]))
    assert reason == "not tried with this engine (seen in 3.13.0)"
    halves = Builder()
    x = halves.input((2,), T.TENSOR_FLOAT16)
    out = halves.binary("ADD", x, x)
    assert vectors.device(DEVICE).getReasons(halves.model([x], [out])) == [reason]


@pytest.mark.slow
def test_vectors():
    """One in three hundred; `make check-engines DEVICES=iree-cpu` computes all."""
    chosen = examples()[::300] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, DEVICE) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert [outcome for outcome in outcomes if outcome.what == "right"]


CODE = """
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    print(model.compile(devices=["iree-cpu"]).run([1, 2]).tolist())
"""


def test_a_program():
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={**os.environ, "NNAPI_SHIM_ENGINES": "iree"},
    )
    assert (run.stdout, run.stderr) == ("[2.0, 4.0]\n", "")
