"""Numbers as text."""

import pytest

from nnapi_shim.units import count, duration, number, percent, rate, rounded, size


def test_numbers_in_words() -> None:
    assert [size(n) for n in (None, 5, 1500, 2_500_000)] == ["unknown", "5 B", "1.5 kB", "2.5 MB"]
    assert (count(1, "run"), count(2, "run")) == ("1 run", "2 runs")
    assert [duration(t) for t in (0, 2e-9, 1.5e-6, 0.25, 3)] == [
        "0",
        "2 ns",
        "1.5 us",
        "250 ms",
        "3 s",
    ]
    assert (rate(None, "B/s"), rate(2e9, "B/s")) == ("unknown", "2 GB/s")
    assert (percent(None), percent(0.125)) == ("", "12.5%")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12.2e-3, "12.2 ms"),
        (999.4e-6, "999 us"),
        (999.7e-6, "1 ms"),
        (0.99999, "1 s"),
        (12200, "12200 s"),
        (1e-10, "0.1 ns"),
    ],
)
def test_times_have_no_exponent(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers() -> None:
    assert [rounded(x) for x in (0, 12249, 0.034567, -4.006, 100)] == [
        "0",
        "12200",
        "0.0346",
        "-4.01",
        "100",
    ]
    assert [number(x) for x in (12345.6, 1e-9, 2.5e12, float("inf"))] == [
        "12350",
        "1e-09",
        "2.5e+12",
        "inf",
    ]
