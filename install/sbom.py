"""SBOM of a wheel or an installed tree and its build tools, as CycloneDX 1.6 (`make sbom`).

Every ELF file of a tree is listed with its SHA-256 below its component. Documents are reproducible:
the time is that of the sources, and the serial number is derived from the content.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, UUID, uuid5

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.model.lifecycle import LifecyclePhase, PredefinedLifecycle
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from build_ffi import package_version
from install import origins
from install.target import Target

NAME, LICENSE = "nnapi_shim", "Apache-2.0"
FILE = "nnapi_shim.cdx.json"
TOOLS = ("numba", "llvmlite", "cffi", "pycparser", "numpy", "hatchling", "cyclonedx-python-lib")
"""Python packages that build wheels; the compiler is added."""


def wheel_bom(libraries: Path, date: int) -> str:
    """The SBOM of a wheel, whose libraries are in a folder; without its requirements."""
    files = [(path, f"{NAME}/lib/{path.name}") for path in elf_files(libraries)]
    return _written(_itself(files), [], ToolRepository(components=_tools()), date)


def tree_bom(private: Path, date: int, target: Target) -> str:
    """The SBOM of an installed tree, whose packages and Python are in the folder `private`."""
    files: dict[origins.Origin, list[tuple[Path, str]]] = {}
    ours: list[tuple[Path, str]] = []
    origin_of = origins.Tree(private, target.python_version, target.origin)
    for path in elf_files(private):
        relative = path.relative_to(private)
        if relative.parts[0] == NAME:
            ours.append((path, str(relative)))
        else:
            files.setdefault(origin_of(relative), []).append((path, str(relative)))
    for origin in origin_of.without_files():
        files.setdefault(origin, [])
    (wheel,) = private.glob(f"{NAME}-*.dist-info/sboms/{FILE}")
    tools = Bom.from_json(json.loads(wheel.read_text())).metadata.tools
    return _written(_itself(ours), [_component(*item) for item in files.items()], tools, date)


def elf_files(folder: Path) -> Iterator[Path]:
    """The libraries and modules below a folder, each once."""
    for path in sorted(folder.rglob("*.so*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


def _itself(files: list[tuple[Path, str]]) -> Component:
    purl = PackageURL("pypi", None, NAME.replace("_", "-"), package_version())
    return _component(origins.Origin(NAME, package_version(), LICENSE, str(purl)), files)


def _component(origin: origins.Origin, files: list[tuple[Path, str]]) -> Component:
    purl = PackageURL.from_string(origin.purl)
    return Component(
        type=ComponentType.LIBRARY,
        name=origin.name,
        version=origin.version,
        licenses=[LicenseFactory().make_from_string(origin.licence)],
        purl=purl,
        bom_ref=origin.purl,
        components=[_file(path, inside, origin.licence, purl) for path, inside in files],
    )


def _file(path: Path, inside: str, licence: str, owner: PackageURL) -> Component:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    purl = PackageURL(owner.type, owner.namespace, owner.name, owner.version, None, inside)
    return Component(
        type=ComponentType.FILE,
        name=inside,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        licenses=[LicenseFactory().make_from_string(licence)],
        purl=purl,
        bom_ref=str(purl),
    )


def _tools() -> Iterator[Component]:
    """The tools that build a wheel in this environment."""
    for name in TOOLS:
        yield _component(origins.of_distribution(metadata.distribution(name)), [])
    yield _component(origins.of_python(), [])
    yield _component(origins.of_compiler(), [])


def _written(itself: Component, others: list[Component], tools: ToolRepository, date: int) -> str:
    bom = Bom(
        components=others,
        serial_number=UUID(int=0),
        metadata=BomMetaData(
            component=itself,
            timestamp=datetime.fromtimestamp(date, timezone.utc),
            lifecycles=[PredefinedLifecycle(LifecyclePhase.BUILD)],
            tools=tools,
        ),
        dependencies=[
            Dependency(itself.bom_ref, [Dependency(other.bom_ref) for other in others]),
            *(Dependency(other.bom_ref) for other in others),
        ],
    )
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    bom.serial_number = uuid5(NAMESPACE_URL, text)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
