"""A canonical device for tests: it doubles its input, and misbehaves where MISBEHAVE says so.

MISBEHAVE=prepareModel=stop, for example; of several, separated by spaces, each counts.
"""

import os
import signal
import socket
import sys
import time

from nnapi_shim import address
from nnapi_shim.hal.enums import RUNTIME_LEVEL, DeviceType, ErrorStatus, ResultCode
from nnapi_shim.hal.types import ExecutionResult, OutputShape, PerformanceInfo, same_for_all


def stop():
    """Stop the process; its threads go on for a moment."""
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(100)


def hold_the_lock():
    """Wait in C code that keeps Python's lock."""
    import ctypes

    ctypes.PyDLL(None).sleep(100)


def flood():
    """Write what is no message to all sockets and to stdout, again and again."""
    print("from the device", flush=True)
    for _ in range(1000):
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    other = socket.socket(fileno=os.dup(int(name)))
                    other.send(os.urandom(100), socket.MSG_DONTWAIT)
                    other.close()
            except OSError:
                continue
    time.sleep(100)


def ring():
    """Write a byte that is no answer to all pipes."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}").startswith("pipe:"):
                os.write(int(name), b"x")
        except OSError:
            continue
    time.sleep(100)


def allocate():
    """Take more memory than there may be."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


ACTIONS = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": stop,
    "crash": lambda: address.write(8, b"x"),
    "abort": os.abort,
    "exit": lambda: os._exit(0),
    "sleep": lambda: time.sleep(100),
    "hold": hold_the_lock,
    "flood": flood,
    "ring": ring,
    "raise": lambda: sys.exit(3),
    "allocate": allocate,
}


def at(point):
    """Misbehave at this point, if it is asked for."""
    for word in os.environ.get("MISBEHAVE", "").split():
        where, _, what = word.partition("=")
        if where == point:
            ACTIONS[what]()


def tell(what):
    """Add a line to the file of the test."""
    if path := os.environ.get("TELL"):
        with open(path, "a") as file:
            print(what, file=file)


class Device:
    name = "misbehaving"
    version = "1"
    type = DeviceType.ACCELERATOR
    feature_level = RUNTIME_LEVEL

    def __init__(self):
        links = {}
        for name in os.listdir("/proc/self/fd"):
            try:
                links[int(name)] = os.readlink(f"/proc/self/fd/{name}")
            except OSError:
                continue
        tell(sorted(links.items()))
        print("a line for stdout", flush=True)
        at("load")

    def getCapabilities(self):
        at("getCapabilities")
        return same_for_all(PerformanceInfo(0.1, 0.1))

    def getSupportedOperations(self, model):
        at("getSupportedOperations")
        return [True] * len(model.main.operations)

    def getReasons(self, model):
        return [""] * len(model.main.operations)

    def prepareModel(self, model, preference, priority, deadline_ns, cache):
        at("prepareModel")
        pools = [bytes(address.view(pool.map(), pool.size)) for pool in model.pools]
        tell([len(model.operand_values), [(len(each), sum(each)) for each in pools]])
        return Prepared()

    def wait(self):
        at("wait")


class Prepared:
    def __del__(self):
        tell("freed")
        at("free")

    def createReusableExecution(self, request, measure, loop_timeout_ns):
        at("createReusableExecution")
        return Execution(self, request)

    def execute(self, request, measure, deadline_ns, loop_timeout_ns):
        return self.createReusableExecution(request, measure, loop_timeout_ns).compute(deadline_ns)


class Execution:
    def __init__(self, prepared, request):
        self.prepared, self.request = prepared, request
        (self.input,), (self.output,) = request.inputs, request.outputs
        shape = OutputShape(self.input.dimensions, self.input.length <= self.output.length)
        status = ErrorStatus.NONE if shape.is_sufficient else ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
        self.result = ExecutionResult(status, (shape,))

    def compute(self, deadline_ns):
        from nnapi_shim.errors import NnapiError

        tell("begun")
        at("compute")
        values = address.words(self.input.address, "float", self.input.length // 4)
        if values and values[0] < 0:
            raise NnapiError(ResultCode.BAD_DATA, "the first value is negative; 0 is the least")
        if values and values[0] == 13:
            ACTIONS["kill"]()
        if self.result.status is ErrorStatus.NONE:
            import array

            doubled = array.array("f", [2 * value for value in values])
            address.write(self.output.address, doubled.tobytes())
        return self.result
