"""Blocks ask for huge pages where they fill them, and only there."""

import re
from pathlib import Path

import pytest

from nnapi_shim.address import Block, view

HUGE = 1 << 21
MAPPINGS = Path("/proc/self/smaps")

pytestmark = pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="a kernel without huge pages"
)


def asked_for(address: int) -> bool:
    """Whether huge pages were asked for where an address is."""
    inside = False
    for line in MAPPINGS.read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return " hg" in line
    raise AssertionError("nothing is mapped there")


@pytest.mark.parametrize("length", [HUGE, 3 * HUGE, 3 * HUGE - 1, 5_000_001])
def test_huge_pages_of_a_large_block(length):
    block = Block(length)
    assert block.address % HUGE == 0
    assert asked_for(block.address)
    assert asked_for(block.address + length // HUGE * HUGE - 1)
    assert not asked_for(block.address + length - 1) or length % HUGE == 0
    view(block.address, length)[length - 1 :] = b"\1"


def test_none_of_a_small_block():
    assert not asked_for(Block(HUGE - 1).address)


def test_pages_go_with_their_block():
    def mapped() -> int:
        return int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1])

    before = mapped()
    block = Block(16 * HUGE)
    assert mapped() >= before + 16 * HUGE // 1024
    del block
    assert mapped() < before + HUGE // 1024
