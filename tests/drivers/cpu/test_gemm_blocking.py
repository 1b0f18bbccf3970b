"""How matrix products are shared out into tiles."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.lowering import gemm_blocking
from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import Work, searched, split
from nnapi_shim.drivers.cpu.lowering.tiling import MAX_TILES


def work(rows, depth, columns, tile_rows, width):
    """A product of floats."""
    column_bytes = 4 * (depth + 1)
    tiles, panels = -(-rows // tile_rows), -(-columns // width)
    row_bytes = tile_rows * depth * 4
    return Work(tiles, tile_rows, panels, columns, depth, row_bytes, width * column_bytes, 2)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [
        *((1, 64, 10), (1, 1024, 1000), (49, 960, 320), (196, 512, 512), (12544, 32, 64)),
        *((3, 7, 5), (16, 4096, 4096), (49, 4608, 512), (500, 9000, 130)),
    ],
)
@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize(("enough", "threads"), [(8, 1), (8, 2), (8, 3), (32, 16)])
def test_tiles_cover_the_product_once(tier, rows, depth, columns, is_quantized, enough, threads):
    tiling = TIERS[tier].tiling_of(is_quantized)
    tile_rows = tiling.tile_rows(rows)
    width = tiling.panel_columns(tile_rows)
    values = work(rows, depth, columns, tile_rows, width)
    tiles, fields = split(values, width, tiling, enough, threads)
    blocks = tiles // fields["groups"]
    assert tiles == blocks * fields["groups"]
    assert (blocks - 1) * fields["block_tiles"] < values.row_tiles <= blocks * fields["block_tiles"]
    groups, share = fields["groups"], fields["group_panels"]
    assert (groups - 1) * share < values.panels <= groups * share


def test_what_is_small_has_one_tile_and_what_is_large_several():
    tiling = TIERS["v4"].tiling
    small, _ = split(work(36, 32, 64, 6, 64), 64, tiling, 8)
    large, _ = split(work(784, 256, 256, 7, 32), 32, tiling, 8)
    row, _ = split(work(1, 1024, 1000, 1, 64), 64, tiling, 8)
    assert small == 1
    assert 8 <= large <= 2 * MAX_TILES  # blocks and groups are rounded up
    assert 8 <= row <= MAX_TILES


@pytest.mark.parametrize("depth", [2048, 3072, 4096])
def test_weights_of_deep_products_are_read_once(depth):
    """By all rows, though a panel leaves them no room in the second-level cache."""
    for tier in ("v3", "v4"):
        tiling = TIERS[tier].tiling
        width = tiling.columns
        tiles, fields = split(work(16, depth, 4096, tiling.rows, width), width, tiling, 8)
        assert fields["block_tiles"] == 3 and tiles == fields["groups"]


def test_weights_that_fit_no_cache_are_read_once():
    """By one thread."""
    for tier in ("v3", "v4"):
        tiling = TIERS[tier].tiling
        width = tiling.columns
        for rows, depth, columns in ((100, 1024, 1024), (49, 960, 640), (361, 512, 512)):
            product = work(rows, depth, columns, tiling.rows, width)
            tiles, fields = split(product, width, tiling, 8)
            room = max(1, (tiling.cache - product.panel_bytes) // product.row_bytes)
            few = -(-product.row_tiles // room)
            assert product.row_tiles <= fields["block_tiles"] * few
            assert tiles >= 8


def test_panels_are_prefetched_by_the_thread_that_reads_them_next():
    tiling = TIERS["v4"].tiling
    deep = work(100, 1024, 2048, 7, 32), 32, tiling, 8
    for threads in (1, 2, 3):
        fields = split(*deep, threads)[1]
        assert fields["group_panels"] - fields["prefetched"] == (threads > 1)
    for few in (work(6, 1024, 2048, 7, 32), work(100, 32, 2048, 7, 32)):
        assert split(few, *deep[1:])[1]["prefetched"] == 0  # one row tile; small panels
    many = split(work(100000, 64, 32, 7, 32), *deep[1:])[1]
    assert many["block_tiles"] > 64 and many["prefetched"] == 0


def test_more_threads_get_more_tiles():
    tiling = TIERS["v3"].tiling
    product = work(1, 1024, 1000, 1, 64), 64, tiling
    assert split(*product, 8)[0] < 16 <= split(*product, 32)[0] <= MAX_TILES
    one_tile = work(36, 32, 64, 6, 64), 64, TIERS["v4"].tiling
    assert split(*one_tile, 32, 16)[0] == 1
    few = work(49, 96, 160, 7, 32), 32, TIERS["v4"].tiling
    assert split(*few, 8)[0] < 15 <= split(*few, 32, 16)[0] <= MAX_TILES


def test_many_threads_end_together():
    """Next to the search for few threads: shorter for the last thread, in tiles that are not too
    small.
    """
    random = np.random.default_rng(6)
    few, many = [], []
    for _ in range(300):
        tiling = TIERS[random.choice(list(TIERS))].tiling
        rows, depth, columns = (int(2 ** random.uniform(5, top)) for top in (12, 9, 10))
        tile_rows = tiling.tile_rows(rows)
        width = tiling.panel_columns(tile_rows)
        product = work(rows, depth, columns, tile_rows, width), width, tiling
        tiles, fields = split(*product, 32, 16)
        if tiles == 1 or split(*product, 32, 1)[0] < 16:
            continue
        for shares, (count, blocking) in (
            (few, split(*product, 32, 1)),
            (many, (tiles, fields)),
        ):
            most = -(-count // 16) * blocking["block_tiles"] * blocking["group_panels"]
            shares.append(most / (product[0].row_tiles * product[0].panels / 16))
    assert len(many) > 100
    assert np.mean(many) < 1.2
    assert np.mean(many) < np.mean(few) - 0.1


def last_share(product, threads):
    """Row tiles of the thread that has the most, next to an equal share; the number of tiles."""
    tiles, fields = split(*product, 8, threads)
    most = -(-tiles // threads) * fields["block_tiles"] * fields["group_panels"]
    return most / (product[0].row_tiles * product[0].panels / threads), tiles


def test_threads_end_together():
    tiling = TIERS["v4"].tiling
    # Five blocks of 30 row tiles would give one of two threads 90.
    product = Work(147, 7, 1, 16, 36, 336, 5120, 6), 32, tiling
    assert split(*product, 8)[1]["block_tiles"] == 30
    assert last_share(product, 2) == (75 / 73.5, 6)
    random = np.random.default_rng(5)
    shares = []
    for _ in range(300):
        rows, depth, columns = (int(2 ** random.uniform(4, top)) for top in (12, 7, 7))
        tile_rows = tiling.tile_rows(rows)
        width = tiling.panel_columns(tile_rows)
        product = work(rows, depth, columns, tile_rows, width), width, tiling
        if split(*product, 8)[0] == 1:
            assert split(*product, 8, 2)[0] == 1
            continue
        share, tiles = last_share(product, 2)
        assert tiles <= MAX_TILES
        shares.append(share)
    assert len(shares) > 100
    assert np.mean(shares) < 1.06


def test_rows_that_a_tile_divides_leave_nothing_idle():
    assert [TIERS["v4"].tiling.tile_rows(n) for n in (1, 4, 6, 49, 64)] == [1, 4, 6, 7, 6]


def test_remembered_blockings_are_those_of_their_own_product():
    random = np.random.default_rng(3)
    seen = []
    for _ in range(100):
        tiling = TIERS[random.choice(list(TIERS))].tiling_of(random.random() < 0.5)
        rows, depth, columns = (int(2 ** random.uniform(0, 14)) for _ in range(3))
        tile_rows = tiling.tile_rows(rows)
        width = tiling.panel_columns(tile_rows)
        inputs = work(rows, depth, columns, tile_rows, width)
        seen += [
            (inputs, lanes, each.tiling, enough, threads)
            for lanes in (16, 1024)
            for each in TIERS.values()
            for enough, threads in ((8, 1), (8, 2), (32, 16))
        ]
    for product in [*seen[:200], *seen, *seen[-200:]]:
        assert split(*product) == searched(*product)
        assert split(*product) is split(*product)
        assert len(gemm_blocking._splits) <= gemm_blocking.MOST


def test_tables_of_consecutive_rows():
    random = np.random.default_rng(4)
    for _ in range(600):
        tile_rows = int(random.integers(1, 7))
        count, row_bytes = (int(random.integers(1, 9)) for _ in range(2))
        rows = consecutive_rows(None, count, row_bytes, tile_rows)
        first = [row * row_bytes for row in range(tile_rows)]
        tail = count - (rows.image_tiles - 1) * tile_rows
        last = [min(row, tail - 1) * row_bytes for row in range(tile_rows)]
        assert np.frombuffer(rows.table, np.int64).tolist() == first + last
