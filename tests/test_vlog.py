"""DEBUG_NN_VLOG: every topic has something to tell of, and nothing else is told."""

import subprocess
import sys

import pytest

from nnapi_shim.vlog import TOPICS

PROGRAM = """
import numpy as np, tempfile
from nnapi_shim import Compilation, Model, devices
from nnapi_shim.runtime.memory import FdMemory
model = Model()
x = model.input("TENSOR_FLOAT32", [2])
model.outputs(model.operation("RELU", [x]))
model.finish()
with tempfile.TemporaryFile() as file:
    FdMemory(8, 1, file.fileno(), 0)
names = {device.name: device for device in devices()}
for name in ("nnapi-cpu", "nnapi-reference"):
    print(Compilation(model, devices=[names[name]]).run(np.array([-1, 2], np.float32)))
"""
TOLD = {
    "model": "a model is finished: 2 operands, 1 RELU, from ['TENSOR_FLOAT32[2]'] to",
    "compilation": "nnapi-cpu runs operations 0",
    "driver": "nnapi-reference prepared 1 operations in",
    "execution": "a computation on nnapi-cpu: NONE, outputs [[2]],",
    "memory": "8 bytes from 0 of file descriptor",
    "manager": "devices: nnapi-cpu ",
    "cpuexe": "nnapi-reference computed RELU (operation 0): [[2]]",
}


def said(topics):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"DEBUG_NN_VLOG": topics},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("2.") == 2
    return done.stderr


@pytest.mark.parametrize("topic", sorted(TOPICS - {"device"}))
def test_a_topic_is_told_of(topic):
    lines = said(topic).splitlines()
    assert any(f"nnapi_shim {topic}: {TOLD[topic]}" in line for line in lines), lines
    assert all(line.startswith(f"nnapi_shim {topic}: ") for line in lines)


def test_nothing_is_told_unasked():
    assert said("") == ""
