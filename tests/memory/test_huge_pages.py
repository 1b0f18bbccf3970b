"""Blocks, and rows of them, ask for huge pages where they fill them, and only there."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from nnapi_shim import address
from nnapi_shim.address import Block, Row, view

HUGE = address._HUGE_PAGE
MAPPINGS = Path("/proc/self/smaps")

pytestmark = pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="a kernel without huge pages"
)


def asked_for(location: int) -> bool:
    """Whether huge pages were asked for where an address is."""
    inside = False
    for line in MAPPINGS.read_text().splitlines():
        if result := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(result[1], 16) <= location < int(result[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return " hg" in line
    raise AssertionError("nothing is mapped there")


@pytest.mark.parametrize("length", [HUGE, 3 * HUGE, 3 * HUGE - 1, 5 * HUGE // 2 + 1])
def test_huge_pages_of_a_large_block(length):
    block = Block(length)
    assert block.address % HUGE == 0
    assert asked_for(block.address)
    assert asked_for(block.address + length // HUGE * HUGE - 1)
    assert not asked_for(block.address + length - 1) or length % HUGE == 0
    view(block.address, length)[length - 1 :] = b"\1"


def test_none_of_a_small_block():
    assert not asked_for(Block(HUGE - 1).address)


def mapped() -> int:
    """KB of all mappings."""
    return int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1])


@pytest.mark.own_process
def test_pages_go_with_their_block():
    before = mapped()
    block = Block(16 * HUGE)
    assert mapped() >= before + 16 * HUGE // 1024
    del block
    assert mapped() < before + HUGE // 1024


@pytest.mark.skipif(HUGE > Row._ROOM, reason="huge pages are larger than a row")
def test_blocks_of_a_row_fill_huge_pages_together():
    row = Row()
    lengths = [0, 1, 64, 700_001, 800_000, 900_000, 5]
    blocks = [row.block(length) for length in lengths]
    row.close()
    assert blocks[0].address % HUGE == 0
    for number, block in enumerate(blocks):
        assert block.length == lengths[number] and block.address % 64 == 0
        assert bytes(view(block.address, block.length)) == bytes(block.length)
        view(block.address, block.length)[:] = bytes([number]) * block.length
    for number, block in enumerate(blocks):
        assert {*bytes(view(block.address, block.length))} <= {number}
    assert asked_for(blocks[0].address) and asked_for(blocks[0].address + HUGE - 1)
    assert not asked_for(blocks[-1].address)


@pytest.mark.own_process
def test_memory_of_a_row_is_kept_for_its_last_block():
    before = mapped()
    row = Row()
    blocks = [row.block(3 << 20) for _ in range(4)]
    row.close()
    assert before + (12 << 10) <= mapped() < before + (14 << 10)
    del row, blocks[1:]
    view(blocks[0].address, 3 << 20)[:] = b"\1" * (3 << 20)
    del blocks
    assert mapped() < before + (1 << 10)


def test_row_of_more_than_it_asks_for_at_a_time():
    row = Row()
    blocks = [row.block(length) for length in (10 << 20, 10 << 20, 40 << 20, 100)]
    row.close()
    spans = sorted((block.address, block.address + block.length) for block in blocks)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for block in blocks:
        view(block.address, block.length)[block.length - 1 :] = b"\1"


def test_row_where_there_is_no_room_for_one(monkeypatch):
    inputs = address.map_pages

    def little(length, *rest):
        if length > 4 << 20:
            raise OSError
        return inputs(length, *rest)

    monkeypatch.setattr(address, "map_pages", little)
    row = Row()
    block = row.block(100_000)
    row.close()
    assert bytes(view(block.address, 100_000)) == bytes(100_000)
    with pytest.raises(MemoryError):
        row.block(5 << 20)


def test_block_that_has_no_room_to_begin_where_huge_pages_can(monkeypatch):
    inputs = address.map_pages

    def little(length, *rest):
        if length > 2 * HUGE:
            raise OSError
        return inputs(length, *rest)

    monkeypatch.setattr(address, "map_pages", little)
    block = Block(2 * HUGE)
    view(block.address, 2 * HUGE)[2 * HUGE - 1 :] = b"\1"
    with pytest.raises(MemoryError):
        Block(2 * HUGE + 1)
