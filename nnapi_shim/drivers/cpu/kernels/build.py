"""Compile all kernels ahead of time: one library per instruction-set tier, `libnnapi_kernels_*.so`.

Each tier has processes of its own, because numba chooses its processor once, and each family of
kernels is an object file that is compiled again only when one of the files it imports has changed.
What is built here is what the JIT (jit.py) would compile; only numba's internals are different.

    python -m nnapi_shim.drivers.cpu.kernels.build [--out build/lib] [--tiers v2 v3 v4]
"""

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nnapi_shim.drivers.cpu.kernels import FAMILIES, load
from nnapi_shim.drivers.cpu.library import (
    SYMBOL_PREFIX,
    VERSION_SYMBOL,
    library_name,
    platform_machine,
)

PROCESSORS = {
    "v2": ("x86-64-v2", ""),
    "v3": ("x86-64-v3", ""),
    "v4": ("x86-64-v4", "+avx512vnni"),
    "generic": ("generic", ""),
}
"""Tier -> processor and features, as LLVM names them."""

PACKAGE = Path(__file__).parents[3]
COMPILERS = ("numba", "llvmlite")


def all_tiers() -> list[str]:
    """The tiers of this architecture."""
    return ["v2", "v3", "v4"] if platform_machine() == "x86_64" else ["generic"]


def build(
    out: str | Path, tiers: Sequence[str] | None = None, objects: str | Path | None = None
) -> None:
    """Bring the kernel libraries in the folder `out` up to date.

    objects: folder of the object files, by default `kernels` beside `out`.
    """
    out = Path(out)
    objects = Path(objects) if objects else out.parent / "kernels"
    tiers = list(tiers or all_tiers())
    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    jobs: list[tuple[str, Path, list[str]]] = []
    for tier in tiers:
        folder = objects / tier
        folder.mkdir(parents=True, exist_ok=True)
        stale = [family for family in FAMILIES if not _is_current(family, folder)]
        # Two processes per tier, so that two cores have work to the end.
        jobs += [(tier, folder, part) for part in (stale[::2], stale[1::2]) if part]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: _compile_apart(*job), jobs))
    linked = [_link_tier(objects / tier, out / library_name(tier)) for tier in tiers]
    if any(linked):
        print(f"kernels: {', '.join(tiers)} built in {time.monotonic() - began:.0f} s", flush=True)


def _compile_apart(tier: str, folder: Path, families: Sequence[str]) -> None:
    """Compile families of kernels in a process of its own."""
    processor, features = PROCESSORS[tier]
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": features,
        "NUMBA_DISABLE_JIT": "0",
        "NNAPI_SHIM_BUILD_TIER": tier,
        "PYTHONPATH": str(PACKAGE.parent),
    }
    command = [sys.executable, "-m", __spec__.name, "--compile", tier, str(folder), *families]
    if subprocess.run(command, env=environment).returncode:
        raise SystemExit(f"kernels: tier {tier} could not be compiled (see above)")


def _link_tier(folder: Path, library: Path) -> bool:
    """Link a tier's objects if they are newer than the library; whether it was necessary."""
    objects = [folder / f"{family}.o" for family in FAMILIES]
    current = library.exists() and _linked(folder) == _parts()
    if current and all(o.stat().st_mtime <= library.stat().st_mtime for o in objects):
        return False
    _link(folder, library)
    return True


# What an object file depends on


def _sources(family: str) -> list[Path]:
    """The files of this device that a family of kernels imports, itself included."""
    found: dict[str, Path] = {}
    todo = [f"{__package__}.{family}", f"{__package__}.kernel", f"{__package__}.build"]
    while todo:
        name = todo.pop()
        if name in found or not name.startswith("nnapi_shim.drivers.cpu."):
            continue
        path = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
        if not path.exists():  # a package, or a name in a module
            continue
        found[name] = path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                todo.append(node.module)
                todo.extend(f"{node.module}.{item.name}" for item in node.names)
    return sorted(found.values())


def _digest(family: str) -> str:
    digest = hashlib.sha256()
    for compiler in COMPILERS:
        digest.update(version(compiler).encode())
    for path in _sources(family):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_current(family: str, folder: Path) -> bool:
    stamp = folder / f"{family}.stamp"
    built = (folder / f"{family}.o").exists() and stamp.exists()
    return built and stamp.read_text() == _digest(family)


def _parts() -> list[str]:
    """What a library is linked from."""
    return [VERSION_SYMBOL, *FAMILIES]


def _linked(folder: Path) -> list[str]:
    stamp = folder / "linked.json"
    return json.loads(stamp.read_text()) if stamp.exists() else []


# Compiling: in the process of a tier


def _compile(tier: str, folder: Path, families: Sequence[str]) -> None:
    import llvmlite.binding as llvm

    if tier != "generic":
        # It would take the additions out of dot product instructions, to make loops that wait for
        # them faster; ours have enough else to do, and it makes them longer.
        llvm.set_option("nnapi_shim", "--x86-machine-combiner=0")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor, features = PROCESSORS[tier]
    triple = llvm.get_process_triple()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, features=features, opt=3, reloc="pic", codemodel="default"
    )
    for number, family in enumerate(families, 1):
        began = time.monotonic()
        digest = _digest(family)
        module, count = _family_module(family)
        _replace(folder / f"{family}.o", machine.emit_object(module))
        _replace(folder / f"{family}.stamp", digest.encode())
        print(
            f"kernels: {tier} {number}/{len(families)} {family}: {count} kernels, "
            f"{time.monotonic() - began:.1f} s",
            flush=True,
        )


def _family_module(family: str) -> tuple[Any, int]:
    """All kernels of a family as one LLVM module, each with an entry of the C ABI.

    Fails on a kernel that belongs to no family, and on a family without kernels: the library would
    lack them, and the JIT would hide it.
    """
    import llvmlite.binding as llvm

    from nnapi_shim.drivers.cpu.kernels.kernel import KERNELS

    load(family)
    files = {name: k.function.__module__.rpartition(".")[2] for name, k in KERNELS.items()}
    strays = [name for name, file in files.items() if file not in FAMILIES]
    if strays:
        raise SystemExit(f"kernels of no file in FAMILIES: {', '.join(strays)}")
    own = [kernel for name, kernel in KERNELS.items() if files[name] == family]
    if not own:
        raise SystemExit(f"{family} has no kernels")
    module = llvm.parse_assembly("")
    module.triple = llvm.get_process_triple()
    for kernel in own:
        module.link_in(llvm.parse_assembly(_kernel_assembly(kernel)))
    module.verify()
    return module, len(own)


def _kernel_assembly(kernel: Any) -> str:
    """A kernel and all that it calls as LLVM assembly, under the symbol nnk_<name>."""
    from llvmlite import ir
    from numba.core import compiler
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    from nnapi_shim.drivers.cpu.kernels.kernel import entry

    with global_compiler_lock:
        context, typing = cpu_target.target_context, cpu_target.typing_context
        function, result, arguments = entry(kernel)
        flags = compiler.Flags()
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.nrt = True
        flags.no_compile = True  # to machine code: that is done for the whole family at once
        flags.error_model = "numpy"
        compiled = compiler.compile_extra(typing, context, function, arguments, result, flags, {})
        description, convention = compiled.fndesc, context.call_conv
        wrapper = ir.Module(f"{kernel.name}_entry")
        callee = ir.Function(
            wrapper,
            convention.get_function_type(description.restype, description.argtypes),
            description.llvm_func_name,
        )
        symbol = ir.Function(
            wrapper,
            ir.FunctionType(
                context.get_value_type(result), [context.get_value_type(a) for a in arguments]
            ),
            SYMBOL_PREFIX + kernel.name,
        )
        builder = ir.IRBuilder(symbol.append_basic_block())
        status, value = convention.call_function(builder, callee, result, arguments, symbol.args)
        builder.ret(builder.select(status.is_ok, value, status.code))
        library = context.codegen().create_library(kernel.name)
        library.add_ir_module(wrapper)
        library.add_linking_library(compiled.library)
        library.finalize()
        return str(library._final_module)


# Linking


def _link(folder: Path, library: Path) -> None:
    """All objects into one library; fails on a symbol that neither libm nor libc has."""
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: {SYMBOL_PREFIX}*; local: *; }};\n")
    fresh = library.with_suffix(f".{os.getpid()}")
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-shared", "-nostdlib", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--gc-sections"]
    objects = [str(folder / f"{family}.o") for family in FAMILIES]
    command = [*compiler, *flags, f"-Wl,--version-script={exports}", "-o", str(fresh), *objects]
    version = folder / "version.c"
    version.write_text(f"const char {VERSION_SYMBOL} = 0;\n")
    subprocess.run([*command, "-fPIC", "-O2", "-g0", str(version), "-lm", "-lc"], check=True)
    fresh.replace(library)
    _replace(folder / "linked.json", json.dumps(_parts()).encode())


def _replace(path: Path, data: bytes) -> None:
    """Write a file such that nobody ever sees half of it."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.replace(path)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog=__spec__.name, description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/lib"), help="folder of libraries")
    parser.add_argument("--tiers", nargs="*", choices=list(PROCESSORS), help="default: all")
    parser.add_argument("--compile", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        tier, folder, *families = options.compile
        _compile(tier, Path(folder), families)
    else:
        build(options.out, options.tiers)


if __name__ == "__main__":
    main()
