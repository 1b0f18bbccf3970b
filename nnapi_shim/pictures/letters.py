"""Width of text without a font file: advance widths of DejaVu Sans and its bold face.

They are those of Verdana, too, and wider than those of Arial and Helvetica: what fits in one
fits in all that FAMILY names.
"""

import unicodedata

FAMILY = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif"

# Hundredths of the font's size, from the space to the tilde.
_PLAIN = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 "
    "84 84 53 100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 "
    "69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 "
    "82 59 59 52 64 34 64 84"
)
_BOLD = (
    "35 46 52 84 70 100 87 31 46 46 52 84 38 42 38 37 70 70 70 70 70 70 70 70 70 70 40 40 84 "
    "84 84 58 100 77 76 73 83 68 68 82 84 37 37 77 64 100 84 85 73 85 77 72 68 81 77 110 77 "
    "72 73 46 37 46 84 50 50 67 72 59 72 68 44 72 71 34 34 67 34 104 71 69 72 72 49 60 48 71 "
    "65 92 65 65 58 71 37 71 84"
)
_WIDTHS = tuple(tuple(int(width) / 100 for width in face.split()) for face in (_PLAIN, _BOLD))
_NARROWEST, _SIGN, _OTHER, _FULL = 0.27, 0.84, 1.0, 1.2
_SIGNS = "\u00d7\u00b7\u2192\u00b5"  # times, middle dot, arrow, micro


def width(text: str, size: float, bold: bool = False) -> float:
    """An upper bound of the width of a line of text, in the unit of `size`."""
    widths = _WIDTHS[bold]
    total = 0.0
    for letter in text:
        code = ord(letter) - 32
        if 0 <= code < len(widths):
            total += widths[code]
        elif letter in _SIGNS:
            total += _SIGN
        else:
            total += _FULL if unicodedata.east_asian_width(letter) in "WF" else _OTHER
    return total * size


def fitted(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text, or an ellipsis and as much of its end as fits, because names differ at the end."""
    if width(text, size, bold) <= room:
        return text
    kept = text[-int(room / (_NARROWEST * size)) :]
    while kept and width(f"…{kept}", size, bold) > room:
        kept = kept[1:]
    return f"…{kept}"


def lines(parts: list[str], room: float, size: float, most: int) -> list[str]:
    """Parts joined to lines of at most `room`; the last of `most` lines ends with … if cut."""
    result: list[str] = []
    for part in parts:
        joined = f"{result[-1]} · {part}" if result else part
        if result and width(joined, size) <= room:
            result[-1] = joined
        elif len(result) == most:
            # Shorten the line to make room for the ellipsis.
            while result[-1] and width(f"{result[-1]} …", size) > room:
                result[-1] = result[-1][:-1]
            result[-1] += " …"
            break
        else:
            result.append(fitted(part, room, size))
    return result
