"""The goals of the project for these measurements, and whether they are reached."""

from collections.abc import Iterator, Sequence

from tests.bench.suite.figures import OURS, Figures, geometric_mean

MEAN = 0.80
SPEED_UP = 0.56
CPU = 120.0
LONG = 1e-3
"""Seconds that a model takes on one thread for a second one to matter."""


def goals(
    models: Sequence[Figures], threads: Sequence[int], program: dict[str, float] | None
) -> list[str]:
    """A table of them. program: the start of a C program, where it was measured."""
    rows = [f"| {' | '.join(row)} |" for row in (*_rows(models, threads), *_start(program))]
    return ["| goal | limit | measured | reached |", "|---|---|---|---|", *rows, ""]


def _rows(models: Sequence[Figures], threads: Sequence[int]) -> Iterator[tuple[str, ...]]:
    for number in threads:
        ratios = [actual.median for model in models if (actual := model.ratio(number))]
        if not ratios:
            continue
        mean = geometric_mean(ratios)
        yield _row(f"geometric mean of the ratios, threads: {number}", MEAN, mean)
        yield _row(f"each ratio, threads: {number}; the largest", 1.0, max(ratios))
    pairs = [(model.of(OURS, 1), model.of(OURS, 2)) for model in models]
    gains = [two.median / one.median for one, two in pairs if one and two and one.median > LONG]
    if gains:
        name = "2 threads / 1 thread, models above 1 ms, geometric mean"
        yield _row(name, SPEED_UP, geometric_mean(gains))
        yield _row("the same, the largest", SPEED_UP, max(gains))


def _start(program: dict[str, float] | None) -> Iterator[tuple[str, ...]]:
    if program is None:
        return
    name = "MobileNet v2 quant, C program, start to first result"
    yield _row(f"{name}: ms of processors", CPU, 1e3 * program["cpu"])
    yield _row(f"{name}: MB in memory at most", program["allowed"] / 1e6, program["peak"] / 1e6)


def _row(what: str, bar: float, value: float) -> tuple[str, ...]:
    return what, f"at most {bar:.2f}", f"{value:.2f}", "yes" if value <= bar else "no"
