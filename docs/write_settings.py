"""Writes settings.md, the environment variables, from nnapi_shim/settings.py."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.settings import SETTINGS

HEAD = """# Settings

This page lists the environment variables that configure the library. `make docs` writes it from
`nnapi_shim/settings.py`; do not edit it.

`nnapi-shim info` shows the settings in force, and where each comes from. The library reads a
setting when it needs it, most of them at the first call. A program with raised privileges
(set-user-id, set-group-id, file capabilities) ignores all settings.

| environment variable | default | meaning |
|---|---|---|
"""


def main() -> None:
    """Write settings.md."""
    Path(__file__).with_name("settings.md").write_text("".join(document()))


def document() -> Iterator[str]:
    """The text, piece by piece."""
    yield HEAD
    for setting in SETTINGS:
        default = f"`{setting.default}`" if setting.default else ""
        yield f"| `{setting.name}` | {default} | {setting.meaning} |\n"


if __name__ == "__main__":
    main()
