"""Relocatable pkg-config and CMake files of an installed library."""

from pathlib import Path

from build_ffi import package_version

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = {
    "neuralnetworks": "Android's Neural Networks API",
    "android": "What programs for Android use of libandroid in addition to the Neural Networks API",
    "log": "Android's log, on stderr",
    "nativewindow": "Hardware buffers of Android, of the BLOB kind",
}
"""Library -> description in its .pc file."""


def _filled(template: str, **values: str) -> str:
    text = (TEMPLATES / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name.upper()}@", value)
    return text


def write_package_files(libraries: Path, include: str, companion: str | None = None) -> None:
    """Write pkgconfig/ and cmake/ to the folder of the libraries.

    include: the folder of the headers, relative to `libraries`. companion: that of the companions'
    headers; by default `companion` in the former.
    """
    companion = companion or f"{include}/companion"
    version = package_version()
    pkgconfig, cmake = libraries / "pkgconfig", libraries / "cmake" / "NeuralNetworks"
    for folder in (pkgconfig, cmake):
        folder.mkdir(parents=True, exist_ok=True)
    for name, description in LIBRARIES.items():
        flags = "-I${includedir}"
        if name != "neuralnetworks":
            flags += f" -I${{libdir}}/{companion}"
        text = _filled(
            "library.pc",
            name=name,
            description=description,
            version=version,
            include=include,
            cflags=flags,
        )
        stem = name if name == "neuralnetworks" else f"lib{name}"
        (pkgconfig / f"{stem}.pc").write_text(text)
    for path in TEMPLATES.glob("*.cmake"):
        text = _filled(
            path.name,
            include=include,
            companion=companion,
            version=version,
            libraries=" ".join(LIBRARIES),
        )
        (cmake / path.name).write_text(text)
