"""What the build of a wheel says on a terminal, where pip hides its output."""

import importlib
import importlib.util
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
CALL = "import hatch_build; hatch_build.announce(200)"
PIP = (
    f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CALL!r}], capture_output=True)"
)


def test_a_line_before_the_long_part():
    """In the terminal of the process that started the build."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", PIP], cwd=ROOT, stdout=theirs, check=True)
        os.close(theirs)
        printed = os.read(ours, 1000).decode()
    finally:
        os.close(ours)
    assert printed.split("\r\n")[1].startswith(
        "  nnapi_shim: compiling takes about 4 min; with -v, pip"
    )


def test_without_a_terminal_there_is_none():
    done = subprocess.run([sys.executable, "-c", PIP], cwd=ROOT, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_wheel_for_another_architecture_needs_zig(monkeypatch):
    hook = importlib.import_module("hatch_build")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("ARCH", "loongarch64")
    monkeypatch.delenv("CC", raising=False)
    application = SimpleNamespace(app=SimpleNamespace(abort=sys.exit))
    with pytest.raises(SystemExit, match="a wheel for loongarch64 needs ziglang: pip install"):
        hook.CustomBuildHook.initialize(application, "standard", {})


def test_the_estimate_is_of_what_is_not_compiled(tmp_path):
    build = importlib.import_module("nnapi_shim.drivers.cpu.toolchain.build")
    everything = build.estimate(tmp_path)
    assert everything > 20
    assert build.estimate(ROOT / "build" / "kernels") < everything
