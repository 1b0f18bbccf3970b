"""docs/debugging.md has the commands that the tests run."""

import pytest

from tests.debugging.conftest import ROOT, SUPPRESSIONS
from tests.debugging.test_gdb import BREAK
from tests.debugging.test_memory import LEAKS, VALGRIND
from tests.debugging.test_perf import RECORD, REPORT

PAGE = (ROOT / "docs" / "debugging.md").read_text()


@pytest.mark.parametrize(
    "command",
    [
        *(f"(gdb) {command}\n" for command in BREAK),
        f"{VALGRIND.format('$FILES/valgrind.supp')} $PROGRAM",
        f"LSAN_OPTIONS={LEAKS.format('$FILES/lsan.supp')} ./program",
        f"{RECORD} $PROGRAM 20000",
        f"{REPORT}\n",
    ],
)
def test_page_has_the_commands(command):
    assert f"\n{command}" in PAGE


def test_page_names_the_files():
    assert f"`{SUPPRESSIONS.relative_to(ROOT)}`" in PAGE
    assert {path.name for path in SUPPRESSIONS.iterdir()} == {"valgrind.supp", "lsan.supp"}
