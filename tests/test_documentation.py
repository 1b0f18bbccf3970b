"""docs/operations.md is what the declarations say."""

import importlib.util
from pathlib import Path

from nnapi_shim.operations import registry

DOCS = Path(__file__).parents[1] / "docs"


def test_operations_are_documented_as_they_are_declared():
    spec = importlib.util.spec_from_file_location("writer", DOCS / "write_operations.py")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    text = "".join(writer.document())
    assert (DOCS / "operations.md").read_text() == text, "`make docs` writes it anew"
    assert text.count("\n## ") == len(registry()) == 106
    assert "Runs on ." not in text
    assert "Runs on nnapi-cpu.\n" not in text
