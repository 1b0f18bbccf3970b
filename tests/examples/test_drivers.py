"""The example devices, used by unmodified C programs, and what the documents say of them."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.conformance.vectors import FOLDER, ROOT, WHY_SKIPPED
from tests.examples.devices import DEVICES, DRIVERS
from tests.waiting import HANGS_S

LIBRARY = ROOT / "build" / "lib" / "libneuralnetworks.so"
PROGRAMS = ROOT / "build" / "c_examples"


def environment(devices):
    """Only these devices, and those of the examples among them."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NNAPI_", "DEBUG_NN"))}
    return kept | {
        "NNAPI_SHIM_DRIVERS": str(DRIVERS),
        "DEBUG_NN_ENABLED_DEVICES": devices,
        "LD_LIBRARY_PATH": str(LIBRARY.parent),
    }


def run(devices, *command):
    """What a program prints; it must succeed and say nothing on stderr."""
    result = subprocess.run(
        list(map(str, command)),
        env=environment(devices),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("device", ["example-plain", "example-threaded"])
def test_a_c_program(device):
    """No other device is there: the sums are the example's."""
    assert "1 + 0.5 = 1.5" in run(device, PROGRAMS / "simple_add")


@pytest.mark.parametrize("option", [[], ["-v"]])
def test_listed_in_front(option):
    printed = run("", PROGRAMS / "devices", *option)
    assert re.findall(r"^(\S+): type (\w+), feature level (.+)$", printed, re.MULTILINE) == [
        ("example-plain", "other", "1 (27)"),
        ("example-threaded", "other", "2 (28)"),
        ("nnapi-cpu", "CPU", "8 (1000008)"),
        ("nnapi-reference", "CPU", "8 (1000008)"),
    ]


def test_an_installed_package(tmp_path):
    """Found by its entry point, in the Python that a C program starts."""
    (tmp_path / "nnapi_shim").symlink_to(ROOT / "nnapi_shim")
    metadata = tmp_path / "package-1.0.dist-info"
    metadata.mkdir()
    entry = "[nnapi_shim.drivers]\npackaged = packaged_device:Device\n"
    (metadata / "entry_points.txt").write_text(entry)
    (tmp_path / "packaged_device.py").write_text(
        f"import sys\nsys.path.append({str(DRIVERS)!r})\nimport plain_v1_0\n\n"
        "class Device(plain_v1_0.Device):\n    version = '9'\n    type = 'GPU'\n"
    )
    only = environment("packaged") | {"NNAPI_SHIM_HOME": str(tmp_path)}
    result = subprocess.run(
        [PROGRAMS / "simple_add"], env=only, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "1 + 0.5 = 1.5" in result.stdout


BAD = {
    "execute": "def execute(self, request, callback):\n    return self.what()",
    "raise": "def what(self):\n    raise RuntimeError('broken')",
    "silent": "def what(self):\n    return Status.NONE",
    "asleep": "def what(self):\n    import time\n    time.sleep(60)",
}


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("raise", "bad.execute raised RuntimeError: broken"),
        ("silent", "bad.execute did not answer within 1 s"),
        ("asleep", "bad.execute did not answer within 1 s"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_bad_driver(tmp_path, behaviour, message, alone):
    """A C program gets a result code, or the result of another device; it ends in time, and one
    line says why.
    """
    methods = [BAD["execute"], BAD[behaviour]]
    body = "\n".join(f"    {line}" for text in methods for line in text.splitlines())
    (tmp_path / "bad.py").write_text(
        f"import sys\nsys.path.append({str(DRIVERS)!r})\nimport plain_v1_0\n"
        f"from plain_v1_0 import Status\n\nclass Prepared:\n{body}\n\n"
        "class Device(plain_v1_0.Device):\n"
        "    def prepareModel(self, model, callback):\n"
        "        callback.notify(Status.NONE, Prepared())\n"
        "        return Status.NONE\n"
    )
    fields = {"name": "bad", "hal": "1.0", "module": "bad.py", "class": "Device"}
    (tmp_path / "bad.json").write_text(json.dumps(fields | {"version": "1", "type": "OTHER"}))
    inputs = environment("bad" if alone else "bad|nnapi-reference") | {
        "NNAPI_SHIM_DRIVERS": str(tmp_path),
        "NNAPI_SHIM_DRIVER_TIMEOUT": "1",
    }
    result = subprocess.run(
        [PROGRAMS / "simple_add"],
        env=inputs,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )
    line = result.stderr.splitlines()[0]
    assert message in line
    assert (result.returncode == 0) is not alone
    assert ("1 + 0.5 = 1.5" in result.stdout) is not alone
    if not alone:
        assert line.startswith("nnapi_shim warning: ") and result.stderr.count("\n") == 1
    debug = subprocess.run(
        [PROGRAMS / "simple_add"],
        env=inputs | {"NNAPI_SHIM_LOG": "debug"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )
    assert ("Traceback" in debug.stderr) == (behaviour == "raise")


def vectors(devices, *options):
    """Passed, failed and skipped in a run of the conformance vectors of these levels."""
    if not FOLDER.exists():
        pytest.skip(WHY_SKIPPED)
    command = [sys.executable, FOLDER / "run.py", "--lib", LIBRARY, *options]
    printed = run(devices, *command)
    return tuple(map(int, re.findall(r"\d+", printed.splitlines()[-1])))


@pytest.mark.parametrize(("device", "level", "operations"), DEVICES)
@pytest.mark.parametrize("checks", ["static,dynamic,short", "async,burst,fenced,memory"])
def test_vectors_of_its_level(device, level, operations, checks):
    """Without another device, and with output dimensions that are left open."""
    passed, failed, _ = vectors(
        device,
        *("--level", str(level), "--only-ops", operations, "--checks", checks),
        *("--file", "V1_[01]/*float*", "--fail-list"),
    )
    assert failed == 0 and passed > 10


def test_together_with_another_device():
    """What the examples lack is left to nnapi-reference, within one model too."""
    passed, failed, skipped = vectors(
        "example-.*|nnapi-reference",
        *("--file", "V1_0/*_[123]", "--checks", "static,dynamic"),
    )
    assert passed > 50 and failed == skipped == 0


def test_the_report_in_the_page():
    command = [sys.executable, ROOT / "examples" / "compliance_report.py"]
    printed = run("", *command)
    shown = f"```text\n{printed.strip()}\n```"
    assert shown in (ROOT / "docs" / "drivers.md").read_text()


@pytest.mark.parametrize(("device", "operation"), [("example-plain", "MUL"), ("nnapi-cpu", "SUB")])
def test_compared_with_the_reference(device, operation):
    command = [sys.executable, ROOT / "examples" / "compare_devices.py"]
    printed = run("", *command, device)
    actual = dict(line.split(": ") for line in printed.splitlines())
    assert actual[operation].startswith("largest difference ")
    assert all(float(text.split()[-1]) < 1e-5 for text in actual.values() if "largest" in text)
    assert (actual["SUB"] == "not supported") == (device == "example-plain")
