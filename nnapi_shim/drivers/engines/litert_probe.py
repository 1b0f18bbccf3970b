"""Whether LiteRT computes with a GPU or an NPU here, tried in a process of its own.

LiteRT lists accelerators without hardware, and drivers of GPUs crash: it is not known before a
model has been computed, and a crash or a hang ends that process alone.
"""

import os
import socket
from collections.abc import Callable

from nnapi_shim import savers
from nnapi_shim.drivers.isolated import messages
from nnapi_shim.drivers.isolated.start import started
from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Model, Operand, Operation, Subgraph

DIMENSIONS = (2, 4)

_MOST_S = 20
"""How long the first model may take: less than the time for an engine to list its devices."""


def small_model() -> bytes:
    """A .tflite file with RELU of a tensor of DIMENSIONS."""
    operands = tuple(
        Operand(OperandType.TENSOR_FLOAT32, DIMENSIONS, lifetime=lifetime)
        for lifetime in (L.SUBGRAPH_INPUT, L.SUBGRAPH_OUTPUT)
    )
    graph = Subgraph(operands, (Operation(OperationType.RELU, (0,), (1,)),), (0,), (1,))
    content, _, _ = savers.exchange(".tflite").written(Model(graph))
    return content


def probed(place: str, content: bytes, module: str) -> str:
    """Why an accelerator, "GPU" or "NPU", does not compute `small_model`; "" if it does.

    module: whose serve(control) calls `answer` in the process.
    """
    channel, lifeline = started(f"litert-{place.lower()}", module)
    channel.settimeout(_MOST_S)
    try:
        messages.send(channel, place.encode() + b"\n" + content)
        answer = messages.receive(channel).content
    except TimeoutError:
        return f"a small model took more than {_MOST_S} s"
    except (OSError, messages.NonsenseError):
        answer = b""
    finally:
        os.close(lifeline)
        channel.close()
    if answer[:1] != messages.JSON:
        return "a process that computed a small model ended without a word"
    return answer[1:].decode()


def answer(control: int, tried: Callable[[str, bytes], str]) -> None:
    """Answer the message of `probed`, and end the process, whose stderr nobody is to see.

    tried: computes the model; gives why it is not right, or "".
    """
    channel = socket.socket(fileno=control)
    place, _, content = messages.receive(channel).content.partition(b"\n")
    os.dup2(os.open(os.devnull, os.O_RDWR), 2)
    messages.send(channel, messages.JSON + tried(place.decode(), content).encode())
    os._exit(0)
