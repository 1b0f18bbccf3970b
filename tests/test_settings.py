"""Settings are all in one table, and ignored where they must be."""

import re
from pathlib import Path

from nnapi_shim.settings import SETTINGS

ROOT = Path(__file__).parents[1]


def test_every_variable_read_in_c_is_a_setting():
    names = {setting.name for setting in SETTINGS}
    for source in (ROOT / "nnapi_shim" / "native").rglob("*.c"):
        for name in re.findall(r'"((?:NNAPI_SHIM|DEBUG_NN)_[A-Z_]+)"', source.read_text()):
            assert name in names, f"{source.name} reads {name}"


def test_c_asks_for_no_variable_of_a_program_with_raised_privileges():
    for source in (ROOT / "nnapi_shim" / "native").rglob("*.c"):
        assert not re.search(r"(?<!secure_)\bgetenv\(", source.read_text()), source.name
