"""Writes settings.md, the environment variables, from nnapi_shim/settings.py."""

from collections.abc import Iterator
from pathlib import Path

from nnapi_shim.settings import SETTINGS

HEAD = """# Settings

This page lists the environment variables that configure the library. `make docs` writes it from
`nnapi_shim/settings.py`; do not edit it.

```sh
NNAPI_SHIM_THREADS=1 LD_LIBRARY_PATH=build/lib build/c_examples/simple_add
```

`nnapi-shim info` shows the settings in force, and where each comes from. The library reads a
setting when it needs it, most of them at the first call. A variable that begins with `NNAPI_SHIM_`
and is no setting gets one warning. A program with raised privileges (set-user-id, set-group-id,
file capabilities) ignores all settings.

Settings can also be in a file, `~/.config/nnapi_shim/settings.conf` or the one that
`NNAPI_SHIM_CONFIG` names. An environment variable overrides the file. The library reads the file
once, and ignores a file that another user owns or may write to.

```text
# counts for every program
NNAPI_SHIM_THREADS = 2

# counts for nnapi-shim exec --settings debug -- ./program
[debug]
NNAPI_SHIM_LINT = 1
DEBUG_NN_VLOG = all
```

Settings that C code reads before Python has started take effect only in the environment or in a
profile; the table marks them with *.

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
        mark = " *" if setting.is_early else ""
        yield f"| `{setting.name}`{mark} | {default} | {setting.meaning} |\n"


if __name__ == "__main__":
    main()
