"""A pytest plugin: the kernels of one file have a fault, and the JIT compiles them.

The environment variable KERNEL_FAULT holds JSON: the file's name, the text, its replacement, and
the file of helpers in codegen/ that has the text, or "": behind it, those through which the kernels
import it.
"""

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

from nnapi_shim.drivers.cpu.program.library import KernelLibrary

VARIABLE = "KERNEL_FAULT"
KERNELS_PACKAGE = "nnapi_shim.drivers.cpu.kernels"
CODEGEN_PACKAGE = "nnapi_shim.drivers.cpu.codegen"


def load_changed(family: str, old: str, new: str, helpers: str) -> frozenset[str]:
    """Import a file of kernels with one text replaced, in it or in its helpers; the names of its
    kernels.
    """
    from nnapi_shim.drivers.cpu.toolchain.kernel import KERNELS

    kernels = f"{KERNELS_PACKAGE}.{family}"
    name, *between = [f"{CODEGEN_PACKAGE}.{file}" for file in helpers.split()] or [kernels]
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    if source.count(old) != 1:
        raise AssertionError(f"{name} contains {source.count(old)} times, not once: {old}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    exec(compile(source.replace(old, new), spec.origin, "exec"), vars(module))
    for importer in [*between, kernels] if helpers else []:
        sys.modules.pop(importer, None)
        importlib.import_module(importer)
    return frozenset(k for k, item in KERNELS.items() if item.function.__module__ == kernels)


def pytest_configure() -> None:
    """Kernels of the changed file come from the JIT, all others from the built library."""
    fault = json.loads(os.environ[VARIABLE])
    find = KernelLibrary._find
    changed: list[frozenset[str]] = []

    def find_changed(library: KernelLibrary, name: str) -> int:
        from nnapi_shim.drivers.cpu.toolchain.jit import compile_kernel

        if not changed:
            # The target of the compiler asks for kernels of the library in use, this one.
            changed.append(frozenset())
            changed[0] = load_changed(*fault)
        return compile_kernel(name, library.tier) if name in changed[0] else find(library, name)

    KernelLibrary._find = find_changed  # type: ignore[method-assign]
