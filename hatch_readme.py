"""Makes the description of the package of README.md, whose links lead to files of the repository.

A package index shows the description alone, so relative links would be dead there: they lead to the
files of the released version at the URL `Source` of pyproject.toml. Without that URL, links become
plain words, and pictures are left out.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """hatchling's hook for the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        root = Path(self.root)
        source = metadata.get("urls", {}).get("Source")
        version = re.search(r'= "(.+)"', (root / "nnapi_shim" / "version.py").read_text())
        assert version is not None
        text = description((root / "README.md").read_text(), source, version[1])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def description(text: str, source: str | None, version: str) -> str:
    """README.md with links that work at any place."""

    def turned(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if source is None:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({source.rstrip('/')}/{kind}/v{version}/{target})"

    return LINK.sub(turned, text)
