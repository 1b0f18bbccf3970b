"""Commands that add the packages of an extra to the installed nnapi_shim.

nnapi_shim may come from a checkout, a wheel file or a prefix, and no package index may have it. A
command therefore names the packages of the extra, as the metadata of the installation lists them,
and the Python or the folder that they belong to.
"""

import os
import re
import sys

_REQUIREMENT = r"""(?m)^Requires-Dist: ([^;\n]+?) *;.*\bextra == ['"](\w+)['"]"""


def install_command(extra: str, package: str = "") -> str:
    """A shell command that installs an extra, or one package of it, as the metadata lists them."""
    import shlex

    folder, metadata = _installed()
    if not metadata:  # a checkout on PYTHONPATH
        return shlex.join([*_pip(folder), "-e", f"{folder}[{extra}]"])
    packages = [
        requirement
        for requirement, of in re.findall(_REQUIREMENT, metadata)
        if of == extra and (not package or re.match(rf"{package}\b", requirement))
    ]
    return shlex.join([*_pip(folder), *packages])


def _installed() -> tuple[str, str]:
    """The folder that nnapi_shim is installed in and the text of METADATA; if there is none, the
    folder of the package and "".
    """
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if re.fullmatch(r"nnapi_shim-[^-]*\.dist-info", name):
                with open(os.path.join(folder, name, "METADATA"), encoding="utf-8") as file:
                    return os.path.abspath(folder), file.read()
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ""


def _pip(folder: str) -> list[str]:
    """The words of an installation into the environment or the folder where nnapi_shim is."""
    prefix = os.path.abspath(os.path.join(folder, "..", "..", ".."))
    python = os.path.join(prefix, "bin", "python")
    if os.path.basename(folder) == "site-packages" and os.path.exists(python):
        has_pip = os.path.isdir(os.path.join(folder, "pip"))
        return (
            [python, "-m", "pip", "install"]
            if has_pip
            else ["uv", "pip", "install", "--python", python]
        )
    target = [] if os.path.exists(os.path.join(folder, "pyproject.toml")) else ["--target", folder]
    return [sys.executable or "python3", "-m", "pip", "install", *target]
