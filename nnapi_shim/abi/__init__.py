"""The C ABI: one Python function per exported C function, and one place for result codes.

The library calls `attach` when it starts (native/attach.c).
"""

import gc
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader

from nnapi_shim import address, log, process
from nnapi_shim.abi import cdata, fast_path
from nnapi_shim.abi.boundary import attach_all
from nnapi_shim.hints import Any
from nnapi_shim.modules import import_module
from nnapi_shim.settings import BREAK, CAPTURE, CHECK, FAULTS, PROFILE, TRACE, ignore_environment

NOUNS = (
    "burst",
    "compilation",
    "device",
    "event",
    "execution",
    "global_",
    "memory",
    "memory_desc",
    "model",
)
"""Files of exported functions, by the noun in their names."""
MOST_YOUNG = 20_000
"""Threshold of the garbage collector, in objects of the youngest generation: above the number that
building and compiling a model of a hundred operations allocates, as these objects stay alive.
"""


def attach(
    callbacks: str,
    store_error: int,
    print_line: int,
    fast_path_table: int,
    levels: int,
    is_privileged: int,
) -> int:
    """Make every exported function callable from C; raises if one cannot be.

    callbacks: path of the extension module that cffi generated.
    store_error: address of the function that stores a thread's last error.
    print_line: address of the function that writes a line to stderr.
    fast_path_table: address of `struct nn_fast_path`.
    levels: address of `struct nn_levels`, which keeps its values without a phone profile.
    is_privileged: whether the program is setuid, setgid or has capabilities.
    Returns the address of the table of C functions.
    """
    process.has_called[0] = True
    if is_privileged:
        ignore_environment()
    printed = address.function(print_line, "void(*)(char *, size_t)")
    log.write_with(lambda line: printed(line, len(line)))
    name = callbacks.rpartition("/")[2].partition(".")[0]
    loader = ExtensionFileLoader(name, callbacks)
    module: Any = loader.create_module(ModuleSpec(name, loader, origin=callbacks))
    loader.exec_module(module)
    BREAK.get()  # C reads it without a check; this reports an unknown value
    module.lib.store_errors_with(store_error)
    cdata.use(module.ffi)
    for noun in NOUNS:
        import_module(f"{__name__}.{noun}")
    if PROFILE.get():
        from nnapi_shim.abi import phone

        phone.begin(levels)
    has_faults = _has_faults()
    if CAPTURE.get() or TRACE.get() or CHECK.get() or has_faults:
        _watch(has_faults)
    else:
        fast_path.use(fast_path_table)
    attach_all(module.ffi, module.lib)
    if process.runs_our_python[0]:
        # native/interpreter.c disabled the collector; imported objects stay alive
        gc.freeze()
        gc.set_threshold(MOST_YOUNG, *gc.get_threshold()[1:])
        gc.enable()
    return int(module.lib.calls_address())


def _has_faults() -> bool:
    if not (FAULTS.get() or PROFILE.get()):
        return False
    from nnapi_shim.phones.fault_injector import is_asked_for

    return is_asked_for()


def _watch(has_faults: bool) -> None:
    """Wrap the functions in those that inject faults, check, trace and record calls."""
    from nnapi_shim.abi.instrumentation import watch_all

    if has_faults:
        from nnapi_shim.abi import faults

        faults.begin()
    if CHECK.get():
        from nnapi_shim.abi import checks

        checks.begin()
    if TRACE.get():
        from nnapi_shim.abi.traced import tracer

        traced = tracer(has_faults)
        if traced is not None:
            watch_all(traced)
    if CAPTURE.get():
        from nnapi_shim.abi.capture import recorder

        recorded = recorder(CAPTURE.get(), has_faults)
        if recorded is not None:
            watch_all(recorded)
