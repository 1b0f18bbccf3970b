"""A process that runs one model in one runtime on so many threads, as it is told through pipes.

    python worker.py RUNTIME MODEL THREADS FOLDER

FOLDER has the inputs as input_<n>.npy, and with the first states between them as all_<n>.npy; the
outputs of the first run are written there. `run CALLS
SAMPLES` on stdin asks for so many times, each of so many calls; anything else ends it. Answers are
lines of JSON, times in nanoseconds; the first answer tells what the start has cost.
"""

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any


def started(runtime: str, path: str, threads: int, folder: str) -> tuple[Any, Any]:
    """The outputs of a first run, and what gives the call that runs again."""
    arrays = loaded(folder, "input")
    if runtime == "nnapi_shim" or "-" in runtime:  # openvino-cpu and the like
        engine, _, is_device = runtime.partition("-")
        os.environ["NNAPI_SHIM_ENGINES"] = engine if is_device else ""
        import nnapi_shim

        model = nnapi_shim.load(Path(path))
        compilation = model.compile(runtime if is_device else "nnapi-cpu")
        first = compilation.run(*arrays)
        results = list(first) if isinstance(first, list | tuple) else [first]
        return results, lambda: in_c(model, compilation, arrays)
    from nnapi_shim.tools.runtimes import ready

    def chosen(count: int) -> Sequence[Any]:
        return arrays if len(arrays) == count else loaded(folder, "all")

    result = ready(runtime, path, chosen, threads)
    result.run()
    return result.outputs(), lambda: result.run


def loaded(folder: str, name: str) -> list[Any]:
    """The arrays of a folder, by number."""
    import numpy as np

    count = len(list(Path(folder).glob(f"{name}_*.npy")))
    return [np.load(Path(folder, f"{name}_{location}.npy")) for location in range(count)]


def in_c(model: Any, compilation: Any, arrays: Sequence[Any]) -> Callable[[], object]:
    """A call of ANeuralNetworksExecution_compute, as a C program makes it."""
    from functools import partial

    from nnapi_shim import capi
    from nnapi_shim.abi.tables import executions
    from nnapi_shim.tools.bench import bound_execution
    from nnapi_shim.tools.profile import all_inputs

    execution, kept = bound_execution(compilation, all_inputs(model, compilation, arrays))
    handle = capi.ffi.cast("ANeuralNetworksExecution *", executions.add(execution.runtime))
    call = partial(capi.lib.ANeuralNetworksExecution_compute, handle)
    if call() != capi.lib.ANEURALNETWORKS_NO_ERROR:
        raise SystemExit("compute fails")
    call.kept = kept, execution  # type: ignore[attr-defined]
    return call


def timed(call: Callable[[], object], calls: int, samples: int) -> list[float]:
    """How long a call takes: of each sample the mean."""
    clock = time.process_time_ns if os.environ.get("CLOCK") == "cpu" else time.perf_counter_ns
    result = []
    for _ in range(samples):
        began = clock()
        for _ in repeat(None, calls):
            call()
        result.append((clock() - began) / calls)
    return result


def peak() -> int:
    """The most bytes that were in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Start, tell, and do as told."""
    import numpy as np

    runtime, path, threads, folder = sys.argv[1:]
    outputs, second = started(runtime, path, int(threads), folder)
    at = time.monotonic_ns()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cost = {"at": at, "cpu": (used.ru_utime + used.ru_stime) * 1e9, "peak": peak()}
    for location, array in enumerate(outputs):
        np.save(Path(folder, f"{runtime}_{threads}_{location}.npy"), array)
    call = second()
    gc.collect()
    gc.disable()
    print(json.dumps(cost), flush=True)
    for line in sys.stdin:
        word, *numbers = line.split()
        if word != "run":
            break
        print(json.dumps(timed(call, *map(int, numbers))), flush=True)


if __name__ == "__main__":
    main()
