"""Builds libneuralnetworks.so from the public headers, with cffi in embedding mode.

The headers in include/ are the only declaration of the C API. What stands in them between two
marker comments is parsed here, and becomes: the types that Python sees, one `extern "Python"`
function per API function, the exported C function that calls it, and the linker's version script.
The C code that starts Python is in nnapi_shim/native/.

    python build_ffi.py [--out build/lib]
"""

import argparse
import hashlib
import importlib.util
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

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "nnapi_shim" / "native"
SOURCES = ("boot.c", "interpreter.c", "location.c", "message.c", "values.c")
LIBRARY = "libneuralnetworks.so"
LOCATION = "libneuralnetworks.location"
MODULE = "nnapi_shim_embedding"

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
# What the headers take from the C library. pycparser only has to know that these are types.
STANDARD_TYPES = "typedef int bool, size_t;" + "".join(
    f"typedef int int{width}_t, uint{width}_t;" for width in (8, 16, 32, 64)
)
# What the packages that nnapi_shim imports are called, to find their folders.
REQUIREMENTS = ("_cffi_backend", "numpy", "llvmlite", "numba")


class Function:
    """A function of the C API as its header declares it."""

    def __init__(self, declaration: c_ast.Decl, node: str):
        """Reads the parsed prototype `declaration`; `node` is its symbol version."""
        self.name = declaration.name
        self.node = node
        self.returns = to_c(declaration.type.type)
        parameters = declaration.type.args.params if declaration.type.args else []
        self.parameters = [] if is_void(parameters) else parameters

    @property
    def is_written_in_python(self) -> bool:
        """Whether Python answers it; what returns a plain value is in native/values.c."""
        return self.returns in ("int", "void")

    @property
    def callback(self) -> str:
        """The prototype of its Python function: pointers arrive there as int."""
        return f"{self.returns} py_{self.name}({self._join(self._callback_type)})"

    @property
    def wrapper(self) -> str:
        """The definition of the exported function."""
        call = f"py_{self.name}({self._join(self._argument)})"
        if self.returns == "int":  # out-parameters are NULL after a failure
            nulls = "".join(f"    if ({o} != NULL)\n        *{o} = NULL;\n" for o in self.outputs)
            failed = f"{nulls}    return ANEURALNETWORKS_OP_FAILED;"
            body = f"if (nn_up())\n        return {call};\n{failed}"
        elif self.name.endswith("_free"):
            body = f"if ({self.parameters[0].name} != NULL && nn_up()) {call};"
        else:
            body = f"if (nn_up()) {call};"
        return f"{self.returns} {self.name}({self._join(to_c)})\n{{\n    {body}\n}}\n"

    @property
    def outputs(self) -> list[str]:
        """The parameters that take a pointer from the function."""
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
    """Whether the parameter is a pointer, or an array, which is one, too."""
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
    """Exports exactly the API, under its version nodes."""
    nodes = dict.fromkeys(function.node for function in functions)
    for node in nodes:
        names = "".join(f"    {f.name};\n" for f in functions if f.node == node)
        nodes[node] = f"{node} {{\n  global:\n{names}"
    first, *others = nodes.values()
    return "".join([first + "  local:\n    *;\n};\n", *(other + "};\n" for other in others)])


def c_source(types: str, functions: list[Function], path: Path) -> None:
    """Writes the C source that cffi generates, with the exported functions in it."""
    in_python = [function for function in functions if function.is_written_in_python]
    lines = [f"#include <{header}>" for header in HEADERS] + [
        '#include "boot.h"',
        f'#define NN_MODULE "{MODULE}"',
        *(f"static {f.callback};" for f in in_python),
        *(f"static struct _cffi_externpy_s _cffi_externpy__py_{f.name};" for f in in_python),
        "static const struct nn_callback nn_callbacks[] = {",
        *(f'    {{"{f.name}", &_cffi_externpy__py_{f.name}}},' for f in in_python),
        "    {NULL, NULL},",
        "};",
        '#include "attach.c"',
        *(f.wrapper for f in in_python),
    ]
    ffi = cffi.FFI()
    ffi.embedding_api("")  # switches embedding on; the exported functions are ours, not cffi's
    ffi.embedding_init_code("")
    ffi.cdef(types)
    ffi.cdef("void nnapi_shim_storeError(const char *message);")
    ffi.cdef("".join(f'extern "Python" {f.callback};\n' for f in in_python))
    make_c_source(ffi, MODULE, "\n".join(lines), str(path))


def libpython() -> Path:
    """The shared libpython of the running interpreter; ends the build if there is none."""
    variables = sysconfig.get_config_vars()
    file = Path(variables["LIBDIR"], variables["INSTSONAME"])
    headers = Path(variables["INCLUDEPY"], "Python.h")
    if variables["Py_ENABLE_SHARED"] and file.exists() and headers.exists():
        return file
    sys.exit(
        f"build_ffi.py: {sys.executable} cannot be embedded: it has no shared libpython, or no C "
        "headers. On Debian and Ubuntu: apt install python3-dev. With pyenv: "
        f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {sys.version_info[0]}."
        f"{sys.version_info[1]}. Then make the virtual environment anew."
    )


def compiler_command(version: str) -> list[str]:
    """The compiler and its arguments, all but the input and output files."""
    python = libpython()
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC")
    command = [
        *shlex.split(compiler),
        *("-shared", "-fPIC", "-O2", "-DNDEBUG", "-Wall", "-Wextra", "-pthread"),
        "-Wno-unused-parameter",  # in cffi's part
        f'-DNN_VERSION="{version}"',
        *(f"-I{folder}" for folder in (ROOT / "include", NATIVE)),
        f"-I{sysconfig.get_config_var('INCLUDEPY')}",
        *shlex.split(os.environ.get("CFLAGS", "")),
        f"-Wl,-soname,{LIBRARY}",
        # Python and the threads that run in it outlive a dlclose().
        *("-Wl,-z,nodelete", "-Wl,-z,defs", "-Wl,--no-undefined-version"),
        str(python),
    ]
    if not str(python).startswith(("/usr/lib/", "/lib/")):  # where the loader looks anyway
        command.append(f"-Wl,-rpath,{python.parent}")
    return command + shlex.split(os.environ.get("LDFLAGS", ""))


def checkout_location(out: Path) -> str:
    """The location file for a library in a checkout; native/location.c says what it means."""
    folders = dict.fromkeys([ROOT])
    for name in REQUIREMENTS:
        if spec := importlib.util.find_spec(name):
            folders[Path(spec.origin).resolve().parents[1 if spec.parent == name else 0]] = None
    paths = "".join(f"path={os.path.relpath(folder, out)}\n" for folder in folders)
    return f"{paths}origin={out}\n"


def package_version() -> str:
    """The version of the package, which it is not imported for."""
    source = (ROOT / "nnapi_shim" / "__init__.py").read_text()
    return re.search(r'^__version__ = "(.+)"$', source, re.M)[1]


def fingerprint(*parts: str) -> str:
    """A digest of all that the library is made of."""
    digest = hashlib.sha256("\0".join(parts).encode())
    for path in (
        Path(__file__),
        *(ROOT / "include" / header for header in HEADERS),
        *sorted(NATIVE.glob("*.[ch]")),
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def replace(path: Path, content: str) -> None:
    """Writes a file so that readers see the old or the new one, nothing between."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(content)
    new.replace(path)


def build(out: Path, location: str | None = None) -> Path:
    """Builds the library and its location file into the folder `out`.

    location: what the location file says; by default, this checkout and the running environment.
    Returns the library's path. Does nothing when nothing has changed.
    """
    out.mkdir(parents=True, exist_ok=True)
    out = out.resolve()
    library = out / LIBRARY
    command = compiler_command(package_version())
    location = location or checkout_location(out)
    key = fingerprint(*command, location, sys.version, cffi.__version__)
    location += f"build={key}\n"
    record = out / LOCATION
    if library.exists() and record.exists() and record.read_text() == location:
        print(f"{library.name} is up to date")
        return library

    types, functions = read_headers()
    with tempfile.TemporaryDirectory(dir=out, prefix=".build-") as folder:
        generated = Path(folder, "generated.c")
        exports = Path(folder, "exports.map")
        built = Path(folder, LIBRARY)
        c_source(types, functions, generated)
        exports.write_text(version_script(functions))
        compiler, *options = command
        inputs = [generated, *(NATIVE / source for source in SOURCES)]
        outputs = [f"-Wl,--version-script={exports}", "-o", built]
        subprocess.run([compiler, *inputs, *options, *outputs], check=True)
        built.replace(library)
    replace(record, location)
    print(f"built {library}: {len(functions)} functions, Python {sysconfig.get_python_version()}")
    return library


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build libneuralnetworks.so.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "lib", help="output folder")
    build(parser.parse_args().out)


if __name__ == "__main__":
    main()
