"""What an emulator cannot do. Tests that need it are left out, by name, in `make test-arm`."""

import os

import pytest

SETTING = "TESTS_EMULATED_BY"
"""The environment variable that names the emulator that all programs run in."""
KEPT = ("QEMU_CPU", "QEMU_PAGESIZE")
"""Of the environment of a test: programs that start with no other have the same processor
and pages."""


NO_FILTERS = "refuses filters of system calls (seccomp)"
NO_LIMIT_OF_ADDRESSES = "ignores the limit of a program's addresses (RLIMIT_AS)"
NO_THREAD_SANITIZER = "lets ThreadSanitizer start programs anew, often for ever"
NO_SET_GROUP_ID = "runs programs with the rights of whoever starts them"


def is_emulated() -> bool:
    """Whether an emulator runs this, and all programs."""
    return SETTING in os.environ


def reason_in_emulator(lack: str) -> str:
    """Why what needs it is left out, if this runs in an emulator; else ""."""
    emulator = os.environ.get(SETTING, "")
    return f"{emulator} {lack}" if emulator and lack else ""


def left_out_in_emulator(lack: str) -> pytest.MarkDecorator:
    """A mark of tests that need what an emulator lacks."""
    reason = reason_in_emulator(lack)
    return pytest.mark.skipif(bool(reason), reason=reason)


def bare_environment() -> dict[str, str]:
    """The environment of programs that are to have none."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}
