"""The folders of compiled libraries and headers, in an installed package or a checkout."""

import os

LIBRARY = "libneuralnetworks.so"

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.dirname(_PACKAGE)


def library_folders() -> list[str]:
    """Folders that may hold the libraries, best first."""
    return [os.path.join(_PACKAGE, "lib"), os.path.join(_CHECKOUT, "build", "lib")]


_ARCHITECTURES = {62: "x86_64", 183: "aarch64", 243: "riscv64", 258: "loongarch64", 21: "ppc64le"}
"""Number in an ELF file -> name, as `uname -m` has it."""


def foreign_architecture(path: str) -> str:
    """The architecture of an ELF file that this machine cannot load; "" if it is this machine's.

    The system's loader says of such a file that it is not there.
    """
    return different_architecture(path, os.uname().machine)


def different_architecture(path: str, machine: str) -> str:
    """The architecture of an ELF file that is not for a machine; "" if it is, or if not known."""
    try:
        with open(path, "rb", buffering=0) as file:
            header = file.read(20)
    except OSError:
        return ""
    number = int.from_bytes(header[18:20], "little")
    name = _ARCHITECTURES.get(number, f"number {number} of ELF")
    is_known = header[:4] == b"\x7fELF" and machine in _ARCHITECTURES.values()
    return name if is_known and name != machine else ""


def _folder_of(name: str, folders: list[str], cure: str) -> str:
    for folder in folders:
        if os.path.exists(os.path.join(folder, name)):
            return folder
    raise FileNotFoundError(f"{name} is in none of {', '.join(folders)}; {cure}")


def get_library_dir() -> str:
    """Folder of libneuralnetworks.so and its companions: for `-L`, and LD_LIBRARY_PATH.

    Its folder `pkgconfig` is for PKG_CONFIG_PATH. Raises FileNotFoundError if nothing is built.
    """
    return _folder_of(LIBRARY, library_folders(), "run `make`, or install nnapi_shim again")


def get_include() -> str:
    """Folder of the C headers, for `-I`; its subfolder `companion` has those of the companions.

    Raises FileNotFoundError if the package has no headers.
    """
    folders = [os.path.join(parent, "include") for parent in (_PACKAGE, _CHECKOUT)]
    return _folder_of("android/NeuralNetworks.h", folders, "install nnapi_shim again")
