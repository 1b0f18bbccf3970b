"""The documents of an installed tree."""

import re

from install.layout import ROOT, copy_documents


def test_all_examples_are_installed(tmp_path):
    copy_documents(tmp_path)
    names = [
        path.relative_to(ROOT)
        for folder in ("examples", "c_examples")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__" and path.suffix != ".mk"
    ]
    assert len(names) > 40
    for name in names:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    assert not [*tmp_path.rglob("__pycache__"), *tmp_path.rglob("*.mk")]
    assert not [*(tmp_path / "docs").rglob("*.py")]


def test_commands_of_the_quickstart_find_their_files(tmp_path):
    copy_documents(tmp_path)
    named = set(re.findall(r"\bexamples/[\w./-]+\.\w+", (tmp_path / "README.md").read_text()))
    assert {"examples/shapes/int8.tflite", "examples/shapes/star.png"} <= named
    assert not [name for name in named if not (tmp_path / name).is_file()]
