"""Kernel lookup: the built library of this processor's tier, else the JIT compiler.

isa/ defines the tiers. A library exports every kernel as the symbol `nnk_<name>`.
"""

import os
from _struct import unpack_from

import _cffi_backend

from nnapi_shim import address, folders, log, process
from nnapi_shim.drivers.cpu.isa import (
    DEFAULT_TIERS,
    NATIVE_TIERS,
    PORTABLE,
    platform_machine,
)
from nnapi_shim.errors import last_line, op_failed
from nnapi_shim.hints import Any, BinaryIO, Callable
from nnapi_shim.settings import JIT, KERNELS, TIER
from nnapi_shim.version import __version__

KERNEL_SIGNATURE = "int32_t(*)(uintptr_t, int64_t)"
STEP_SIGNATURE = "int32_t(*)(uintptr_t, int64_t, int64_t)"
"""Kernels of steps may take a deadline after the tile."""
SYMBOL_PREFIX = "nnk_"
VERSION_SYMBOL = SYMBOL_PREFIX + "version_" + __version__.replace(".", "_")
"""A symbol that only libraries of this package version export."""

RTLD_NOW = 2

_PREFIX = "libnnapi_kernels_"


_signature = address.type_of(KERNEL_SIGNATURE)


def processor_tiers() -> list[str]:
    """Tiers that this processor supports, best first."""
    names = c_function("nnapi_shim_getProcessorTiers", "const char *(*)(void)")
    return address.text(names()).decode().split()


def c_function(name: str, signature: str) -> Callable[..., Any]:
    """A function of the loaded C library, else of the installed one."""
    loaded = address.loaded_function(name, signature, [folders.LIBRARY])
    if loaded is None:
        files = [os.path.join(folder, folders.LIBRARY) for folder in folders.library_folders()]
        loaded = address.loaded_function(name, signature, files, load=True)
    if loaded is None:
        for file in files:
            if foreign := folders.foreign_architecture(file):
                raise op_failed(
                    f"{file} is for another architecture, {foreign}; install nnapi_shim on this "
                    f"machine, which is {platform_machine()}",
                    "kernel.library-architecture",
                )
        raise op_failed(
            f"{folders.LIBRARY} is in none of {', '.join(folders.library_folders())}; "
            "`make library` builds it, or install nnapi_shim again",
            "kernel.library-missing",
        )
    _kept.append(loaded[1])
    return loaded[0]


_kept: list[Any] = []
"""Loaded C libraries; they are never unloaded."""


def allowed_tiers() -> list[str]:
    """Tiers to choose from, best first: those of the processor, up to NNAPI_SHIM_TIER. The portable
    tier is used only if the setting names it.
    """
    tiers = processor_tiers()
    limit = TIER.get()
    if not limit:
        return tiers
    if limit not in NATIVE_TIERS:
        TIER.refuse(limit, f"allowed are {', '.join(NATIVE_TIERS)}")
        return tiers
    if limit == PORTABLE:
        return [PORTABLE]
    if limit not in tiers:
        TIER.refuse(limit, f"this processor has {', '.join(tiers)}")
    names = [*NATIVE_TIERS]
    return [tier for tier in tiers if names.index(tier) >= names.index(limit)]


def library_folders() -> list[str]:
    """The search path of the kernel libraries: the setting, else the folders of all libraries."""
    return [KERNELS.get()] if KERNELS.get() else folders.library_folders()


def library_name(tier: str) -> str:
    """File name of a tier's kernel library."""
    return f"{_PREFIX}{tier}.so"


def _make(tier: str) -> str:
    """The command that builds the kernels of a tier."""
    return "make kernels" if tier in DEFAULT_TIERS else f"make kernels TIERS={tier}"


Compile = Callable[[str, str], int]
"""Compiles a kernel: (kernel name, tier name) -> address."""


def _no_compiler() -> Compile:
    raise ImportError("the device nnapi-cpu is not loaded")


_load_compiler = [_no_compiler]


def use_compiler(load: Callable[[], Compile]) -> None:
    """Set the compiler of kernels that the built libraries lack.

    load: imports the compiler; raises ImportError if a package is missing.
    """
    _load_compiler[0] = load


class KernelLibrary:
    """The kernels of one tier."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}
        self._functions: dict[str, Callable[..., int]] = {}
        self._library: Any = None
        runner = c_function("nnapi_shim_getProgramRunner", "uint64_t(*)(void)")
        self.run_program = address.function(runner(), KERNEL_SIGNATURE)
        """The C function that runs a program; takes a WALK record (program.py)."""
        tiers = allowed_tiers()
        if not tiers:
            raise op_failed(
                "this processor is older than x86-64-v2: the CPU device cannot run",
                "device.processor",
            )
        self.tier = tiers[0]
        """The tier of the kernels; lowering packs constants for it."""
        self._path = ""
        self._compiles = False
        """Whether the JIT has compiled a kernel; only the first one logs a warning."""
        for tier in tiers:
            for folder in library_folders():
                path = os.path.join(folder, library_name(tier))
                if os.path.exists(path):
                    library = _load(path)
                    if library is None:
                        continue
                    self._library = library
                    self.tier = tier
                    self._path = path
                    return

    @property
    def identity(self) -> str:
        """Identifies a build of the kernels: architecture and tier, file size, modification time.

        A folder of cached models may be shared by machines of several architectures.
        """
        name = f"{platform_machine()}-{self.tier}"
        if not self._path:
            return name
        status = os.stat(self._path)
        return f"{name} {status.st_size} {status.st_mtime_ns}"

    def address(self, name: str) -> int:
        """Address of a kernel; compiles it when the built library lacks it."""
        kernel_address = self._addresses.get(name)
        if kernel_address is None:
            kernel_address = self._addresses[name] = self._find(name)
        return kernel_address

    def function(self, name: str) -> Callable[..., int]:
        """A kernel as a callable: (address of the record, tile) -> result code."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = address.function(
                self.address(name), KERNEL_SIGNATURE
            )
        return function

    def _find(self, name: str) -> int:
        symbol = _symbol(self._library, SYMBOL_PREFIX + name)
        if symbol is not None:
            return address.of_function(symbol)
        where = self._path or _searched()
        make = _make(self.tier)
        if JIT.get() == "off":
            raise op_failed(
                f"kernel {name} is not in {where}, and NNAPI_SHIM_JIT is off; `{make}` builds it",
                "kernel.missing",
            )
        try:
            process.load_numpy()
            compile_kernel = _load_compiler[0]()
        except ImportError as error:
            from nnapi_shim.extras import install_command

            command = install_command("jit")
            raise op_failed(
                f"kernel {name} is not in {where}, and cannot be compiled ({last_line(error)}); "
                f"`{command}` adds the compiler, `{make}` builds it",
                "kernel.no-compiler",
            ) from None
        log.write(
            "debug" if self._compiles else "warning",
            f"kernel {name} is not in {where}; it and others that are missing are compiled now, "
            f"which takes seconds; `{make}` builds them",
        )
        self._compiles = True
        return compile_kernel(name, self.tier)


def _searched() -> str:
    """In words, the folders without a kernel library that can be used here."""
    said = []
    for folder in library_folders():
        is_readable = os.path.isdir(folder) and os.access(folder, os.R_OK)
        names = os.listdir(folder) if is_readable else []
        files = [os.path.join(folder, name) for name in sorted(names) if name.startswith(_PREFIX)]
        foreign = {found: None for file in files if (found := folders.foreign_architecture(file))}
        said.append(f"{folder} has those for {', '.join(foreign)}" if foreign else folder)
    return f"a built kernel library for {platform_machine()} ({', '.join(said)})"


def _load(path: str) -> Any:
    """Load a kernel library; None, with a log message, if it is damaged or of another version.

    The file is checked before loading, because loading runs its initialisers. Raises OSError if it
    cannot be opened.
    """
    make = _make(os.path.basename(path)[len(_PREFIX) : -len(".so")])
    cure = f"`{make}` builds it; an installed nnapi_shim has it when it is installed again"
    with open(path, "rb", buffering=0) as file:
        for checked in (path, os.path.dirname(path)):
            if os.stat(checked).st_mode & 0o002:
                log.error(
                    f"{path} is not used: others can write to {checked}; `chmod o-w` mends that"
                )
                return None
        if not _contains(file, f"\0{VERSION_SYMBOL}\0".encode()):
            log.error(f"{path} is not of version {__version__} and is not used; {cure}")
            return None
        if foreign := folders.foreign_architecture(path):
            log.error(f"{path} is for another architecture, {foreign}, and is not used; {cure}")
            return None
        if not _is_whole(file.fileno()):  # the loader does not detect this, and crashes
            log.error(f"{path} is cut off and is not used; {cure}")
            return None
    try:
        return _cffi_backend.load_library(path, RTLD_NOW)
    except OSError as error:
        log.error(f"the kernel library cannot be loaded and is not used: {error}; {cure}")
        return None


def _contains(file: BinaryIO, pattern: bytes) -> bool:
    """Whether a file contains these bytes; symbol names stand near its start."""
    window = b""  # the end of the previous part
    while part := file.read(_PART):
        window += part
        if pattern in window:
            return True
        window = window[-len(pattern) :]
    return False


_PART = 1 << 15
"""Bytes per read."""


def _is_whole(file: int) -> bool:
    """Whether an ELF file contains its section header table, which comes last."""
    header = os.pread(file, 64, 0)
    (start,) = unpack_from("<Q", header, 40)
    size, count = unpack_from("<HH", header, 58)
    return bool(start + size * count <= os.fstat(file).st_size)


def _symbol(library: Any, name: str) -> Any:
    """A function of a library; None if there is no library or no such symbol."""
    try:
        return library.load_function(_signature, name)
    except AttributeError:
        return None


_current: KernelLibrary | None = None


def current() -> KernelLibrary:
    """The kernel library of this process, opened at the first call."""
    global _current
    if _current is None:
        _current = KernelLibrary()
    return _current
