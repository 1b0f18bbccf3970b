"""The examples for clusters, on clusters of this machine; workers that die."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import Model
from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "clusters"
WAITS = {
    "RAY_gcs_server_port_wait_time_s": "200",
    "RAY_NUM_REDIS_GET_RETRIES": "200",
    "RAY_worker_register_timeout_seconds": "300",
}
"""How long Ray waits for its own processes, which start slowly on a busy machine."""
SIZE = 8
CLASSES = ("dark", "red", "green", "blue")

pytestmark = pytest.mark.integration
for needed in ("ray", "distributed", "PIL", "pandas", "tflite"):
    pytest.importorskip(needed)


def colours() -> Model:
    """Which of the colours a picture has most of, or none: quantized, 8 x 8."""
    with Model() as model:
        pictures = model.input(
            "TENSOR_QUANT8_ASYMM", [1, SIZE, SIZE, 3], scale=1 / 255, name="picture"
        )
        pooled = model.operation("AVERAGE_POOL_2D", [pictures, 0, 0, 0, 0, 1, 1, SIZE, SIZE, 0])
        weights = model.constant(
            np.concatenate([np.zeros((1, 3)), np.eye(3)]).astype(np.uint8),
            "TENSOR_QUANT8_ASYMM",
            scale=1.0,
        )
        bias = model.constant(
            np.array([127, 0, 0, 0], np.int32), "TENSOR_INT32", scale=pooled.scale
        )
        scores = model.operation(
            "FULLY_CONNECTED", [pooled, weights, bias, 0], scale=1 / 255, name="scores"
        )
        model.outputs(scores)
    return model


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> tuple[Path, Path, Path]:
    """A model, a folder of pictures with a folder per class, a file of labels."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("task")
    colours().save(folder / "colours.tflite")
    generator = np.random.default_rng(0)
    for number, name in enumerate(CLASSES):
        (folder / "pictures" / name).mkdir(parents=True)
        for at in range(4):
            pixels = generator.integers(0, 60, (SIZE, SIZE, 3)).astype(np.uint8)
            if number:
                pixels[..., number - 1] += 180
            Image.fromarray(pixels).save(folder / "pictures" / name / f"{at}.png")
    (folder / "labels.txt").write_text("\n".join(CLASSES))
    return folder / "colours.tflite", folder / "pictures", folder / "labels.txt"


DYING = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import {example} as example
import nnapi_shim

class Dying(nnapi_shim.Predictor):
    def __call__(self, batch):
        try:
            os.close(os.open({mark!r}, os.O_CREAT | os.O_EXCL))  # one of the workers, once
        except FileExistsError:
            return super().__call__(batch)
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    del sys.argv[1]
    nnapi_shim.Predictor = Dying
    example.main()
"""


def run(*command: object) -> str:
    """What a program prints. Ray gives its own processes 30 s to start, which a busy machine may
    take longer for; no setting changes that, so the program is run again then.
    """
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=EXAMPLES,
            env=os.environ | WAITS | {"PYTHONPATH": f"{ROOT}:{EXAMPLES}"},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        if "timed out during startup" not in done.stderr:
            break
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.mark.parametrize("example", ["evaluate_dask", "evaluate_ray"])
def test_the_command_of_the_page(example) -> None:
    """The trained model of the repository, on its ten pictures."""
    shapes = ROOT / "examples" / "shapes"
    files = (shapes / "int8.tflite", shapes / "pictures", shapes / "labels.txt")
    printed = run(EXAMPLES / f"{example}.py", *files)
    assert printed.splitlines()[-1] == "10 of 10 right", printed


@pytest.mark.parametrize("example", ["evaluate_dask", "evaluate_ray"])
def test_a_folder_of_pictures_and_a_worker_that_dies(example, task, tmp_path) -> None:
    mark = tmp_path / "died"
    program = tmp_path / "dying.py"
    program.write_text(DYING.format(example=example, mark=str(mark)))
    printed = run(program, EXAMPLES, *task)
    assert mark.exists()
    assert printed.splitlines()[-1] == "16 of 16 right", printed
