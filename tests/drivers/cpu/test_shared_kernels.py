"""Kernels that a tier takes from its base: their code uses nothing that differs between the two."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from nnapi_shim.drivers import cpu
from nnapi_shim.drivers.cpu.codegen.isa import INSTRUCTIONS
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.kernels import FAMILIES

SCHEMES = "mac_schemes"
"""The file that defines what families choose from; which they choose is seen by the name."""
OF_SCHEMES = {"isa.dot_quads": {"quads8", "plain_quads8"}}
"""Schemes that use an instruction."""
FOLDER = Path(cpu.__file__).parent


def differences(tier: Tier) -> set[str]:
    """What the code of a tier and of its base can differ in, as `read` names it."""
    base = TIERS[tier.base]
    own = {name: value for name, value in vars(INSTRUCTIONS[tier.name]).items() if name[0] != "_"}
    found = {
        f"{kind}.{name}"
        for kind, a, b in (("tier", tier, base), ("tiling", tier.tiling, base.tiling))
        for name, value in a._asdict().items()
        if value != getattr(b, name)
    } - {"tier.tiling"}  # its fields are compared
    found |= {f"isa.{name}" for name in own}
    return found.union(*(OF_SCHEMES.get(name, set()) for name in found))


class File(NamedTuple):
    """A file of code: names in it, attributes with what they are of, and files that it imports."""

    names: set[str]
    imports: set[Path]


@cache
def read(path: Path) -> File:
    """Read a file of kernels or of emitters."""
    names, imports = set[str](), set[Path]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            names.add(".".join(ast.unparse(node).lower().split(".")[-2:]))
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.module:
            *_, folder, name = ["", *node.module.split(".")]
            for each in [f"{folder}/{name}", *(f"{name}/{item.name}" for item in node.names)]:
                file = FOLDER / f"{each}.py"
                if each.startswith(("kernels/", "codegen/")) and file.exists():
                    imports.add(file)
    return File(names, imports)


def dependent(family: str, names: set[str]) -> list[str]:
    """What a family's code uses of these names, with the file."""
    files, todo = set[Path](), [FOLDER / "kernels" / f"{family}.py"]
    while todo:
        path = todo.pop()
        if path not in files and path.stem != SCHEMES:
            files.add(path)
            todo += read(path).imports
    return sorted(f"{path.name}: {name}" for path in files for name in names & read(path).names)


@pytest.mark.parametrize(
    "tier", [tier for tier in TIERS.values() if tier.base], ids=lambda tier: tier.name
)
def test_kernels_of_the_base_do_not_depend_on_the_tier(tier):
    names = differences(tier)
    shared = [family for family in FAMILIES if tier.compiled_for(family) == tier.base]
    assert {family: found for family in shared if (found := dependent(family, names))} == {}
    assert dependent("gemm", names)  # it is seen
    assert dependent("digit_products", names)
