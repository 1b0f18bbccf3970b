"""The library exports what the headers declare, under the right version, and nothing else."""

import re
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
NODES = {
    "LIBNEURALNETWORKS": ("android/NeuralNetworks.h", 69),
    "LIBNEURALNETWORKS_PLATFORM": ("android/NeuralNetworksExtensions.h", 6),
    "NNAPI_SHIM": ("nnapi_shim.h", 10),
}


def declared(header):
    """Names of the functions that a header declares; read without the parser of the build."""
    text = re.sub(
        r"/\*.*?\*/|//[^\n]*|^ *#[^\n]*", "", (INCLUDE / header).read_text(), flags=re.S | re.M
    )
    return set(re.findall(r"\b(ANeuralNetworks\w+|nnapi_shim_\w+)\s*\(", text))


def readelf(library, option):
    """Output lines of readelf."""
    command = ["readelf", "--wide", option, str(library)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def exported(library):
    """Pairs of name and version node of the dynamic symbols that the library defines."""
    symbols = set()
    for line in readelf(library, "--dyn-syms"):
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6].isdigit():
            name, _, node = fields[7].partition("@@")
            symbols.add((name, node))
    return symbols


@pytest.mark.parametrize("node", NODES)
def test_number_of_functions(node):
    header, count = NODES[node]
    assert len(declared(header)) == count


def test_exports(library):
    expected = {(name, node) for node, (header, _) in NODES.items() for name in declared(header)}
    assert exported(library) == expected


def test_names(library):
    dynamic = "\n".join(readelf(library, "--dynamic"))
    assert "Library soname: [libneuralnetworks.so]" in dynamic
    assert "libpython" not in dynamic  # which one is found at run time
    assert not re.search("RPATH|RUNPATH", dynamic)
    assert re.search(r"FLAGS_1.*NODELETE", dynamic)
