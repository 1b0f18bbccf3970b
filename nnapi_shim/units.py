"""Numbers as text: counts with nouns, times, sizes, rates, shares."""

from math import floor, isfinite, log10


def rounded(value: float, digits: int = 3) -> str:
    """A number with that many significant digits, without an exponent: `12200`, `4.21`."""
    if not value or not isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - floor(log10(abs(value)))
    text = f"{round(value, decimals):.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number(value: float, digits: int = 4) -> str:
    """As `rounded`, with an exponent for very large and very small numbers."""
    is_usual = not value or 1e-4 <= abs(value) < 1e9
    return rounded(value, digits) if is_usual else f"{value:.{digits}g}"


def count(number: int, noun: str) -> str:
    """A number with a noun, such as `1 step`, `2 steps`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float, micro: str = "us") -> str:
    """A time, such as `4.21 ms`. micro: the unit of microseconds."""
    for unit, one in (("s", 1.0), ("ms", 1e-3), (micro, 1e-6)):
        if seconds >= 0.9995 * one:
            return f"{rounded(seconds / one)} {unit}"
    return f"{rounded(seconds / 1e-9)} ns" if seconds else "0"


def size(bytes: int | None) -> str:
    """A number of bytes, such as `1.5 MB`; `unknown` for None."""
    if bytes is None:
        return "unknown"
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes >= one:
            return f"{rounded(bytes / one, 4)} {unit}"
    return f"{bytes} B"


def rate(value: float | None, unit: str) -> str:
    """A rate, such as `41.2 GB/s`; `unknown` for None."""
    return "unknown" if value is None else f"{rounded(value / 1e9)} G{unit}"


def percent(share: float | None) -> str:
    """A share, such as `12.5%`; "" for None."""
    return "" if share is None else f"{100 * share:.1f}%"
