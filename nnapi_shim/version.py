"""The version of the package, which pyproject.toml, build_ffi.py and release.yml read here."""

__version__ = "0.1.0"
