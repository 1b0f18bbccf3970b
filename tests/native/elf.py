"""What an ELF file lacks of what makes it harder to attack, as one line for each thing.

Where a flag leaves no trace in every file, the test that calls this names the files in which it
does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from elftools.elf.constants import P_FLAGS
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection
from elftools.elf.sections import NoteSection, SymbolTableSection


class Branches(NamedTuple):
    """How an architecture protects branches.

    instructions: with which a function begins that others call through a pointer. marks: the bits
    of a property that a protected file has.
    """

    name: str
    instructions: dict[bytes, str]
    properties: tuple[str | int, ...]
    marks: int
    page: int


BRANCHES = {
    "x64": Branches(
        "CET", {b"\xf3\x0f\x1e\xfa": "endbr64"}, ("GNU_PROPERTY_X86_FEATURE_1_AND",), 3, 4 << 10
    ),
    "AArch64": Branches(
        "BTI and PAC",
        {b"\x5f\x24\x03\xd5": "bti c", b"\x3f\x23\x03\xd5": "paciasp"},
        ("GNU_PROPERTY_AARCH64_FEATURE_1_AND", 0xC0000000),
        3,
        64 << 10,
    ),
}
"""Architecture of pyelftools -> its protection, and its largest page."""
INSTRUCTION = 4  # bytes of each of these
DF_BIND_NOW, DF_1_NOW = 8, 1
COMPANIONS = (
    "AAsset",
    "AHardwareBuffer",
    "ASharedMemory",
    "ATrace",
    "__android_log_",
    "nnapi_shim_",
)


def lacks(path: Path, marked: bool = True) -> list[str]:
    """What is wrong with a file. marked: it says that its branches are protected, as every library
    of ours does.
    """
    with path.open("rb") as stream:
        file = ELFFile(stream)
        result = [*_segments(file), *_dynamic(file), *_symbols(file, path)]
        if branches := BRANCHES.get(file.get_machine_arch()):
            result += _branches(file, branches)
            if marked and (absent := branches.marks & ~_features(file, branches)):
                result.append(f"not marked for {branches.name}: {absent}")
    return result


def imported(path: Path) -> set[str]:
    """The names that the file takes from others."""
    with path.open("rb") as stream:
        return {symbol.name for symbol, _ in _dynamic_symbols(ELFFile(stream)) if _absent(symbol)}


def producers(path: Path) -> set[str]:
    """What its debug information says of the compiler and its flags, part by part."""
    with path.open("rb") as stream:
        file = ELFFile(stream)
        if not file.has_dwarf_info():
            return set()
        units = (unit.get_top_DIE() for unit in file.get_dwarf_info().iter_CUs())
        return {unit.attributes["DW_AT_producer"].value.decode() for unit in units}


def _segments(file: ELFFile) -> Iterator[str]:
    """Of memory: nothing both written and run, code in pages of its own, tables made read-only."""
    kinds = [segment["p_type"] for segment in file.iter_segments()]
    page = BRANCHES[file.get_machine_arch()].page
    if "PT_GNU_RELRO" not in kinds:
        yield "no RELRO"
    if "PT_GNU_STACK" not in kinds:
        yield "the stack may be executable"
    loaded = []
    for segment in file.iter_segments():
        executable = segment["p_flags"] & P_FLAGS.PF_X
        if executable and segment["p_flags"] & P_FLAGS.PF_W:
            yield f"{segment['p_type']} can be written and executed"
        if executable and segment["p_type"] == "PT_GNU_STACK":
            yield "an executable stack"
        if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
            first = segment["p_offset"] // page
            last = (segment["p_offset"] + segment["p_filesz"] - 1) // page
            loaded.append((bool(executable), first, last))
    code = {page for runs, first, last in loaded if runs for page in range(first, last + 1)}
    data = {page for runs, first, last in loaded if not runs for page in range(first, last + 1)}
    if code & data:
        yield "code shares pages of the file with data"


def _dynamic(file: ELFFile) -> Iterator[str]:
    """Of the loader: all bound at once, no folders of its own, code left as it is."""
    tags: dict[str, int] = {}
    for section in file.iter_sections():
        if isinstance(section, DynamicSection):
            tags |= {tag.entry.d_tag: tag.entry.d_val for tag in section.iter_tags()}
    now = tags.get("DT_FLAGS", 0) & DF_BIND_NOW or tags.get("DT_FLAGS_1", 0) & DF_1_NOW
    if not now:
        yield "functions are bound late: their table stays writable"
    for tag in ("DT_RPATH", "DT_RUNPATH", "DT_TEXTREL"):
        if tag in tags:
            yield tag


def _dynamic_symbols(file: ELFFile) -> Iterator[tuple]:
    """The symbols that are taken and given, with their version."""
    versions = [s for s in file.iter_sections() if isinstance(s, GNUVerSymSection)]
    for section in file.iter_sections():
        if section.name == ".dynsym" and isinstance(section, SymbolTableSection):
            for index, symbol in enumerate(section.iter_symbols()):
                yield symbol, versions[0].get_symbol(index)["ndx"] if versions else None


def _absent(symbol) -> bool:
    return symbol["st_shndx"] == "SHN_UNDEF" and bool(symbol.name)


def _symbols(file: ELFFile, path: Path) -> Iterator[str]:
    """Names that nothing it is linked with has; those of Python are in the process."""
    for symbol, version in _dynamic_symbols(file):
        strong = symbol["st_info"]["bind"] == "STB_GLOBAL"
        if not _absent(symbol) or not strong or isinstance(version, int):
            continue
        ours = symbol.name.startswith(COMPANIONS)  # which have no versions
        python = ".abi3." in path.name and symbol.name.startswith(("Py", "_Py"))
        if not (python or ours):
            yield f"{symbol.name} was found nowhere when it was linked"


def _code_of(file: ELFFile, address: int) -> bytes:
    for section in file.iter_sections():
        inside = section["sh_addr"] <= address < section["sh_addr"] + section["sh_size"]
        if inside and section["sh_type"] == "SHT_PROGBITS":
            at = address - section["sh_addr"]
            return section.data()[at : at + INSTRUCTION]
    return b""


def _branches(file: ELFFile, branches: Branches) -> Iterator[str]:
    """Every function that others call through a pointer begins with one of the instructions."""
    targets = {
        symbol.name: symbol["st_value"]
        for symbol, _ in _dynamic_symbols(file)
        if symbol["st_info"]["type"] == "STT_FUNC" and not _absent(symbol)
    }
    for section in file.iter_sections():
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags():
                if tag.entry.d_tag in ("DT_INIT", "DT_FINI"):
                    targets[tag.entry.d_tag] = tag.entry.d_val
    for name, address in sorted(targets.items()):
        if _code_of(file, address) not in branches.instructions:
            yield f"{name} does not begin with {' or '.join(branches.instructions.values())}"


def _features(file: ELFFile, branches: Branches) -> int:
    for section in file.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_PROPERTY_TYPE_0":
                    for item in note["n_desc"]:
                        if item["pr_type"] in branches.properties:
                            data = item["pr_data"]
                            return data if isinstance(data, int) else int.from_bytes(data, "little")
    return 0
