"""Writes settings.md, the environment variables, from nnapi_shim/settings.py."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.settings import SETTINGS

HEAD = """# Settings

Written by `make docs` from `nnapi_shim/settings.py`; do not edit.

All settings are environment variables. They are read when they are needed, most at the first
call. A program with raised privileges (set-user-id, set-group-id, file capabilities) ignores them.
`nnapi-shim info` shows which are in force, and where from.

| environment variable | default | meaning |
|---|---|---|
"""


def main() -> None:
    """Write the file beside this one."""
    Path(__file__).with_name("settings.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    for setting in SETTINGS:
        default = f"`{setting.default}`" if setting.default else ""
        yield f"| `{setting.name}` | {default} | {setting.meaning} |\n"


if __name__ == "__main__":
    main()
