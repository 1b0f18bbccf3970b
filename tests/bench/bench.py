"""`make bench`: start-up, calls, kernels and the kernel build, each as a ratio to a peer.

Every ratio is taken in one run, its two sides one after the other in turns. Bars are printed
beside the figures; a figure that misses its bar is marked, and nothing fails: timings are no tests.

    python tests/bench/bench.py [start calls building caching model python kernels build]
"""

import os
import subprocess
import sys
import tempfile
import time
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARIES = ROOT / "build" / "lib"
HERE = Path(__file__).parent
ROUNDS = 25


def line(name: str, value: str, ratio: float, bar: float, unit: str) -> None:
    """One figure with its ratio, its bar and whether it holds."""
    verdict = "ok" if ratio <= bar else "ABOVE THE BAR"
    print(f"  {name:<46} {value:>14}  {ratio:>9.2f} {unit} (at most {bar:g})  {verdict}")


def compiled(name: str, folder: Path) -> Path:
    """A C program of this folder, linked with the library."""
    program = folder / name
    command = ["cc", "-std=gnu99", "-O2", "-Wall", "-Wextra", f"-I{ROOT / 'include'}"]
    command += [str(HERE / f"{name}.c"), "-o", str(program), f"-L{LIBRARIES}", "-lneuralnetworks"]
    command.append("-pthread")
    subprocess.run(command, check=True)
    return program


def usage(command: list[str]) -> tuple[float, float]:
    """CPU time in ms and peak memory in MB of a process with an empty environment."""
    process = subprocess.Popen(
        command,
        env={"LD_LIBRARY_PATH": str(LIBRARIES), "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu"},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed with {process.returncode}")
    return 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024


def start(folder: Path) -> None:
    """One process from start to the result of a one-operation model."""
    program = str(compiled("start", folder))
    python = str(Path(sys.executable).resolve())
    ours, empty, peaks = [], [], []
    for _ in range(ROUNDS):
        cpu, peak = usage([program])
        ours.append(cpu)
        peaks.append(peak)
        empty.append(usage([python, "-I", "-S", "-c", "pass"])[0])
    heavy = subprocess.run(
        [program, "print"],
        env={"LD_LIBRARY_PATH": str(LIBRARIES)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    print("start of a process to the result of a one-operation model, nnapi-cpu, env -i")
    line(
        f"CPU time, python3 -I -S -c pass: {median(empty):.1f} ms",
        f"{median(ours):.1f} ms",
        median(ours) / median(empty),
        4,
        "x",
    )
    line("peak memory", f"{max(peaks):.1f} MB", max(peaks), 30, "MB")
    print(f"  heavy packages loaded: {heavy or 'none (neither numpy nor numba)'}")


def printed(program: Path, *arguments: str, **settings: str) -> str:
    """What a program prints, on nnapi-cpu with these settings and an empty environment."""
    return subprocess.run(
        [str(program), *arguments],
        env={
            "LD_LIBRARY_PATH": str(LIBRARIES),
            "DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu",
            **settings,
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def costs(program: Path) -> dict[str, float]:
    """The names and times that a program prints."""
    lines = map(str.split, printed(program).splitlines())
    return {name: float(value) for name, value in lines}


def calls(folder: Path) -> None:
    """Costs of calls, in empty calls through the library into Python."""
    cost = costs(compiled("calls", folder))
    unit = cost["empty"]
    print("calls, in units of an empty call into Python (ANeuralNetworksDevice_wait)")
    print(f"  unit: {unit / 1000:.3f} us")
    line(
        "compute, one operation, 4 elements, reusable",
        f"{cost['compute'] / 1000:.2f} us",
        cost["compute"] / unit,
        10,
        "units",
    )
    line(
        "build and compile a chain of 100 ADD",
        f"{cost['chain'] / 1e6:.2f} ms",
        cost["chain"] / unit,
        40000,
        "units",
    )


def building(folder: Path) -> None:
    """Costs of the calls that build, of whole executions, and of long chains."""
    cost = costs(compiled("building", folder))
    unit = cost["empty"]
    print("more calls, medians, in units of an empty call into Python")
    print(f"  unit: {unit / 1000:.3f} us")
    for name, what, bar in (
        ("addOperand", "addOperand", 15),
        ("setOperandValue", "setOperandValue, 16 bytes", 15),
        ("setInput", "setInput", 15),
        ("addOperation", "addOperation, ADD", 75),
        ("cycle", "execution: create, 3 x set, compute, free", 60),
    ):
        line(what, f"{cost[name] / 1000:.2f} us", cost[name] / unit, bar, "units")
    line(
        f"startCompute, wait; bare hand-over: {cost['handOver'] / 1000:.1f} us",
        f"{cost['start'] / 1000:.1f} us",
        cost["start"] / cost["handOver"],
        3,
        "x",
    )
    each = [cost[f"chain{length}"] / length / 1000 for length in (100, 1000, 10000)]
    shown = ", ".join(f"{time:.2f}" for time in each)
    print(f"  build and compile a chain of 100, 1,000, 10,000 ADD: {shown} us per operation")


def caching(folder: Path) -> None:
    """A network of the size of MobileNet, compiled and loaded, each time in a new process."""
    program = compiled("caching", folder)
    kept = folder / "cache"
    kept.mkdir()
    (folder / "state").mkdir()
    state = {"XDG_STATE_HOME": str(folder / "state")}  # the user's own is none of its business
    printed(program, str(kept), **state)
    rounds = []
    for _ in range(ROUNDS):
        each = printed(program, **state), printed(program, str(kept), **state)
        rounds.append([float(number) / 1e6 for times in each for number in times.split()])
    compiling, compiling_all, loading, loading_all = map(median, zip(*rounds, strict=True))
    size = sum(path.stat().st_size for path in kept.iterdir())
    print(f"compilation of a network of the size of MobileNet, file of {size / 1e6:.1f} MB")
    ratio = compiling / loading
    verdict = "ok" if ratio >= 10 else "BELOW THE BAR"
    print(
        f"  finish {compiling:.1f} ms, from the cache {loading:.1f} ms: {ratio:.1f} times faster "
        f"(at least 10)  {verdict}"
    )
    print(
        f"  processors' time in all threads {compiling_all:.1f} ms and {loading_all:.1f} ms: "
        f"{compiling_all / loading_all:.1f} times less; where there is one processor, or all are "
        "busy, it is that much faster"
    )


TRAINED = ROOT.parent / "shared" / "models" / "mobilenet_v2_224_quant.tflite"


def model(folder: Path) -> None:
    """A trained model: a C program from its start to the first result, compiled and from the cache.

    Beside it LiteRT's load and first run, in a process that has imported it.
    """
    if not TRAINED.exists():
        print(f"{TRAINED} is not here")
        return
    sys.path.insert(0, str(ROOT))
    import nnapi_shim
    from nnapi_shim.drivers.cpu.compile import layout
    from nnapi_shim.tools.convert import convert

    planned = []
    plan = layout.plan

    def observed(ranges: Any) -> Any:
        planned.append(plan(ranges))
        return planned[-1]

    layout.plan = observed
    loaded = nnapi_shim.Compilation(nnapi_shim.load(TRAINED), devices=["nnapi-cpu"])
    layout.plan = plan
    (values,), (output,) = loaded.inputs, loaded.outputs  # of one byte for each number
    convert(str(TRAINED), folder / "trained.c", False)
    program = folder / "first_result"
    command = ["cc", "-std=gnu99", "-O1", f"-I{ROOT / 'include'}", f"-L{LIBRARIES}"]
    command += [f"-DINPUT_BYTES={prod(values.dimensions)}"]
    command += [f"-DOUTPUT_BYTES={prod(output.dimensions)}"]
    command += [str(HERE / "first_result.c"), str(folder / "trained.c"), "-o", str(program)]
    subprocess.run([*command, "-lneuralnetworks"], check=True)
    kept = folder / "trained-cache"
    kept.mkdir()
    (folder / "trained-state").mkdir()
    state = {"XDG_STATE_HOME": str(folder / "trained-state")}
    printed(program, str(kept), **state)
    rounds: list[list[list[float]]] = [[], [], []]
    for _ in range(ROUNDS):
        rounds[0].append([*map(float, printed(program, **state).split())])
        rounds[1].append([*map(float, printed(program, str(kept), **state).split())])
        rounds[2].append(_litert(TRAINED))
    print(f"a C program from its start to the first result of {TRAINED.stem}, CPU time")
    compiled_, cached, peer = ([*map(median, zip(*each, strict=True))] for each in rounds)
    names = ("start", "build", "compile", "run")
    for name, actual, bar in (("compiled", compiled_, 120), ("from the cache", cached, 60)):
        messages = ", ".join(f"{n} {t:.1f}" for n, t in zip(names, actual[:4], strict=True))
        line(f"{name}: {messages}", f"{actual[4]:.1f} ms", actual[4], bar, "ms")
    line(
        f"compile, LiteRT's load and first run {peer[0]:.1f} ms",
        f"{compiled_[2]:.1f} ms",
        compiled_[2] / peer[0],
        1,
        "x",
    )
    weights, arena = TRAINED.stat().st_size / 1e6, planned[0][1] / 1e6
    peak, allowed = max(each[5] for each in rounds[0]) / 1024, 1.5 * (weights + arena) + 15
    messages = f"peak memory; weights {weights:.1f} MB, arena {arena:.1f} MB"
    line(messages, f"{peak:.1f} MB", peak, round(allowed, 1), "MB")


def _litert(path: Path) -> list[float]:
    """LiteRT's CPU time in ms for loading a model and running it once, in a new process."""
    program = """if True:
        import sys, time
        import numpy
        from ai_edge_litert.interpreter import Interpreter
        with open(sys.argv[1], "rb") as file:
            content = file.read()
        began = time.process_time()
        interpreter = Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
        for given in interpreter.get_input_details():
            interpreter.set_tensor(given["index"], numpy.zeros(given["shape"], given["dtype"]))
        interpreter.invoke()
        print(1e3 * (time.process_time() - began))"""
    command = [sys.executable, "-c", program, str(path)]
    # Threads of numpy's BLAS, which nothing here uses, spin and are part of the process's time.
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return [float(done.stdout)]


def kernels(folder: Path) -> None:
    """Kernels against LiteRT with XNNPACK and ONNX Runtime, one thread, tier by tier."""
    del folder
    from nnapi_shim.drivers.cpu.program import library

    for tier in [t for t in library.processor_tiers() if t != "v2"]:
        subprocess.run(
            [sys.executable, str(HERE / "bench_kernels.py")],
            env={**os.environ, "NNAPI_SHIM_TIER": tier, "PYTHONPATH": str(ROOT)},
            check=True,
        )


def build(folder: Path) -> None:
    """All kernels for all tiers from nothing."""
    from nnapi_shim.drivers.cpu.toolchain.build import build as build_kernels

    print(f"building all kernels for all tiers from nothing, {os.cpu_count()} cores")
    began = time.monotonic()
    build_kernels(folder / "kernels" / "lib")
    elapsed = time.monotonic() - began
    line("time", f"{elapsed:.0f} s", elapsed / 60, 8, "min")
    began = time.monotonic()
    build_kernels(folder / "kernels" / "lib")
    print(f"  again, with nothing changed: {time.monotonic() - began:.1f} s")


def python(folder: Path) -> None:
    """What a run costs in Python beside its computation; small trained models beside LiteRT."""
    del folder
    sys.path.insert(0, str(ROOT))
    from tests.bench.bench_python import figures

    actual = figures()
    print("a run in Python of a model of one operation on 4 numbers, medians")
    peer = actual.get("LiteRT")
    for name, microseconds in actual.items():
        beside = "" if peer is None else f"  {microseconds / peer:6.2f} x LiteRT"
        bar = ""
        if name == "Compilation.run(a, b)" and peer is not None:
            bar = "  ok" if microseconds <= peer else "  ABOVE THE BAR"
            bar = f"  (at most 1){bar}"
        print(f"  {name:<46} {microseconds:8.2f} us{beside}{bar}")
    sys.stdout.flush()
    one_thread = os.environ | {"NNAPI_SHIM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.bench.small_models"]
    subprocess.run(command, env=one_thread, cwd=ROOT, check=True)


PARTS = {
    "start": start,
    "calls": calls,
    "building": building,
    "caching": caching,
    "model": model,
    "python": python,
    "kernels": kernels,
    "build": build,
}


def main() -> None:
    """Run the parts that are named, by default all."""
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or PARTS:
            PARTS[name](Path(folder))
            print(flush=True)


if __name__ == "__main__":
    main()
