"""How C projects find the library in an installed tree: what tests of each kind of tree call."""

import os
from pathlib import Path

from tests.install.trees import PROJECTS, Tree, finished, needs, runs


def configure_and_build(project: str, folder: Path, *options: str) -> None:
    """Configures and builds with CMake."""
    needs("cmake")
    finished("cmake", "-S", PROJECTS / project, "-B", folder, *options)
    finished("cmake", "--build", folder)


def check_find_package(tree: Tree, folder: Path) -> None:
    """find_package(NeuralNetworks), its targets."""
    configure_and_build("find_package", folder, f"-DCMAKE_PREFIX_PATH={tree.prefix}")
    runs(folder / "add", Path("/nowhere"))  # CMake has put the path into the program


def check_ndk_idioms(tree: Tree, folder: Path) -> None:
    """find_library(NN neuralnetworks); target_link_libraries(app neuralnetworks android log)."""
    include = tree.libraries / "cmake" / "NeuralNetworks" / "AndroidProject.cmake"
    assert include.exists()
    configure_and_build("ndk", folder, f"-DCMAKE_PROJECT_INCLUDE={include}")
    for program in ("found", "named"):
        runs(folder / program, Path("/nowhere"))


def check_pkg_config(tree: Tree, folder: Path) -> None:
    """`pkg-config --cflags --libs`, of the library and of its companions."""
    needs("pkg-config")
    env = {**os.environ, "PKG_CONFIG_PATH": str(tree.pkgconfig)}
    for names, macros in (
        (("neuralnetworks",), ()),
        (("neuralnetworks", "libandroid", "liblog", "libnativewindow"), ("-DWITH_COMPANIONS",)),
    ):
        flags = finished("pkg-config", "--cflags", "--libs", *names, env=env).split()
        program = folder / "-".join(names)
        finished("cc", *macros, PROJECTS / "add.c", *flags, "-o", program)
        runs(program, tree.libraries)


WAYS = (check_find_package, check_ndk_idioms, check_pkg_config)
