"""Compiling for IREE in a process of its own: a crash or a hang of the compiler stays there.

`compiled` is for the program. `serve` is for the process, which compiles one module and ends; the
compiler, some hundred megabytes, is loaded there alone.
"""

import io
import json
import os
import socket
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from nnapi_shim.drivers.engines.limited import seconds_until
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.drivers.isolated.start import started
from nnapi_shim.errors import op_failed

_LATER_S = 0.5
"""The program that waits ends first, and knows what to say."""
_MOST_TOLD = 1 << 16
"""Bytes of the compiler's messages that are looked at."""


def function_of(content: bytes) -> str:
    """The name in modules of the function that a .onnx file becomes."""
    return f"model_{blake2b(content, digest_size=16).hexdigest()}"


def compiled(contents: Sequence[bytes], options: Sequence[str], end_ns: int | None = None) -> bytes:
    """One module for IREE's runtime of .onnx files, which takes less time than one for each.
    options: of iree-compile. end_ns: the time on the monotonic clock after which nobody waits for
    it; then the process is ended.

    Raises OP_FAILED with the compiler's first error, or if it ends without a result.
    """
    told = messages.memory_file(0)
    try:
        seconds = None if end_ns is None else seconds_until(end_ns) + _LATER_S
        head = json.dumps([[*options], [*map(len, contents)]]).encode() + b"\n"
        module = _answer(head + b"".join(contents), told, seconds)
        if not module:
            raise op_failed(
                f"IREE does not compile the model: {_error_in(os.pread(told, _MOST_TOLD, 0))}",
                "engine.compiler",
            )
    finally:
        os.close(told)
    return module


def _answer(content: bytes, told: int, seconds: float | None) -> bytes:
    """What a new process makes of a message; nothing if it ends, or is ended after so many seconds.
    told: for what it says.
    """
    channel, lifeline = started("iree-compiler", __name__)
    channel.settimeout(seconds)
    try:
        messages.send(channel, content, [told])
        return messages.receive(channel).content
    except (OSError, messages.NonsenseError):
        return b""
    finally:
        os.close(lifeline)
        channel.close()


def _error_in(text: bytes) -> str:
    """The first error of the compiler, or the last line that it wrote."""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
    for line in lines:
        _, mark, error = line.partition("error: ")
        if mark:
            return error
    return lines[-1] if lines else "its process ended without a word"


def serve(control: int) -> None:
    """Answer one message of `compiled`; what the compiler says goes to the file with it."""
    channel = socket.socket(fileno=control)
    message = messages.receive(channel)
    (told,) = message.descriptors
    os.dup2(told, 2)
    head, _, rest = message.content.partition(b"\n")
    options, lengths = json.loads(head)
    stream = io.BytesIO(rest)
    module = _module([stream.read(length) for length in lengths], options)
    if module:
        messages.send(channel, module)
    os._exit(0)  # the compiler has nothing to tidy up that would be worth its time


def _module(contents: Sequence[bytes], options: Sequence[str]) -> bytes:
    """A compiled module; b"" after an error, which the compiler has written to stderr."""
    from iree.compiler import api

    session = api.Session()
    session.set_flags("--iree-input-type=onnx", *options)
    invocation = session.invocation()
    invocation.enable_console_diagnostics()
    source = api.Source.wrap_buffer(session, _imported(contents))
    if not (invocation.parse_source(source) and invocation.execute()):
        return b""
    output: Any = api.Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    return bytes(output.map_memory())


def _imported(contents: Sequence[bytes]) -> bytes:
    """.onnx files as functions of one MLIR module, in bytecode."""
    import onnx
    from iree.compiler.extras import onnx_importer
    from iree.compiler.ir import Context

    context, module = Context(), None
    for content in contents:
        model = onnx.shape_inference.infer_shapes(onnx.load_from_string(content), data_prop=True)
        model.graph.name = function_of(content)
        info = onnx_importer.ModelInfo(model)
        if module is None:
            module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    made = io.BytesIO()
    assert module is not None
    module.write_bytecode(made)
    return made.getvalue()
