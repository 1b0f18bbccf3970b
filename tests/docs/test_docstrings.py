"""Docstrings on the site (docs/docstrings.py)."""

import inspect
import sys

import pytest

from tests.docs.pages import ROOT

sys.path.append(str(ROOT / "docs"))
from docstrings import restructured

CASES = {
    "items": (
        """
        size: how many, `all` of
            them.
        a, b: two.
        """,
        """
        * ``size``: how many, ``all`` of
          them.
        * ``a``, ``b``: two.
        """,
    ),
    "code behind an empty line": (
        """
        For example:

            a_ = b | c
        """,
        """
        For example:

        ::

            a_ = b | c
        """,
    ),
    "text that goes on indented": (
        """
        Raises NnapiError: BAD_DATA for a file
            that is damaged.
        """,
        """
        Raises NnapiError: BAD_DATA for a file
        that is damaged.
        """,
    ),
    "lists": (
        """
        - One that
          goes on.
        - Another one.
        """,
        """
        - One that
          goes on.
        - Another one.
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_restructured(name: str) -> None:
    written, expected = (inspect.cleandoc(text).splitlines() for text in CASES[name])
    assert restructured(written) == expected
