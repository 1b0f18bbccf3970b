"""Builds libneuralnetworks.so and its callback module from the public headers.

The headers in include/ are the only declaration of the C API. This script parses the part between
two marker comments and generates the types for Python, one `extern "Python"` function per API
function, the exported C function that calls it, and the linker's version script.

libneuralnetworks.so is pure C (nnapi_shim/native/) without a reference to Python; it locates a
Python at the first call. The callbacks are a Python extension module of the stable ABI, which it
then loads. One build serves every CPython from 3.10 on.

    python build_ffi.py [--out build/lib]
"""

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import cffi
from cffi.recompiler import make_c_source
from pycparser import c_ast, c_generator, c_parser

from check_build import wrong_compiler

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "nnapi_shim" / "native"
MACHINE = os.environ.get("ARCH") or os.uname().machine
"""The architecture to build for: `make ARCH=aarch64`, with a compiler for it in CC."""
FLAGS = [
    NATIVE / "flags" / f"{kind}{machine}"
    for kind in ("compile", "link", "library")
    for machine in ("", f"-{MACHINE}")
    if (NATIVE / "flags" / f"{kind}{machine}").exists()
]
"""Files with hardening flags; flags/README.md describes them."""
LIBRARY = "libneuralnetworks.so"
CALLBACKS = "nnapi_shim_callbacks"
CALLBACKS_FILE = f"{CALLBACKS}.abi3.so"
LOCATION = "libneuralnetworks.location"
STABLE_ABI = "0x030a0000"  # of CPython 3.10

# Header → version node of the functions that it declares.
HEADERS = {
    "android/NeuralNetworksTypes.h": None,
    "android/NeuralNetworks.h": "LIBNEURALNETWORKS",
    "android/NeuralNetworksExtensions.h": "LIBNEURALNETWORKS_PLATFORM",
    "nnapi_shim.h": "NNAPI_SHIM",
}
MARKED = re.compile(
    r"/\* nnapi_shim: declarations begin \*/(.*)/\* nnapi_shim: declarations end \*/", re.DOTALL
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Types that the headers take from the C library; pycparser only needs their names.
STANDARD_TYPES = "typedef int bool, size_t;" + "".join(
    f"typedef int int{width}_t, uint{width}_t;" for width in (8, 16, 32, 64)
)
BEGIN_THREAD = "void py_begin_thread(void)"
# Functions that native/fast_path.c handles if it can, and otherwise passes to Python.
AGAIN = {
    "ANeuralNetworksExecution_compute": "nn_compute",
    "ANeuralNetworksExecution_burstCompute": "nn_burst_compute",
}
# Packages that nnapi_shim imports, whose folders are recorded.
REQUIREMENTS = ("_cffi_backend", "numpy", "llvmlite", "numba")


class Function:
    """The header's declaration of a function of the C API."""

    def __init__(self, declaration: c_ast.Decl, node: str):
        """declaration: the parsed prototype. node: its symbol version."""
        self.name = declaration.name
        self.node = node
        self.returns = to_c(declaration.type.type)
        parameters = declaration.type.args.params if declaration.type.args else []
        self.parameters = [] if is_void(parameters) else parameters

    @property
    def is_written_in_python(self) -> bool:
        """Whether Python implements it; native/values.c has functions that return plain values."""
        return self.returns in ("int", "void")

    @property
    def callback(self) -> str:
        """The prototype of its Python function, which receives pointers as int."""
        return f"{self.returns} py_{self.name}({self._join(self._callback_type)})"

    @property
    def member(self) -> str:
        """Its field in the table of callbacks, nn_calls."""
        return f"{self.returns} (*{self.name})({self._join(self._callback_type)});"

    @property
    def wrapper(self) -> str:
        """The definition of the exported function."""
        function = AGAIN.get(self.name, f"nn_calls.{self.name}")
        call = f"{function}({', '.join(map(self._argument, self.parameters))})"
        begin = "struct nn_thread before;\n    if (nn_enter(&before))"
        if self.returns == "int":  # out-parameters are NULL after a failure
            nulls = "".join(f"    if ({o} != NULL)\n        *{o} = NULL;\n" for o in self.outputs)
            failed = f"{nulls}    return ANEURALNETWORKS_OP_FAILED;"
            body = f"{begin}\n        return nn_leave_with({call}, &before);\n{failed}"
        else:
            body = f"{begin} {{\n        {call};\n        nn_leave(&before);\n    }}"
            if self.name.endswith("_free"):
                body = f"if ({self.parameters[0].name} == NULL)\n        return;\n    {body}"
        return f"{self.returns} {self.name}({self._join(to_c)})\n{{\n    {body}\n}}\n"

    @property
    def outputs(self) -> list[str]:
        """The parameters through which the function returns a pointer."""
        return [
            parameter.name
            for parameter in self.parameters
            if isinstance(parameter.type, c_ast.PtrDecl)
            and isinstance(parameter.type.type, c_ast.PtrDecl)
            and "const" not in parameter.type.type.quals
        ]

    def _join(self, convert) -> str:
        return ", ".join(map(convert, self.parameters)) or "void"

    @staticmethod
    def _callback_type(parameter: c_ast.Decl) -> str:
        return f"uintptr_t {parameter.name}" if is_pointer(parameter) else to_c(parameter)

    @staticmethod
    def _argument(parameter: c_ast.Decl) -> str:
        return f"(uintptr_t){parameter.name}" if is_pointer(parameter) else parameter.name


def is_pointer(parameter: c_ast.Decl) -> bool:
    """Whether the parameter is a pointer or an array."""
    return isinstance(parameter.type, c_ast.PtrDecl | c_ast.ArrayDecl)


def is_void(parameters: list) -> bool:
    """Whether the parameter list is (void)."""
    return len(parameters) == 1 and to_c(parameters[0]) == "void"


def to_c(node: c_ast.Node) -> str:
    """The parsed declaration as C text."""
    return c_generator.CGenerator().visit(node)


def read_headers() -> tuple[str, list[Function]]:
    """The types of the C API as C text, and its functions."""
    types, functions = [], []
    known = STANDARD_TYPES
    for header, node in HEADERS.items():
        path = ROOT / "include" / header
        marked = MARKED.search(path.read_text())
        if marked is None:
            sys.exit(f"build_ffi.py: {path} lacks the comments that mark its declarations")
        text = COMMENT.sub(" ", marked.group(1))
        skip = len(c_parser.CParser().parse(known).ext)
        for declaration in c_parser.CParser().parse(known + text, str(path)).ext[skip:]:
            if isinstance(declaration.type, c_ast.FuncDecl):
                functions.append(Function(declaration, node))
            else:
                types.append(to_c(declaration) + ";")
        known += text
    return "\n".join(types), functions


def version_script(functions: list[Function]) -> str:
    """The linker's version script, which exports exactly the API."""
    nodes = dict.fromkeys(function.node for function in functions)
    for node in nodes:
        names = "".join(f"    {f.name};\n" for f in functions if f.node == node)
        nodes[node] = f"{node} {{\n  global:\n{names}"
    first, *others = nodes.values()
    return "".join([first + "  local:\n    *;\n};\n", *(other + "};\n" for other in others)])


def calls_header(functions: list[Function]) -> str:
    """The header that both files share: the table of callbacks."""
    members = "".join(f"    {function.member}\n" for function in functions)
    return (
        "#include <stdint.h>\n"
        f"#include <{next(iter(HEADERS))}>\n"
        "struct nn_calls {\n"
        "    const char *build;            /* tells one build from another */\n"
        "    const char *(*missing)(void); /* a function that Python does not answer, or NULL */\n"
        "    void (*begin_thread)(void);   /* does nothing: Python knows this thread then */\n"
        f"{members}}};\n"
        'extern __attribute__((visibility("hidden"))) struct nn_calls nn_calls;\n'
    )


def exports_source(functions: list[Function]) -> str:
    """The exported functions that Python implements."""
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    wrappers = "".join(function.wrapper for function in functions)
    return f'#include <stddef.h>\n{includes}#include "boot.h"\n#include "calls.h"\n{wrappers}'


def write_callbacks_source(types: str, functions: list[Function], path: Path) -> None:
    """Write the C source that cffi generates, with the table of its functions."""
    members = "".join(f"    .{f.name} = py_{f.name},\n" for f in functions)
    # A static variable of cffi's code, which def_extern() sets.
    entry = "_cffi_externpy__py_{}"
    checks = "".join(
        f"    if ({entry.format(f.name)}.reserved1 == NULL) return {json.dumps(f.name)};\n"
        for f in functions
    )
    lines = [
        *(f"#include <{header}>" for header in HEADERS),
        '#include "calls.h"',
        *(f"static {f.callback};" for f in functions),
        f"static {BEGIN_THREAD};",
        *(f"static struct _cffi_externpy_s {entry.format(f.name)};" for f in functions),
        f"static const char *missing(void)\n{{\n{checks}    return NULL;\n}}",
        "static const struct nn_calls calls = {",
        f"    NN_BUILD, missing, py_begin_thread,\n{members}}};",
        "static uintptr_t calls_address(void) { return (uintptr_t)&calls; }",
        # Its name differs from the called function's, or a debugger would stop twice at each error.
        "static void (*keep)(const char *);",
        "static void store_errors_with(uintptr_t function)",
        "{ keep = (void (*)(const char *))function; }",
        "static void store_error(const char *message) { keep(message); }",
    ]
    ffi = cffi.FFI()
    ffi.cdef(types)
    ffi.cdef(
        "uintptr_t calls_address(void);"
        "void store_errors_with(uintptr_t function);"
        "void store_error(const char *message);"
    )
    callbacks = [*(function.callback for function in functions), BEGIN_THREAD]
    ffi.cdef("".join(f'extern "Python" {callback};\n' for callback in callbacks))
    make_c_source(ffi, CALLBACKS, "\n".join(lines), str(path))


def python_headers() -> Path:
    """The folder of the running interpreter's C headers; ends the build if there is none."""
    folder = Path(sysconfig.get_config_var("INCLUDEPY"))
    if (folder / "Python.h").exists():
        return folder
    version = sysconfig.get_python_version()
    sys.exit(
        f"build_ffi.py: {sys.executable} has no C headers (no {folder}/Python.h); on Debian and "
        f"Ubuntu: apt install python{version}-dev; on Fedora: dnf install python{version}-devel"
    )


def libpython() -> Path:
    """The shared libpython of the running interpreter; ends the build if there is none."""
    variables = sysconfig.get_config_vars()
    file = Path(variables["LIBDIR"], variables["INSTSONAME"])
    if variables["Py_ENABLE_SHARED"] and file.exists():
        return file
    version = sysconfig.get_python_version()
    sys.exit(
        f"build_ffi.py: {sys.executable} has no shared libpython, which C programs need. On Debian "
        f"and Ubuntu: apt install libpython{version}. With pyenv: "
        f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}. "
        "Then make the virtual environment anew."
    )


def compiler() -> list[str]:
    """The C compiler, as CC names it or as Python was compiled with."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))


def compiler_command() -> list[str]:
    """The compiler and the common arguments of all C files."""
    return [
        *compiler(),
        *(f"@{path}" for path in FLAGS),
        *("-shared", "-fPIC", "-O2", "-g", "-DNDEBUG", "-D_GNU_SOURCE", "-Wall", "-Wextra"),
        *("-std=gnu11", "-pthread"),
        "-fno-optimize-sibling-calls",  # a backtrace shows the function that was called
        f"-ffile-prefix-map={ROOT}=.",  # reproducible in any folder
        *(f"-I{folder}" for folder in (ROOT / "include", NATIVE)),
        *shlex.split(os.environ.get("CFLAGS", "")),
    ]


def linker_options() -> list[str]:
    """LDFLAGS, and the flags for the build id."""
    return ["-Wl,--build-id=sha1", *shlex.split(os.environ.get("LDFLAGS", ""))]


def run_compiler(command: list[str | Path]) -> None:
    """Compile; ends the build if the compiler fails, which has said why."""
    done = subprocess.run(command, cwd=ROOT)  # debug information contains the folder
    if done.returncode:
        sys.exit(f"build_ffi.py: {command[0]} failed with {done.returncode} (see above)")


def in_python(functions: list[Function]) -> list[Function]:
    """The functions that Python implements."""
    return [function for function in functions if function.is_written_in_python]


def compile_library(folder: Path, functions: list[Function], macros: list[str]) -> None:
    """Compile libneuralnetworks.so; `folder` contains calls.h and the results."""
    exports, script = folder / "exports.c", folder / "exports.map"
    exports.write_text(exports_source(in_python(functions)))
    script.write_text(version_script(functions))
    triplet = f"lib/{MACHINE}-linux-gnu"
    command = [
        *(*compiler_command(), *macros, f'-DNN_TRIPLET_FOLDER="{triplet}"', f"-I{folder}"),
        *(exports, *sorted(NATIVE.glob("*.c"))),
        *(f"-Wl,-soname,{LIBRARY}", f"-Wl,--version-script={script}"),
        # Python and the threads that run in it outlive a dlclose().
        *("-Wl,-z,nodelete", "-Wl,-z,defs", *linker_options(), "-ldl"),
        *("-o", folder / LIBRARY),
    ]
    run_compiler(command)


def compile_callbacks(
    folder: Path, types: str, functions: list[Function], macros: list[str]
) -> None:
    """Compile the callback module; `folder` contains calls.h and the results."""
    source = folder / f"{CALLBACKS}.c"
    write_callbacks_source(types, in_python(functions), source)
    command = [
        *(*compiler_command(), *macros, f"-DPy_LIMITED_API={STABLE_ABI}", f"-I{folder}"),
        *(f"-I{python_headers()}", "-Wno-unused-parameter", source),  # in cffi's code
        *sorted((NATIVE / "module").glob("*.c")),
        *("-Wno-missing-field-initializers", *linker_options()),
        *("-o", folder / CALLBACKS_FILE),
    ]
    run_compiler(command)


def checkout_location(out: Path) -> str:
    """The location file for a library in a checkout; native/location.c describes the format."""
    if os.uname().machine != MACHINE:  # cffi and Python are those of the machine that it runs on
        return f"path={os.path.relpath(ROOT, out)}\n"
    folders = dict.fromkeys([ROOT])
    for name in REQUIREMENTS:
        if spec := importlib.util.find_spec(name):
            folders[Path(spec.origin).resolve().parents[1 if spec.parent == name else 0]] = None
    paths = "".join(f"path={os.path.relpath(folder, out)}\n" for folder in folders)
    return f"{paths}python={libpython()}\norigin={out}\n"


def package_version() -> str:
    """The version of the package, read without importing it."""
    source = (ROOT / "nnapi_shim" / "version.py").read_text()
    return re.search(r'^__version__ = "(.+)"$', source, re.M)[1]


def fingerprint(*parts: str) -> str:
    """A digest of all build inputs except the folders of the build."""
    text = "\0".join(parts).replace(sys.executable, "python").replace(str(ROOT), ".")
    digest = hashlib.sha256(text.encode())
    for path in (
        Path(__file__),
        *(ROOT / "include" / header for header in HEADERS),
        *sorted(NATIVE.glob("*.[ch]")),
        *sorted((NATIVE / "module").glob("*.c")),
        *FLAGS,
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def build(out: Path, location: str | None = None) -> Path:
    """Build both files of the library and its location file into the folder `out`.

    location: content of the location file; by default, this checkout and the running environment.
    Returns the library's path. Does nothing if nothing has changed.
    """
    out = out.resolve()
    library, callbacks, record = out / LIBRARY, out / CALLBACKS_FILE, out / LOCATION
    location = location or checkout_location(out)
    key = fingerprint(*compiler_command(), *linker_options(), sys.version, cffi.__version__)
    location += f"build={key}\n"
    is_built = all(path.exists() for path in (library, callbacks, record))
    if is_built and record.read_text() == location:
        print(f"{library.name} is up to date")
        return library

    if line := wrong_compiler(MACHINE, "CC", compiler()):
        sys.exit(f"build_ffi.py: {line}")
    out.mkdir(parents=True, exist_ok=True)
    types, functions = read_headers()
    macros = [f'-DNN_VERSION="{package_version()}"', f'-DNN_BUILD="{key}"']
    with tempfile.TemporaryDirectory(dir=out, prefix=".build-") as name:
        folder = Path(name)
        macros.append(f"-ffile-prefix-map={folder}=generated")  # in debug information
        (folder / "calls.h").write_text(calls_header(in_python(functions)))
        (folder / LOCATION).write_text(location)
        compile_callbacks(folder, types, functions, macros)
        compile_library(folder, functions, macros)
        record.unlink(missing_ok=True)  # an interrupted build is then out of date
        for path in (callbacks, library, record):
            (folder / path.name).replace(path)
    print(f"built {library}")
    return library


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build libneuralnetworks.so.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "lib", help="output folder")
    build(parser.parse_args().out)


if __name__ == "__main__":
    main()
