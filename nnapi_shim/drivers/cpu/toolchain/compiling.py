"""From kernels to object code: numba's types and LLVM code, our optimisation and processor.

numba optimises a function together with all its callees, emits machine code, and repeats both for
each caller. Here numba's libraries only collect its LLVM code; a family of kernels is linked and
optimised once. numba needs 140 s of processor time for one tier: 42 for types and LLVM code, 7 for
its text, 51 for optimisation, 30 for machine code of the running process and 7 for that of the
library. This needs 98 s, about half of it for types and LLVM code.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from nnapi_shim.drivers.cpu.isa import platform_machine, processor
from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.kernels import FAMILIES, load
from nnapi_shim.drivers.cpu.program.library import SYMBOL_PREFIX
from nnapi_shim.drivers.cpu.toolchain.kernel import KERNELS, Kernel, entry
from nnapi_shim.drivers.cpu.toolchain.target import architecture, triple

BY_LIBRARY = (
    *("conversion", "depthwise", "gemm", "half_precision", "lstm", "rnn", "roi", "selection"),
    *("strided", "topk"),
)
"""Families that are optimised function by function, as numba does it. That takes twice as long, and
the loops of micro-kernels and of copies run 10 % to 50 % faster."""


class IrLibrary(codegen.CPUCodeLibrary):  # type: ignore[misc]
    """The LLVM code of one function and its callees as text, before optimisation."""

    def __init__(self, owner: Any, name: str) -> None:
        codegen.CodeLibrary.__init__(self, owner, name)
        self._linking_libraries: list[IrLibrary] = []
        self.texts: list[str] = []

    def add_ir_module(self, module: Any) -> None:
        """Keep a module."""
        for function in module.functions:
            if function.blocks:
                # So that debuggers and profilers find from a kernel to its caller.
                function.attributes.add("uwtable")
                for attribute in architecture().function_attributes:
                    set.add(function.attributes, attribute)  # llvmlite knows no text attributes
        self.texts.append(cgutils.normalize_ir_text(str(module)))

    def finalize(self) -> None:
        """Nothing to do."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: nothing is compiled here."""
        return 0

    def needed(self, seen: set[Any] | None = None) -> Iterator["IrLibrary"]:
        """This library and those that it calls, each once, callees first."""
        seen = set() if seen is None else seen
        if self in seen:
            return
        seen.add(self)
        for library in self._linking_libraries:
            yield from library.needed(seen)
        yield self


class IrCodegen(codegen.JITCPUCodegen):  # type: ignore[misc]
    """Replaces numba's code generator for the running process."""

    _library_class = IrLibrary

    def set_env(self, name: str, address: int) -> None:
        """Kernels have no Python environment."""


def target_triple() -> str:
    """LLVM's name of the target: of this process, unless it compiles for another architecture."""
    machine = architecture().machine
    return llvm.get_process_triple() if machine == platform_machine() else triple(machine)


def target_machine(tier: Tier) -> Any:
    """The processor to compile for."""
    cpu, features = processor(tier, architecture())
    if architecture().machine == platform_machine():
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target_triple()).create_target_machine(
        cpu=cpu,
        features=features,
        opt=3,
        reloc="pic",
        codemodel="default",
        abiname=architecture().abi,
    )


class FamilyCompiler:
    """Compiles for one tier; numba compiles for nothing else in this process from now on."""

    def __init__(self, tier: Tier) -> None:
        self.architecture = architecture()
        for option in self.architecture.llvm_options:
            llvm.set_option("nnapi_shim", option)
        self.machine = target_machine(tier)
        self._layout = str(self.machine.target_data)
        self._optimized: dict[IrLibrary, Any] = {}
        cpu_target.target_context._internal_codegen = IrCodegen("nnapi_kernels")

    def object_code(self, family: str) -> bytes:
        """All kernels of a family as an object file."""
        return self.machine.emit_object(self.module(family))

    def module(self, family: str) -> Any:
        """All kernels of a family as one optimised LLVM module, each with an entry of the C ABI."""
        own = kernels_of(family)
        libraries = [ir_library(kernel) for kernel in own]
        if family in BY_LIBRARY:
            module = self._empty()
            for library in libraries:
                module.link_in(self._optimized_alone(library))
        else:
            needed = dict.fromkeys(part for library in libraries for part in library.needed())
            module = self._linked([text for part in needed for text in part.texts])
            self._make_droppable(module)
            self._optimize(module)
        self._finish(module)
        missing = {SYMBOL_PREFIX + kernel.name for kernel in own} - {
            function.name for function in module.functions if not function.is_declaration
        }
        if missing:
            raise AssertionError(f"not in the object code of {family}: {missing}")
        module.verify()
        return module

    def _empty(self) -> Any:
        module = llvm.parse_assembly("")
        module.triple, module.data_layout = target_triple(), self._layout
        return module

    def _linked(self, texts: Sequence[str]) -> Any:
        module = self._empty()
        for text in texts:
            part = llvm.parse_assembly(text)
            part.triple, part.data_layout = module.triple, self._layout
            module.link_in(part)
        return module

    def _make_droppable(self, module: Any) -> None:
        """Let LLVM drop functions without callers, apart from the entries."""
        for function in module.functions:
            external = function.linkage == llvm.Linkage.external
            if external and not function.is_declaration and not is_entry(function.name):
                function.linkage = "linkonce_odr"

    def _optimized_alone(self, library: IrLibrary) -> Any:
        """A library with all that it calls, each optimised apart first."""
        if library not in self._optimized:
            module = self._linked(library.texts)
            simplify, builder = self._passes(3, vectorize=True, kind="Function")
            for function in module.functions:
                if not function.is_declaration:
                    simplify.run(function, builder)
            for callee in library._linking_libraries:
                module.link_in(self._optimized_alone(callee), preserve=True)
            self._optimize(module)
            # The code is not used, but the code generator improves the loops of the module.
            self.machine.emit_object(module)
            self._make_droppable(module)
            self._optimized[library] = module
        return self._optimized[library]

    def _optimize(self, module: Any) -> None:
        """The two rounds of numba: inlining and loop rotation, then all passes."""
        first, builder = self._passes(0, vectorize=False)
        first.add_loop_rotate_pass()
        first.add_instruction_combine_pass()
        first.add_jump_threading_pass()
        first.run(module, builder)
        second, builder = self._passes(3, vectorize=True)
        second.run(module, builder)

    def _passes(self, level: int, vectorize: bool, kind: str = "Module") -> tuple[Any, Any]:
        options = llvm.create_pipeline_tuning_options()
        options.speed_level = level
        options.loop_vectorization, options.slp_vectorization = vectorize, False
        builder = llvm.create_pass_builder(self.machine, options)
        passes = getattr(builder, f"get{kind}PassManager")()
        passes.add_refprune_pass(llvm.RefPruneSubpasses.ALL)
        return passes, builder

    def _finish(self, module: Any) -> None:
        """Drop functions without callers, and hide micro-kernels from other libraries.

        numba's variables become internal and are dropped: their names have numbers that depend on
        earlier compilations of the process.
        """
        if flags := self.architecture.module_flags:
            module.link_in(self._linked([flags]))
        for function in module.functions:
            if function.is_declaration and not function.name.startswith("llvm."):
                function.add_function_attribute("nonlazybind")  # what RtLibUseGOT is for the rest
        for variable in module.global_variables:
            if variable.linkage == llvm.Linkage.common:
                variable.linkage = "internal"
        _, builder = self._passes(3, vectorize=False)
        last = llvm.create_new_module_pass_manager()
        last.add_global_dead_code_eliminate_pass()
        last.run(module, builder)
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.visibility = "hidden"


def is_entry(name: str) -> bool:
    """Whether a symbol is that of a kernel."""
    return name.startswith(SYMBOL_PREFIX) and name.removeprefix(SYMBOL_PREFIX) in KERNELS


def kernels_of(family: str) -> list[Kernel]:
    """The kernels that a file of kernels defines.

    Fails on a kernel that belongs to no family, and on a family without kernels: the library would
    lack them, and the JIT would hide it.
    """
    load(family)
    files = {name: k.function.__module__.rpartition(".")[2] for name, k in KERNELS.items()}
    strays = [name for name, file in files.items() if file not in FAMILIES]
    if strays:
        raise AssertionError(f"kernels of no file in FAMILIES: {', '.join(strays)}")
    own = [kernel for name, kernel in KERNELS.items() if files[name] == family]
    if not own:
        raise AssertionError(f"{family} has no kernels")
    return own


def ir_library(kernel: Kernel) -> IrLibrary:
    """A kernel and all that it calls, with an entry under the symbol nnk_<name>."""
    with global_compiler_lock:
        context, typing = cpu_target.target_context, cpu_target.typing_context
        function, result, arguments = entry(kernel)
        flags = compiler.Flags()
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.nrt = True
        flags.no_compile = True
        flags.error_model = "numpy"
        flags.forceinline = True  # into the entry: profiles are to have the kernel's name
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
        return library
