"""The Java of this machine, for tests that compare with a real one."""

import shutil
from pathlib import Path


def java_headers() -> list[Path]:
    """The folders of its headers; none if there is no Java with headers."""
    compiler = shutil.which("javac")
    if compiler is None:
        return []
    folder = Path(compiler).resolve().parents[1] / "include"
    return [folder, folder / "linux"] if (folder / "jni.h").exists() else []
