"""How Sphinx makes the site of the documentation (`make docs`)."""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from docstrings import restructured  # noqa: E402
from numpy.typing import ArrayLike  # noqa: E402
from sphinx.util.typing import stringify_annotation  # noqa: E402

from nnapi_shim import __version__  # noqa: E402


def _links() -> dict[str, str]:
    """Where the sources of the pages are, if pyproject.toml says it."""
    text = (ROOT / "pyproject.toml").read_text()
    address = re.search(r'^(?:Source|Repository) = "(https://[^"]+)"', text, re.MULTILINE)
    if address is None:
        return {}
    return {
        "source_repository": address[1],
        "source_branch": "main",
        "source_directory": "docs/",
    }


project = "nnapi_shim"
author = "The authors of nnapi_shim"
copyright = "the authors of nnapi_shim, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"nnapi_shim {version}"
html_theme_options = _links()
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output of console blocks
nitpicky = False

# Pages are also read where they lie, so their links are those of files.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Types as they are written; what numpy's names stand for helps nobody.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
TYPES = (
    "Activation ArrayLike Bool CellActivation Choice DeclaredType Float Given Int Key Outputs "
    "Padding Pair Scale Sizes Target Type Value"
)
ARRAY_LIKE = stringify_annotation(ArrayLike, "smart")
"""What Sphinx makes of it where annotations are not read as text."""
autodoc_type_aliases = dict(zip(TYPES.split(), TYPES.split(), strict=True))
python_use_unqualified_type_names = True

INCLUDED = {name: f"{name.lower()}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "SECURITY")}
"""Pages beside this folder -> those here that include them."""


def setup(app: Any) -> None:
    """Docstrings are read as they are written.

    Links lead where the pages lie in a checkout; on the site some of these lie elsewhere.
    """
    app.connect("autodoc-process-docstring", _restructure)
    app.connect("autodoc-process-signature", _named)
    app.connect("autodoc-process-bases", _tuples)
    app.connect("source-read", lambda _, name, source: _turn(source, Path(name).parent))
    app.connect("include-read", lambda _, path, parent, source: _turn(source, Path("..")))


def _tuples(app: Any, name: str, item: Any, options: Any, bases: list[Any]) -> None:
    """The base of named tuples (`hints.NamedTuple`) is one of their implementation."""
    bases[:] = [tuple if base.__name__ == "_Named" else base for base in bases]


def _restructure(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def _named(
    app: Any, what: str, name: str, item: Any, options: Any, signature: str, returns: str
) -> tuple[str | None, str | None]:
    """Signatures with the names of aliases, also in unions."""
    wrapped = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")

    def with_names(text: str) -> str:
        return wrapped.sub(r"\1", text).replace(ARRAY_LIKE, "ArrayLike")

    return signature and with_names(signature), returns and with_names(returns)


def _turn(source: list[str], folder: Path) -> None:
    """Links to pages that are included here, and plain words for files that are not on the site."""

    def turned(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        if ":" in target or target.startswith("#"):
            return link[0]
        place, mark, section = target.partition("#")
        path = (ROOT / "docs" / folder / place).resolve()
        if path.stem in INCLUDED and path.parent == ROOT:
            up = "../" * len(folder.parts) if folder != Path("..") else ""
            return f"[{words}]({up}{INCLUDED[path.stem]}{mark}{section})"
        if path.is_relative_to(ROOT / "docs") or path.suffix == ".html":
            if folder == Path(".."):
                return f"[{words}]({path.relative_to(ROOT / 'docs')}{mark}{section})"
            return link[0]
        return words

    source[0] = re.sub(r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s]+)\)", turned, source[0])
