"""HTML tables with escaped contents."""

from collections.abc import Iterable, Iterator

from nnapi_shim.log import one_line

MOST_ROWS = 500
"""The most rows of an HTML table."""

Row = tuple[str, ...]


def escaped(text: str) -> str:
    """Text as HTML."""
    from html import escape  # imported on first use: few programs show HTML

    return escape(text)


def html_table(head: Row, rows: Iterable[Row], count: int) -> Iterator[str]:
    """The lines of a table, and the number of rows out of `count` that it leaves out."""
    yield "<table><thead><tr>"
    yield "".join(f"<th>{escaped(cell)}</th>" for cell in head)
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f"<td>{escaped(one_line(cell))}</td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    if count > MOST_ROWS:
        yield f'<tr><td colspan="{len(head)}">and {count - MOST_ROWS} more</td></tr>'
    yield "</tbody></table>"
